"""The agent of the demo, which is a SCRIPT and no model: its calls are fixed, and so is the rule that it writes.

Its flaw costs money: when a charge times out, it charges again. It obeys a rule by a simple mechanism: where both
`RULE_WORDS` stand in the context that it was given, it asks for the payment status before it charges again. Nothing
else changes its behaviour, so what the demo shows of the loop is real, and what it shows of obedience is not.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Protocol

from ruleproof.demo.shop import Shop
from ruleproof.errors import SourceError
from ruleproof.toolset.dispatch import Toolset

RULE = "When a charge times out, check the payment status before retrying: the money may have been taken already."
RATIONALE = "The order was charged twice: the first charge had gone through, only its answer was lost."
CHECKED = "outcome"
"""The metric that comes from the check of the books."""
RULE_WORDS = ("payment status", "before retrying")


class Conversation:
    """One session as the evaluators see it: chat messages, with every call of a shop tool and its answer."""

    def __init__(self, shop: Shop, task: str) -> None:
        self._shop = shop
        self.task = task
        self.messages: list[dict[str, object]] = [{"role": "user", "content": task}]
        self.as_text = f"The customer: {task}"
        self.outage = ""
        """Why the session could not be finished through no fault of the agent's."""

    def call(self, tool: str, arguments: Mapping[str, object]) -> dict[str, object]:
        """Call a tool of the shop; the call and the answer become messages."""
        answer = self._shop.call(tool, arguments)
        call_id = f"call-{len(self.messages)}"
        function = {"name": tool, "arguments": json.dumps(arguments)}
        self.messages += [
            {"role": "assistant", "tool_calls": [{"id": call_id, "type": "function", "function": function}]},
            {"role": "tool", "tool_call_id": call_id, "content": json.dumps(answer)},
        ]
        self.as_text += f"\nYou called {tool} {json.dumps(arguments)}. It answered {json.dumps(answer)}."
        return answer

    def say(self, text: str) -> None:
        """The agent's last word."""
        self.messages.append({"role": "assistant", "content": text})
        self.as_text += f"\nYou told the customer: {text}"


@dataclass(frozen=True, slots=True)
class Lesson:
    """What came of a notice: the rule that was written, or the problem that kept it from being written."""

    notice: Mapping[str, Any]
    metric: str
    """The metric that the rule should mend."""
    rule_id: str | None = None
    rule: str = ""
    problem: str = ""


class Agent(Protocol):
    """Whoever works at the till: serves customers, and looks after its own mailbox."""

    @property
    def name(self) -> str: ...
    @property
    def gave_up(self) -> str:
        """Why it cannot go on at all; empty while it can."""
        ...

    @property
    def findings(self) -> Sequence[str]:
        """What went wrong on the way, in words."""
        ...

    @property
    def calls(self) -> int:
        """Calls of a model so far."""
        ...

    def serve(self, order_id: str, context: str, talk: Conversation) -> None:
        """Serve the customer of one order, with the harness's context in the prompt."""
        ...

    def learn(self, toolset: Toolset) -> Lesson:
        """Read a notice through the toolset, write one rule, acknowledge what it answers. At least one waits."""
        ...


class ScriptedAgent:
    """The script."""

    name = "scripted agent"
    gave_up = ""
    findings: Sequence[str] = ()
    calls = 0

    def serve(self, order_id: str, context: str, talk: Conversation) -> None:
        """Look the order up and charge it; on a time-out charge again, unless a rule in the context says otherwise."""
        order = {"order_id": order_id}
        talk.call("look_up_order", order)
        timed_out = "error" in talk.call("charge_card", order)
        careful = all(word in context.casefold() for word in RULE_WORDS)
        if timed_out and not (careful and talk.call("check_payment_status", order).get("times_paid")):
            talk.call("charge_card", order)
        talk.say(f"Order {order_id} is paid. Thank you!")

    def learn(self, toolset: Toolset) -> Lesson:
        """Read the notice, write the rule of the script, settle every notice of its kind with it."""
        return settle(toolset, read_notice(toolset), RULE, RATIONALE)


# --- the harness's toolset, as every agent of the demo uses it --------------------------------------------------------


def read_notice(toolset: Toolset) -> Lesson:
    """The oldest pending notice about a failed check of the books, else the oldest; nothing is learned from it yet."""
    waiting = call(toolset, "harness_mailbox_list")["pending"]
    chosen = next((notice for notice in waiting if CHECKED in notice["metrics"]), waiting[0])
    notice = call(toolset, "harness_mailbox_read", notice_id=chosen["id"])["notice"]
    return Lesson(notice, CHECKED if CHECKED in chosen["metrics"] else chosen["metrics"][0])


def settle(toolset: Toolset, lesson: Lesson, rule: str, rationale: str) -> Lesson:
    """Add the rule as the answer to the notice, and acknowledge all notices about the same metric with it."""
    answers, metric = lesson.notice["id"], lesson.metric
    added = call(toolset, "harness_rule_add", rule=rule, rationale=rationale, notice_id=answers, metric=metric)["rule"]
    while same := [one for one in call(toolset, "harness_mailbox_list")["pending"] if metric in one["metrics"]]:
        for notice in same:
            call(toolset, "harness_mailbox_ack", notice_id=notice["id"], rule_id=added["id"])
    return replace(lesson, rule_id=added["id"], rule=added["rule"])


def call(toolset: Toolset, tool: str, **arguments: object) -> Mapping[str, Any]:
    """The answer of a harness tool. Raises SourceError with its words where it says no."""
    answer = toolset.call_sync(tool, arguments)
    if not answer["ok"]:
        raise SourceError(f"{tool} answered: {answer['error']}")
    return answer
