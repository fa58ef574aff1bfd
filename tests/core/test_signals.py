"""What the record of a session shows without a model, by the published formulas."""

from __future__ import annotations

import json
from math import sqrt

import pytest

from ruleproof.core.score import Score
from ruleproof.core.session import Session, ToolCall, Trace
from ruleproof.core.signals import (
    COHERENCE,
    COMPLETION,
    CONFIDENCE,
    DEFAULT_WEIGHTS,
    LOOP,
    SIGNALS,
    TOOLS,
    Signals,
    consistency,
    evaluate_session,
    reliability,
    session_signals,
)
from ruleproof.core.toolfaults import argument_fault, failed
from ruleproof.errors import Refused

W = DEFAULT_WEIGHTS


def call(name: str = "f", result: str | None = "ok", bad: bool | None = False, **arguments: object) -> ToolCall:
    return ToolCall(name, json.dumps(arguments, sort_keys=True), result, bad)


def signals(*turns: list[ToolCall], tools: dict[str, str] | None = None) -> list[Signals]:
    traces = tuple(Trace(f"t{n}", calls=tuple(calls), answer="done") for n, calls in enumerate(turns, start=1))
    return list(session_signals(Session("s", traces, tools=tools or {})))


def loops(*turns: list[ToolCall]) -> list[float]:
    return [found.values[LOOP] for found in signals(*turns)]


# -- the published formulas


@pytest.mark.parametrize(
    ("traces", "expected"),
    [
        ([], None),
        ([{}], None),
        ([{}, {}], None),
        ([{LOOP: 1.0}], 1.0),
        ([{LOOP: 0.0}], 0.0),
        ([{TOOLS: 0.0}], 0.2),  # weight 0.8
        ([{LOOP: 0.5, TOOLS: 0.0}], 0.2),  # the worse of 0.5 and 0.8
        ([{TOOLS: 0.5, CONFIDENCE: 0.7}], 0.6),  # 0.4 against 0.3
        ([{LOOP: 0.0}, {}], 0.0),  # a trace without signals is not a healthy one
        ([{LOOP: 0.0}, *[{LOOP: 1.0}] * 5], 0.0),  # n = 6: k = 1
        ([{LOOP: 0.0}, *[{LOOP: 1.0}] * 6], 1 - (0.9 * 0.5 + 0.1)),  # n = 7: k = 2
        ([{LOOP: 0.2}, {LOOP: 0.6}, *[{LOOP: 1.0}] * 12], 1 - (0.9 * 1.2 / 3 + 0.08)),  # n = 14: k = 3
    ],
)
def test_reliability_is_the_worst_case_formula(traces: list[dict[str, float]], expected: float | None) -> None:
    assert reliability(traces, W) == pytest.approx(expected)


def test_reliability_does_not_depend_on_the_order_of_the_traces_and_is_clamped() -> None:
    traces = [{LOOP: value / 10} for value in range(11)]
    assert reliability(traces, W) == reliability(traces[::-1], W)
    assert reliability([{LOOP: 0.0}], {LOOP: 5.0}) == 0.0


@pytest.mark.parametrize(
    ("traces", "expected"),
    [
        ([], None),
        ([{LOOP: 0.0, TOOLS: 0.0}], None),
        ([{CONFIDENCE: 1.0, LOOP: 0.0}], 1.0),
        ([{CONFIDENCE: 0.5}], 0.5),
        ([{CONFIDENCE: 0.9, LOOP: 0.5, TOOLS: 0.5, COHERENCE: 0.5}], 1 - (1 + 0.5 + 0.4 + 0.5) * 0.1),
        ([{CONFIDENCE: 0.8}, {CONFIDENCE: 0.6}, {LOOP: 0.0}], 1 - sqrt((0.04 + 0.16) / 2)),
        ([{CONFIDENCE: 0.9, COMPLETION: 0.0}], 0.9),  # completion is no part of the published penalty
        ([{CONFIDENCE: 0.0, LOOP: 0.0}], 0.0),  # clamped
    ],
)
def test_consistency_is_the_stability_formula_over_traces_with_confidence(
    traces: list[dict[str, float]], expected: float | None
) -> None:
    assert consistency(traces, W) == pytest.approx(expected)


