"""Who sorts the mail of the support desk: a real model that names one queue as JSON, by a schema.

Of the harness's context it is given the rules alone, word for word: it has no tools, and a small model that reads of
them loses its way. What it gets wrong is a wrong queue; what its endpoint gets wrong is no answer at all, and a row of
such failures ends the run.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Protocol

from ruleproof.core.text import one_line
from ruleproof.demo.endpoint import Endpoint, Nonsense
from ruleproof.demo.model_agent import FAILURES
from ruleproof.demo.router_desk import QUEUES
from ruleproof.errors import SourceError

PROMPT = """You sort the messages of a shop's customers into queues. \
Answer with a JSON object that holds the name of one queue.
The queues are:
- billing: payments, charges, invoices
- shipping: delivery, parcels, couriers
- returns: sending things back, exchanges, refunds
- account: login, password, profile
- technical: errors of the website and the app"""

SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"queue": {"type": "string", "enum": list(QUEUES)}},
    "required": ["queue"],
    "additionalProperties": False,
}


class Router(Protocol):
    """Whoever sorts the mail."""

    @property
    def name(self) -> str: ...
    @property
    def calls(self) -> int:
        """Calls so far."""
        ...

    @property
    def gave_up(self) -> str:
        """Why it cannot go on at all; empty while it can."""
        ...

    def route(self, text: str, rules: Sequence[str]) -> str:
        """What it answers for a message, with these rules in its prompt; perhaps no queue of the desk.

        Raises SourceError where there is no answer.
        """
        ...


class ModelRouter:
    """A model behind an endpoint. Raises SourceError at once where the endpoint does not answer like one."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._failures = 0
        self.name = f"model {one_line(endpoint.model, 60)}"
        self.gave_up = ""
        self._ask("Where is my parcel?", ())

    @property
    def calls(self) -> int:
        """Calls of the endpoint so far."""
        return self._endpoint.calls

    def route(self, text: str, rules: Sequence[str]) -> str:
        """One call; none any more once the endpoint counts as gone."""
        if self.gave_up:
            raise SourceError(self.gave_up)
        try:
            answer = self._ask(text, rules)
        except SourceError as failure:
            self._failures += 1
            if self._failures >= FAILURES:
                self.gave_up = f"{self._failures} calls failed in a row, the last so: {failure.message}"
            raise
        self._failures = 0
        return answer

    def _ask(self, text: str, rules: Sequence[str]) -> str:
        told = "".join(f"\n- {rule}" for rule in rules)
        messages = [
            {"role": "system", "content": PROMPT + (f"\n\nRules of this desk:{told}" if rules else "")},
            {"role": "user", "content": f"The customer's message: {text}\nWhich queue?"},
        ]
        try:
            answer = self._endpoint.ask(messages, SCHEMA)
        except Nonsense as nonsense:
            return one_line(str(nonsense.args[0]), 60)
        queue = answer.get("queue")
        return queue[:60] if isinstance(queue, str) else one_line(json.dumps(answer)[:60])
