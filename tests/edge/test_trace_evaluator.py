"""The evaluator that looks at the messages of a live turn."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

import pytest

from ruleproof.edge.evaluators.trace import TraceEvaluator


@dataclass(frozen=True)
class Ended:
    end_state: Mapping[str, object] = field(default_factory=dict)
    session_id: str = "s"
    turn: int = 1


CALL = {"id": "c", "function": {"name": "pay", "arguments": '{"amount": 5}'}}
CHAT: list[dict[str, object]] = [
    {"role": "user", "content": "Pay."},
    {"role": "assistant", "tool_calls": [CALL]},
    {"role": "tool", "tool_call_id": "c", "content": "Error: timed out"},
    {"role": "assistant", "content": "Paid."},
]
EVALUATE = TraceEvaluator(thresholds={"agent_reliability": 0.7})


def test_a_turn_is_scored_from_its_messages() -> None:
    reliability, consistency = EVALUATE(Ended({"messages": CHAT}))
    assert (reliability.metric, reliability.threshold, reliability.breached) == ("agent_reliability", 0.7, True)
    assert reliability.value == pytest.approx(0.2)
    assert (consistency.metric, consistency.value) == ("agent_consistency", None)


def test_a_recorded_tool_list_is_used() -> None:
    fine = [CHAT[0], CHAT[1], CHAT[2] | {"content": "ok"}, CHAT[3]]
    assert EVALUATE(Ended({"messages": fine, "tools": {"pay": {"required": ["amount"]}}}))[0].value == 1.0
    assert EVALUATE(Ended({"messages": fine, "tools": [{"name": "other"}]}))[0].value == pytest.approx(0.2)


def test_the_weights_are_those_that_were_set() -> None:
    assert TraceEvaluator(thresholds={}, weights={"tool_correctness": 0.0})(Ended({"messages": CHAT}))[0].value == 1.0


@pytest.mark.parametrize("messages", [None, [], "text", b"bytes", 5, {}, [None], [{"role": "user", "content": "hi"}]])
def test_where_there_is_nothing_to_look_at_there_is_no_score(messages: object) -> None:
    assert EVALUATE(Ended({"messages": messages})) == ()
    assert EVALUATE(Ended()) == ()