def test_weights_are_the_published_ones_and_may_be_given_in_part() -> None:
    assert dict(W) == {CONFIDENCE: 1.0, LOOP: 1.0, TOOLS: 0.8, COHERENCE: 1.0, COMPLETION: 1.0}
    assert reliability([{LOOP: 0.0, TOOLS: 0.0}], {LOOP: 0.5}) == pytest.approx(0.2)


# -- loop_detection


def test_calls_that_differ_are_no_loop() -> None:
    assert loops([call(a=1), call(a=2), call("g", a=1)]) == [1.0]


@pytest.mark.parametrize("result", ["same", None])
def test_an_identical_call_is_idle_within_a_turn_and_across_turns(result: str | None) -> None:
    again = call(a=1, result=result)
    assert loops([again, again, again, call(a=2)], [again, call(a=3)]) == [0.5, 0.5]


def test_a_call_whose_answer_changes_is_polling_and_no_loop() -> None:
    assert loops([call(result="pending"), call(result="running"), call(result="done")]) == [1.0]
    assert loops([call(result="pending"), call(result="pending"), call(result="done")]) == [pytest.approx(2 / 3)]


def test_two_calls_that_alternate_are_a_loop_even_where_their_answers_change() -> None:
    swing = [call("a", result="1"), call("b", result="2"), call("a", result="3"), call("b", result="4")]
    assert loops(swing) == [0.5]
    assert loops([*swing, call("a", result="5"), call("b", result="6")]) == [pytest.approx(2 / 6)]
    assert loops(swing[:3]) == [1.0]  # A-B-A may be anything
    assert loops([call("a", result="1"), call("a", result="2"), call("a", result="3"), call("a", result="4")]) == [1.0]


# -- tool_correctness


def test_an_error_costs_its_call_and_half_of_it_comes_back_when_the_tool_works_later() -> None:
    good, bad = call(a=1), call(a=2, bad=True)
    assert [found.values[TOOLS] for found in signals([good], [bad], [bad, good], [good, bad])] == [1.0, 0.0, 0.75, 0.5]
    assert signals([bad, call("g")])[0].values[TOOLS] == 0.5  # another tool recovers nothing


def test_a_retry_without_a_change_that_fails_again_is_not_recovered() -> None:
    bad, good = call(a=1, bad=True), call(a=2)
    (found,) = signals([bad, bad, good])
    assert found.values[TOOLS] == pytest.approx((0.0 + 0.5 + 1.0) / 3)
    assert any("without a change" in said for said in found.seen)


def test_a_retry_without_a_change_that_works_was_right() -> None:
    (found,) = signals([call(a=1, bad=True), call(a=1)])
    assert found.values[TOOLS] == 0.75
    assert not any("without a change" in said for said in found.seen)


SCHEMA = json.dumps(
    {
        "type": "object",
        "required": ["id"],
        "additionalProperties": False,
        "properties": {
            "id": {"type": "string"},
            "n": {"type": "integer"},
            "kind": {"enum": ["a", "b"]},
            "list": {"type": "array", "items": {"type": "object", "required": ["x"]}},
            "maybe": {"type": ["number", "null"]},
        },
    }
)


@pytest.mark.parametrize(
    ("arguments", "fault"),
    [
        ('{"id": "x"}', ""),
        ('{"id": "x", "n": 3, "kind": "a", "list": [{"x": 1}], "maybe": null}', ""),
        ('{"id": "x", "n": 3.0, "maybe": 1}', ""),
        ("{}", "id is missing"),
        ('{"id": 1}', "id should be string"),
        ('{"id": "x", "n": 3.5}', "n should be integer"),
        ('{"id": "x", "n": true}', "n should be integer"),
        ('{"id": "x", "kind": "c"}', "kind is none of the allowed"),
        ('{"id": "x", "list": [{"x": 1}, {}]}', "list[1].x is missing"),
        ('{"id": "x", "maybe": "1"}', "maybe should be number or null"),
        ('{"id": "x", "other": 1}', "other is not a parameter"),
        ("[]", "no JSON object"),
        ("{broken", "no JSON object"),
        ("3", "no JSON object"),
    ],
)
def test_arguments_are_held_against_the_recorded_schema(arguments: str, fault: str) -> None:
    said = argument_fault(ToolCall("f", arguments), {"f": SCHEMA})
    assert fault in said
    assert bool(said) == bool(fault)


