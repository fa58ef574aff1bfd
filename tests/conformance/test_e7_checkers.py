"""E7 and E8 where sessions are judged: a checker outranks a judge, live and in replays; costs are followed too."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from typing import Any

import pytest
from tests.conformance.test_v3_replay import candidate, failure

from ruleproof.core.score import Score
from ruleproof.core.verdict import Verdict
from ruleproof.harness import Harness

Open = Callable[..., Harness]
JUDGED, CHECKED = Score("m", 0.1, source="judge"), Score("m", 1.0, source="checker")


def round_of(harness: Harness) -> Verdict:
    (verdict,) = asyncio.run(harness.validate_candidates())
    return verdict


@pytest.mark.parametrize("scores", [(JUDGED, CHECKED), (CHECKED, JUDGED)])
def test_e7_live_the_checker_wins_in_either_order_and_the_conflict_is_logged_once(
    open_harness: Open, scores: tuple[Score, ...], caplog: pytest.LogCaptureFixture
) -> None:
    harness = open_harness(evaluator=lambda turn: scores)
    with caplog.at_level(logging.WARNING, "ruleproof"), harness.turn("s"):
        pass
    handled = harness.wait("s")
    assert handled is not None and handled.notice is None, "the judge alone would have posted a notice"
    assert caplog.text.count("the checker says 1.00, the judge 0.10; the checker counts") == 1


@pytest.mark.parametrize("scores", [(JUDGED, CHECKED), (CHECKED, JUDGED)])
def test_e7_a_captured_baseline_is_the_checkers(open_harness: Open, scores: tuple[Score, ...]) -> None:
    failing = (*scores, Score("k", 0.0, source="checker"))
    harness = open_harness(evaluator=lambda turn: failing, capture_eval_cases=True)
    with harness.turn("s") as turn:
        turn.messages = [{"role": "user", "content": "x"}]
    harness.wait("s")
    (case,) = harness.evalset.listed()
    assert dict(case.baseline_scores) == {"m": 1.0, "k": 0.0} and case.signature == ("breach:k",)


def test_e7_in_a_replay_the_checker_decides_and_a_missing_score_is_never_zero(open_harness: Open) -> None:
    harness = open_harness(replay=lambda case, context: {"session_id": "n", "scores": (JUDGED, CHECKED)})
    failure(harness, "f0")
    candidate(harness)
    assert round_of(harness).outcome == "promote"
    missing = open_harness(replay=lambda case, context: {"session_id": "n", "scores": (Score("m", None),)})
    missing.rules.add("Another.", metric="m")
    assert round_of(missing).outcome == "pending"


@pytest.mark.parametrize("value", [float("nan"), float("inf"), 7, True, "1"])
def test_e7_what_is_no_score_makes_the_replay_inconclusive_and_nothing_of_it_is_stored(
    open_harness: Open, log: Callable[[str], list[dict[str, Any]]], value: Any
) -> None:
    harness = open_harness(replay=lambda case, context: {"session_id": "n", "scores": {"m": value}})
    failure(harness, "f0")
    candidate(harness)
    assert round_of(harness).outcome == "pending"
    assert log("trials.jsonl")[-1]["kind"] == "attempt"  # every line of the log was strictly parsed


def test_e8_a_rule_that_buys_nothing_at_a_price_is_named(open_harness: Open) -> None:
    count = [0]

    def replay(case: Any, context: str) -> dict[str, Any]:
        count[0] += 1
        costs = {"tokens": 900.0 if "Verify before you retry." in context else 400.0}
        return {"session_id": f"n{count[0]}", "scores": {"m": 0.3}, "costs": costs}

    harness = open_harness(replay=replay, replay_policy="paired", replay_max_pairs=15)
    for number in range(3):
        failure(harness, f"f{number}")
    candidate(harness)
    verdict = round_of(harness)
    assert verdict.outcome == "inconclusive"
    assert "buys nothing measurable, at a price: tokens 400 -> 900" in verdict.reason


def test_e8_a_fixed_trial_follows_the_means_of_its_sessions_and_says_that_nothing_is_beside_them(
    open_harness: Open,
) -> None:
    harness = open_harness()
    rule = harness.rules.add("One.", metric="m")
    for number in range(4):
        harness.system_context(session_id=f"s{number}")
        harness.report(f"s{number}", {"m": 1.0, "tone": number / 4}, costs={"tokens": 100.0 * number})
    harness.report("never-saw-it", {"m": 1.0, "tone": 1.0}, costs={"tokens": 9e9})
    for reader in (harness, open_harness()):
        found = reader.rules.evidence(rule.id)
        rows = {row["name"]: row for row in found["rows"]}
        assert {name: (row["kind"], row["shown"], row["withheld"]) for name, row in rows.items()} == {
            "m": ("metric", 1.0, None), "tone": ("metric", 0.375, None), "tokens": ("cost", 150.0, None),
        }  # fmt: skip
        assert "compared with nothing" in str(found["caution"])
