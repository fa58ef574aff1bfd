"""A real model behind the same till, the same tools and the same loop, through any OpenAI-compatible endpoint.

The model chooses each call as one JSON object that a schema describes: small models return native tool calls as text.
What it gets wrong is a finding and no crash, and the number of calls is bounded: STEPS a customer, one for the rule.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace

from ruleproof.core.text import one_line
from ruleproof.demo.agent import Conversation, Lesson, read_notice, settle
from ruleproof.demo.endpoint import Endpoint, Nonsense
from ruleproof.demo.shop import TOOLS
from ruleproof.errors import SourceError
from ruleproof.toolset.dispatch import Toolset

STEPS = 6
MOST_SHOWN = 6000
"""Characters of the session that the model is shown when it writes a rule."""
FAILURES = 3
"""After so many failed calls in a row the endpoint counts as gone."""
ANSWER = "answer_customer"

PROMPT = f"""You work at the till of a shop. See to it that the customer's order is paid; then end the conversation.
Choose one action at a time and give it as a JSON object with "action" and "argument". The actions are:
{chr(10).join(f"- {name}: {what} The argument is the order's id." for name, what in TOOLS.items())}
- {ANSWER}: End the conversation. The argument is what you tell the customer."""

LESSON = """A session of yours at the till of a shop went wrong. Below are what a check found, and the whole session.
Write one short rule for yourself that would have prevented it, and its rationale, as a JSON object with "rule" and
"rationale". The rule says what to do or to avoid the next time, for any order."""

STEP_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"action": {"type": "string", "enum": [*TOOLS, ANSWER]}, "argument": {"type": "string"}},
    "required": ["action", "argument"],
    "additionalProperties": False,
}
RULE_SCHEMA: Mapping[str, object] = {
    "type": "object",
    "properties": {"rule": {"type": "string"}, "rationale": {"type": "string"}},
    "required": ["rule", "rationale"],
    "additionalProperties": False,
}


class ModelAgent:
    """A model at the till. Raises SourceError at once where the endpoint does not answer like one."""

    def __init__(self, endpoint: Endpoint) -> None:
        self._endpoint = endpoint
        self._sessions: dict[str, Conversation] = {}
        self._failures = 0
        self.name = f"model {one_line(endpoint.model, 60)}"
        self.findings: list[str] = []
        self.gave_up = ""
        try:
            endpoint.ask([{"role": "user", "content": "Answer with the action answer_customer."}], STEP_SCHEMA)
        except Nonsense as nonsense:
            self.findings.append(f"at the first try: not what was asked for, but {nonsense.args[0]!r}")

    @property
    def calls(self) -> int:
        """Calls of the endpoint so far."""
        return self._endpoint.calls

    def serve(self, order_id: str, context: str, talk: Conversation) -> None:
        """Let the model act until it answers the customer, fails, or has used up its steps."""
        self._sessions[order_id] = talk
        messages = [{"role": "system", "content": f"{PROMPT}\n\n{context}"}, _user(talk.task)]
        for _ in range(STEPS):
            try:
                action, argument = _step(self._ask(messages, STEP_SCHEMA))
            except Nonsense as nonsense:
                self.findings.append(f"{order_id}: not what was asked for, but {nonsense.args[0]!r}")
                messages.append(_user("That was no JSON object with action and argument."))
                continue
            except SourceError as failure:
                talk.outage = failure.message
                self.findings.append(f"{order_id}: {failure.message}")
                return
            if action == ANSWER:
                talk.say(argument)
                return
            answer = talk.call(action, {"order_id": argument})
            messages += [
                {"role": "assistant", "content": json.dumps({"action": action, "argument": argument})},
                _user(f"{action} answered {json.dumps(answer)}. What next?"),
            ]
        self.findings.append(f"{order_id}: no answer to the customer after {STEPS} steps")

    def learn(self, toolset: Toolset) -> Lesson:
        """Show the model the notice and its session, and add the rule that it writes, word for word."""
        lesson = read_notice(toolset)
        found = "\n".join(
            f"- {metric['name']} {metric['value']}: {metric['reason']}" for metric in lesson.notice["metrics"]
        )
        session = self._sessions[str(lesson.notice["task_id"])].as_text[:MOST_SHOWN]
        asked = f"{lesson.notice['summary']}\n{found}\n\nThe session:\n{session}"
        try:
            said = self._ask([{"role": "system", "content": LESSON}, _user(asked)], RULE_SCHEMA)
        except Nonsense as nonsense:
            return replace(lesson, problem=f"it answered {nonsense.args[0]!r}, which is no JSON object")
        except SourceError as failure:
            return replace(lesson, problem=failure.message)
        rule, rationale = said.get("rule"), said.get("rationale")
        if not isinstance(rule, str) or not isinstance(rationale, str):
            return replace(lesson, problem=f"it answered {one_line(json.dumps(said)[:200])!r}, without a rule in words")
        try:
            return settle(toolset, lesson, rule, rationale)
        except SourceError as refused:
            return replace(lesson, rule=one_line(rule, 300), problem=refused.message)

    def _ask(self, messages: list[dict[str, str]], schema: Mapping[str, object]) -> dict[str, object]:
        try:
            answer = self._endpoint.ask(messages, schema)
        except SourceError as failure:
            self._failures += 1
            if self._failures >= FAILURES:
                self.gave_up = f"{self._failures} calls failed in a row, the last so: {failure.message}"
            raise
        except Nonsense:
            self._failures = 0
            raise
        self._failures = 0
        return answer


def _step(answer: Mapping[str, object]) -> tuple[str, str]:
    """(action, argument) of an answer, cut to what a person would say. Raises Nonsense where they are missing."""
    action, argument = answer.get("action"), answer.get("argument")
    if not isinstance(action, str) or not isinstance(argument, str):
        raise Nonsense(one_line(json.dumps(answer)[:200]))
    return action[:60], argument[:1000]


def _user(text: str) -> dict[str, str]:
    return {"role": "user", "content": text}