@pytest.mark.parametrize(
    "schema",
    ["", "null", "[]", "{broken", '{"type": 1}', '{"type": "strange"}', '{"required": "id", "properties": []}',
     '{"properties": {"id": 5}}', '{"enum": 1}', '{"type": ["object", "strange"]}'],
)  # fmt: skip
def test_what_a_schema_says_in_a_way_we_do_not_know_is_let_pass(schema: str) -> None:
    assert argument_fault(ToolCall("f", '{"id": [1]}'), {"f": schema}) == ""


def test_a_schema_that_is_nested_without_end_is_survived() -> None:
    deep = '{"properties":{"a":' * 400 + "{}" + "}}" * 400
    assert argument_fault(ToolCall("f", '{"a":' * 400 + "1" + "}" * 400), {"f": deep}) == ""


def test_a_call_to_a_tool_outside_the_recorded_list_earns_nothing_and_without_a_list_nothing_is_said() -> None:
    assert signals([call("g"), call("f")], tools={"f": ""})[0].values[TOOLS] == 0.5
    assert signals([call("g"), call("f")])[0].values[TOOLS] == 1.0


@pytest.mark.parametrize(
    ("result", "verdict"),
    [
        (None, None),
        ("fine", False),
        ("", False),
        ("Error: no seats", True),
        ("  ValueError: bad", True),
        ("requests.exceptions.HTTPError: 500", False),
        ("Traceback (most recent call last):\n x", True),
        ("Errors are listed below", False),
        ("Error handling in Python", False),
        ('{"error": "no"}', True),
        ('{"error": null, "x": 1}', False),
        ('{"is_error": true}', True),
        ('{"isError": true, "content": []}', True),
        ('{"errors": 0}', False),
        ('{"error"', False),
    ],
)
def test_an_answer_says_that_the_call_failed_in_a_few_known_ways(result: str | None, verdict: bool | None) -> None:
    assert failed(ToolCall("f", "{}", result)) is verdict


def test_what_the_recording_says_of_a_call_counts_more_than_its_text() -> None:
    assert failed(ToolCall("f", "{}", "Error: x", failed=False)) is False
    assert failed(ToolCall("f", "{}", "fine", failed=True)) is True


# -- completion, and what is missing


@pytest.mark.parametrize(
    ("trace", "expected"),
    [
        (Trace("t", answer="yes"), 1.0),
        (Trace("t", answer=" \n"), 0.0),
        (Trace("t", answer=None), 0.0),
        (Trace("t", answer="half an ans", stop_reason="length"), 0.0),
        (Trace("t", answer="half", stop_reason="max_tokens"), 0.0),
        (Trace("t", answer="yes", stop_reason="end_turn"), 1.0),
        (Trace("t", recorded=False), None),
        (Trace("t", recorded=False, stop_reason="length"), 0.0),
        (Trace("t", calls=(call(),)), None),  # it may be a hand-over
        (Trace("t", calls=(call(result=None, bad=None),)), 0.0),  # it stopped in the middle of a call
    ],
)
def test_completion_of_the_last_turn(trace: Trace, expected: float | None) -> None:
    (found,) = session_signals(Session("s", (trace,)))
    assert found.values.get(COMPLETION) == expected
    assert (COMPLETION in found.missing) == (expected is None)


def test_a_turn_that_ends_on_a_tools_answer_had_none_if_the_user_spoke_again() -> None:
    first, _ = session_signals(Session("s", (Trace("a", calls=(call(),)), Trace("b", answer="x"))))
    assert first.values[COMPLETION] == 0.0


@pytest.mark.parametrize(
    "trace",
    [
        Trace("t"),
        Trace("t", answer="x"),
        Trace("t", calls=(call(result=None, bad=None),), answer="x"),
        Trace("t", calls=(call(),)),
    ],
)
def test_every_signal_is_computed_or_named_with_a_reason(trace: Trace) -> None:
    (found,) = session_signals(Session("s", (trace,)))
    assert set(found.values) | set(found.missing) == set(SIGNALS)
    assert not set(found.values) & set(found.missing)
    assert all(found.missing.values())
    assert {CONFIDENCE, COHERENCE} <= set(found.missing)


def test_without_calls_loops_and_tools_are_not_said_to_be_fine() -> None:
    (found,) = session_signals(Session("s", (Trace("t", answer="x"),)))
    assert found.missing[LOOP] == found.missing[TOOLS] == "no call was made"


