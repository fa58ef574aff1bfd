"""V5 and V6: an inconclusive round is evidence of nothing, three of them hand over, and who decides when."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from tests.conformance.conftest import see
from tests.conformance.test_v3_replay import candidate, failure, win

from ruleproof.core.verdict import Verdict
from ruleproof.harness import Harness

Open = Callable[..., Harness]
Log = Callable[[str], list[dict[str, Any]]]


def broken(case: Any, context: str) -> str:
    raise RuntimeError("the platform is down")


def round_of(harness: Harness) -> Verdict:
    (verdict,) = asyncio.run(harness.validate_candidates())
    return verdict


def watched(harness: Harness, sessions: int, value: float = 0.9) -> None:
    """Live sessions that the forward trial observes, without a round in the background."""
    harness._rounds.kick = lambda: None  # type: ignore[method-assign]
    for number in range(sessions):
        see(harness, f"live-{number}", value, "m")


REPLAYS = {
    "raised": broken,
    "no session": lambda case, context: None,
    "no score": lambda case, context: {"session_id": "new", "scores": {"m": None}},
    "another metric": lambda case, context: {"session_id": "new", "scores": {"k": 1.0}},
    "recorded session": lambda case, context: case.session_id,
}


@pytest.mark.parametrize("replay", REPLAYS.values(), ids=REPLAYS)
def test_v5_an_inconclusive_round_leaves_the_candidate_pending_and_is_counted(
    open_harness: Open, log: Log, replay: Any
) -> None:
    harness = open_harness(replay=replay)
    failure(harness, "f0")
    rule = candidate(harness)
    verdict = round_of(harness)
    assert (verdict.outcome, verdict.validator) == ("pending", "replay") and "inconclusive" in verdict.reason
    assert harness.rules.get(rule.id).status == "candidate"
    (attempt,) = [record for record in log("trials.jsonl") if record["kind"] == "attempt"]
    assert (attempt["rule"], attempt["reason"]) == (rule.id, verdict.reason)
    assert harness.toolset.call_sync("harness_rule_status", {"rule_id": rule.id})["lifecycle"]["replay_attempts"] == 1  # type: ignore[index]


@pytest.mark.parametrize(("value", "outcome"), [(0.0, "retire"), (0.9, "pending")])
def test_v5_where_all_failures_raise_a_win_that_regressed_retires_and_one_that_holds_decides_nothing(
    open_harness: Open, value: float, outcome: str
) -> None:
    def replay(case: Any, context: str) -> Any:
        if case.kind == "failure":
            raise RuntimeError("down")
        return {"session_id": "new", "scores": {"m": value}}

    harness = open_harness(replay=replay)
    failure(harness, "f0"), win(harness, "w0")
    rule = candidate(harness)
    verdict = round_of(harness)
    assert verdict.outcome == outcome
    assert harness.rules.get(rule.id).status == ("retired" if outcome == "retire" else "candidate")
    assert ("regressed" if outcome == "retire" else "inconclusive") in verdict.reason


def test_v5_until_the_third_inconclusive_round_the_forward_trial_observes_and_does_not_decide(
    open_harness: Open,
) -> None:
    calls: list[str] = []

    def replay(case: Any, context: str) -> str:
        calls.append(case.session_id)
        raise RuntimeError("down")

    harness = open_harness(replay=replay)
    failure(harness, "f0")
    rule = candidate(harness)
    watched(harness, 5)
    for attempts in (1, 2, 3):
        verdict = round_of(harness)
        assert (verdict.outcome, verdict.validator) == ("pending", "replay")
        trial = harness.rules.trial(rule.id)
        assert (trial.replay_attempts, len(trial.observed)) == (attempts, 5)
    verdict = round_of(harness)
    assert (verdict.outcome, verdict.validator) == ("promote", "forward_trial")
    assert len(calls) == 3, "and the replay is not tried a fourth time"
    assert harness.rules.get(rule.id).status == "active"


def test_v5_attempts_survive_a_restart_and_stand_in_the_rule_record_of_the_verdict(
    open_harness: Open, log: Log
) -> None:
    harness = open_harness(replay=broken)
    failure(harness, "f0")
    candidate(harness)
    for _ in range(2):
        round_of(open_harness(replay=broken))
    third = open_harness(replay=broken)
    round_of(third)
    watched(third, 5, value=0.1)
    assert round_of(third).validator == "forward_trial"
    assert log("rules.jsonl")[-1]["trial"]["replay_attempts"] == 3


def test_v5_an_attempt_that_works_decides_after_two_that_did_not(open_harness: Open) -> None:
    count = [0]

    def replay(case: Any, context: str) -> dict[str, Any]:
        count[0] += 1
        if count[0] < 3:
            raise RuntimeError("down")
        return {"session_id": "new", "scores": {"m": 0.9}}

    harness = open_harness(replay=replay)
    failure(harness, "f0")
    rule = candidate(harness)
    outcomes = [round_of(harness).outcome for _ in range(3)]
    assert outcomes == ["pending", "pending", "promote"]
    assert harness.rules.trial(rule.id).replay_attempts == 2


@pytest.mark.parametrize("case", ["none", "of another kind", "without an input", "a win"])
def test_v5_where_no_replayable_match_exists_the_forward_trial_decides_at_once(
    open_harness: Open, log: Log, case: str
) -> None:
    calls: list[str] = []
    harness = open_harness(replay=lambda case, context: calls.append(case.id))
    if case == "of another kind":
        failure(harness, "f0", "breach:k")
    elif case == "without an input":
        failure(harness, "f0", replay_input=None)
    elif case == "a win":
        harness.evalset.capture(session_id="w", kind="win", replay_input="x", baseline_scores={"m": 0.9})
    rule = candidate(harness)
    watched(harness, 5)
    verdict = round_of(harness)
    assert (verdict.outcome, verdict.validator, calls) == ("promote", "forward_trial", [])
    assert harness.rules.get(rule.id).status == "active"
    assert not [record for record in log("trials.jsonl") if record["kind"] == "attempt"]


def test_v5_a_missing_target_is_never_a_zero_and_retires_nothing(open_harness: Open) -> None:
    harness = open_harness(replay=lambda case, context: {"session_id": "n", "scores": {"tone": 0.6}})
    failure(harness, "f0", baseline_scores={"m": 0.2, "tone": 0.6})
    rule = candidate(harness)
    assert round_of(harness).outcome == "pending"
    assert harness.rules.get(rule.id).status == "candidate"


def test_v5_a_replay_that_cannot_be_journaled_stops_nothing_else(
    open_harness: Open, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    harness = open_harness(replay=broken)
    failure(harness, "f0")
    rule, other = candidate(harness), harness.rules.add("Another.", metric="k")
    monkeypatch.setattr("ruleproof.engine.replaytrial.attempt_to", lambda *_: 1 / 0)
    verdicts = asyncio.run(harness.validate_candidates())
    assert [verdict.rule_id for verdict in verdicts] == [other.id]
    assert harness.rules.get(rule.id).status == "candidate" and "ZeroDivisionError" in caplog.text


def test_v6_with_a_replay_function_nothing_is_announced_and_without_one_nothing_is_faked(
    open_harness: Open, log: Log, caplog: pytest.LogCaptureFixture
) -> None:
    with caplog.at_level(logging.WARNING, "ruleproof"):
        harness = open_harness(replay=broken)
        failure(harness, "f0")
        candidate(harness)
        round_of(harness)
        assert not [event for event in log("journal.jsonl") if event["type"] == "validation"]
        assert "no replay function" not in caplog.text
        without = open_harness()
        assert round_of(without).validator == "forward_trial"
    assert "no replay function" in caplog.text
    assert [event["mode"] for event in log("journal.jsonl") if event["type"] == "validation"] == ["forward_trial"]