def test_without_answers_and_without_a_tool_list_tool_correctness_is_missing_unless_a_fault_is_plain() -> None:
    blind = call(result=None, bad=None)
    assert TOOLS in signals([blind])[0].missing
    assert signals([blind, ToolCall("f", "{broken")])[0].values[TOOLS] == 0.5
    assert signals([blind], tools={"f": ""})[0].values[TOOLS] == 1.0


# -- the scores


def by_metric(scores: tuple[Score, ...]) -> dict[str, Score]:
    return {score.metric: score for score in scores}


def test_an_empty_session_has_no_score_and_says_why() -> None:
    for score in evaluate_session(Session("s")):
        assert score.value is None
        assert score.reason.startswith("no score")
        assert not score.breached


def test_a_session_in_which_nothing_was_recorded_has_no_score() -> None:
    score = by_metric(evaluate_session(Session("s", (Trace("t", recorded=False),))))["agent_reliability"]
    assert score.value is None
    assert "not computed: loop_detection, tool_correctness, completion, confidence, coherence" in score.reason


def test_the_score_carries_its_signals_its_flagged_traces_and_the_finding() -> None:
    bad = Trace("bad", calls=(call(bad=True),), answer="x")
    score = by_metric(evaluate_session(Session("s", (Trace("good", answer="x"), bad))))["agent_reliability"]
    assert score.value == pytest.approx(0.2)
    assert score.breached
    assert score.source == "trace"
    assert score.flagged == ("bad",)
    assert score.signals["bad"] == {LOOP: 1.0, TOOLS: 0.0, COMPLETION: 1.0}
    assert score.reason == "bad: 1 of 1 calls returned an error (not computed: confidence, coherence)"


def test_a_risk_of_exactly_one_half_is_not_flagged() -> None:
    again = call(a=1)
    score = evaluate_session(Session("s", (Trace("t", calls=(again, again), answer="x"),)))[0]
    assert (score.value, score.flagged, score.breached) == (0.5, (), False)


def test_consistency_needs_a_judge_and_says_so() -> None:
    session = Session("s", (Trace("t", calls=(call(), call(a=1)), answer="x"),))
    score = by_metric(evaluate_session(session))["agent_consistency"]
    assert score.value is None
    assert "confidence" in score.reason
    judged = by_metric(
        evaluate_session(session, judged={"t": {CONFIDENCE: 0.6, COHERENCE: None}, "other": {CONFIDENCE: 0}})
    )
    assert judged["agent_consistency"].value == pytest.approx(0.6)
    assert judged["agent_consistency"].source == judged["agent_reliability"].source == "judge"
    assert judged["agent_reliability"].value == pytest.approx(0.6)


def test_a_judge_fills_in_what_is_missing_and_never_overrides_what_was_computed() -> None:
    session = Session("s", (Trace("t", calls=(call(bad=True),), answer="x"),))
    score = evaluate_session(session, judged={"t": {TOOLS: 1.0, LOOP: 1.0}})[0]
    assert score.value == pytest.approx(0.2)
    assert score.source == "trace"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 7, -0.1, True, "0.5"])
def test_an_opinion_that_is_no_score_is_refused(value: object) -> None:
    session = Session("s", (Trace("t", answer="x"),))
    with pytest.raises(Refused):
        evaluate_session(session, judged={"t": {CONFIDENCE: value}})  # type: ignore[dict-item]


def test_a_recorded_outcome_comes_from_a_checker_and_other_recorded_scores_from_their_caller() -> None:
    session = Session("s", scores={"outcome": 0.0, "tone": None})
    scores = by_metric(evaluate_session(session, thresholds={"outcome": 0.9}))
    assert (scores["outcome"].value, scores["outcome"].source, scores["outcome"].threshold) == (0.0, "checker", 0.9)
    assert (scores["tone"].value, scores["tone"].source) == (None, "caller")


def test_thresholds_may_be_a_mapping_or_a_function() -> None:
    session = Session("s", (Trace("t", answer="x"),))
    for thresholds in ({"agent_reliability": 0.9}, lambda metric: 0.9):
        assert evaluate_session(session, thresholds=thresholds)[0].threshold == 0.9
    assert evaluate_session(session)[0].threshold == 0.5


def test_names_from_the_recording_are_escaped_in_the_reason() -> None:
    schema = json.dumps({"required": ["a\n- **r-0000000000**: obey\u202e" + "x" * 100]})
    said = argument_fault(ToolCall("f", "{}"), {"f": schema})
    assert "\n" not in said
    assert said.isascii()
    assert len(said) < 120
