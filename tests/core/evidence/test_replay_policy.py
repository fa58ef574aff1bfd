"""The fixed replay policy: what promotes, what retires, what is evidence of nothing, and whose score counts."""

from __future__ import annotations

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.evidence.replay import (
    Margins,
    Replayed,
    best_scores,
    chance_useless_passes,
    judge,
    once_each,
    status_of,
)
from ruleproof.core.score import Score
from ruleproof.core.verdict import Verdict

MARGINS = Margins()
RULE = "r-0000000001"


def failure(name: str, new: dict[str, float] | None, old: float = 0.2, **more: str) -> Replayed:
    return Replayed(name, "failure", {"m": old, "tone": 0.6}, f"new-{name}", new or {}, **more)  # type: ignore[arg-type]


def win(name: str, new: dict[str, float] | None, **more: str) -> Replayed:
    return Replayed(name, "win", {"m": 0.9, "tone": 0.8}, f"new-{name}", new or {}, **more)  # type: ignore[arg-type]


def verdict(*replays: Replayed, target: str | None = "m", margins: Margins = MARGINS) -> Verdict:
    return judge(RULE, target, replays, margins)


def test_one_failure_that_improved_promotes_and_the_reason_says_by_how_much() -> None:
    found = verdict(failure("a", {"m": 0.2}), failure("b", {"m": 0.8}), win("w", {"m": 0.9}))
    assert (found.outcome, found.validator) == ("promote", "replay")
    assert found.reason == (
        "replay: m improved past the margin of 0.05 (m 0.20 -> 0.80 in failure b) and nothing regressed "
        "(2 of 2 failures and 1 of 1 wins compared)"
    )


@pytest.mark.parametrize(
    ("one", "named"),
    [
        (failure("a", {"m": 0.1}), "m 0.20 -> 0.10 in failure a"),
        (failure("a", {"m": 0.9, "tone": 0.5}), "tone 0.60 -> 0.50 in failure a"),
        (win("w", {"m": 0.8}), "m 0.90 -> 0.80 in win w"),
        (win("w", {"tone": 0.0}), "tone 0.80 -> 0.00 in win w"),
    ],
)
def test_a_drop_of_any_metric_in_any_case_retires_whatever_improved(one: Replayed, named: str) -> None:
    found = verdict(failure("b", {"m": 1.0}), one)
    assert found.outcome == "retire"
    assert named in found.reason and "regressed past the margin of 0.05" in found.reason


def test_no_improvement_of_the_target_retires_even_if_another_metric_rose() -> None:
    found = verdict(failure("a", {"m": 0.22, "tone": 1.0}))
    assert found.outcome == "retire" and "no improvement of m" in found.reason and "0.20 -> 0.22" in found.reason


def test_a_win_that_improved_promotes_nothing() -> None:
    assert verdict(failure("a", {"m": 0.2}), win("w", {"m": 1.0})).outcome == "retire"


@pytest.mark.parametrize(
    "replays",
    [
        [],
        [failure("a", None, failure="timed out after 300 s")],
        [failure("a", None)],
        [failure("a", {"other": 1.0})],
        [failure("a", {"tone": 0.6})],
        [win("w", {"m": 0.9})],
        [failure("a", None, failure="RuntimeError: no"), win("w", {"m": 1.0})],
    ],
    ids=["nothing", "timed out", "no score", "no shared metric", "no target", "wins alone", "raised"],
)
def test_a_round_without_a_comparable_failure_is_evidence_of_nothing(replays: list[Replayed]) -> None:
    found = verdict(*replays)
    assert (found.outcome, found.decided) == ("pending", False)
    assert "inconclusive" in found.reason
    assert all(one.failure in found.reason for one in replays)


def test_a_regressed_win_retires_even_where_no_failure_can_be_compared() -> None:
    assert verdict(failure("a", None, failure="raised"), win("w", {"m": 0.1})).outcome == "retire"


def test_without_a_target_nothing_can_improve() -> None:
    assert verdict(failure("a", {"m": 1.0}), target=None).outcome == "pending"


@pytest.mark.parametrize(
    ("old", "new", "margin", "outcome"),
    [
        (0.45, 0.50, 0.05, "promote"),  # the least improvement that promotes, whatever binary fractions make of it
        (0.45, 0.4999, 0.05, "retire"),
        (0.80, 0.75, 0.05, "none"),  # the largest drop that is tolerated
        (0.80, 0.7499, 0.05, "drop"),
        (0.5, 0.5, 0.0, "retire"),  # nothing changed: neither better nor worse
        (0.5, 0.51, 0.0, "promote"),
        (0.5, 0.49, 0.0, "drop"),
    ],
)
def test_the_margins_are_exact(old: float, new: float, margin: float, outcome: str) -> None:
    margins = Margins(margin, margin)
    found = verdict(Replayed("a", "failure", {"m": old}, "s", {"m": new}), margins=margins)
    if outcome == "promote":
        assert found.outcome == "promote"
    else:
        assert found.outcome == "retire"
        assert ("regressed" in found.reason) == (outcome == "drop")


def test_the_details_carry_every_case_and_the_caution() -> None:
    details = verdict(failure("a", {"m": 0.5}), win("w", None, failure="raised")).details
    assert details["target"] == "m" and "regression to the mean" in str(details["caution"])
    first, second = details["cases"]  # type: ignore[misc]
    assert first["session"] == "new-a" and first["deltas"] == {"m": pytest.approx(0.3)}
    assert second["why_not"] == "raised" and second["deltas"] == {}


def test_the_chance_that_a_useless_rule_passes_is_the_one_that_counting_gives() -> None:
    """The integral over the pass rate, by the midpoint rule after p = sin^2(t)."""
    steps = 20_000
    for failures, wins in [(0, 2), (1, 0), (3, 2), (3, 0), (2, 1)]:
        total = 0.0
        for step in range(steps):
            rate = math.sin((step + 0.5) / steps * math.pi / 2) ** 2
            total += rate**wins * (1.0 - (1.0 - rate) ** failures)
        assert chance_useless_passes(failures, wins) == pytest.approx(total / steps, abs=1e-6)
    assert chance_useless_passes(3, 0) > chance_useless_passes(3, 2) > 0.2


@given(st.lists(st.tuples(st.booleans(), st.floats(0, 1), st.floats(0, 1), st.booleans()), max_size=6))
def test_the_verdict_is_the_rule_of_the_docstring(rows: list[tuple[bool, float, float, bool]]) -> None:
    replays = [
        Replayed(f"c{n}", "failure" if bad else "win", {"m": old}, f"s{n}", {} if dead else {"m": new})
        for n, (bad, old, new, dead) in enumerate(rows)
    ]
    alive = [(bad, new - old) for bad, old, new, dead in rows if not dead]
    if any(delta < -0.05 - 1e-9 for _, delta in alive):
        wanted = "retire"
    elif not any(bad for bad, _ in alive):
        wanted = "pending"
    else:
        wanted = "promote" if any(bad and delta >= 0.05 - 1e-9 for bad, delta in alive) else "retire"
    assert verdict(*replays).outcome == wanted


def test_the_status_of_one_case() -> None:
    said = [
        status_of(one, MARGINS)
        for one in (
            failure("a", {"m": 0.9}),
            failure("a", {"m": 0.9, "tone": 0.1}),
            win("w", {"m": 0.9}),
            win("w", {"other": 0.9}),
            win("w", None, failure="raised"),
        )
    ]
    assert said == ["improved", "regressed", "unchanged", "skipped", "skipped"]


# --- one session, once -----------------------------------------------------------------------------------------------


def same(name: str, session: str, **more: str) -> Replayed:
    return Replayed(name, "failure", {}, session, {} if more else {"m": 1.0}, **more)  # type: ignore[arg-type]


def counted(arms: list[list[Replayed]]) -> list[list[str]]:
    return [[one.session_id for one in arm if not one.failure] for arm in arms]


def test_a_session_that_comes_back_in_an_arm_counts_once() -> None:
    arms = once_each([[same("a", "x"), same("a", "x"), same("b", "x"), same("b", "y")]])
    assert counted(arms) == [["x", "y"]]
    assert arms[0][1].failure == "its session was counted before"


def test_a_session_in_both_arms_counts_in_none_whichever_comes_first() -> None:
    treated, control = [same("a", "x"), same("a", "t")], [same("a", "c"), same("a", "x")]
    assert counted(once_each([treated, control])) == [["t"], ["c"]]
    assert counted(once_each([control, treated])) == [["c"], ["t"]]


def test_a_session_of_an_earlier_round_does_not_count_again() -> None:
    assert counted(once_each([[same("a", "old"), same("a", "new")]], ["old"])) == [["new"]]


def test_a_replay_that_failed_takes_no_session_away() -> None:
    arms = [[same("a", "x", failure="timed out"), same("a", "x")], [same("a", "y")]]
    assert counted(once_each(arms)) == [["x"], ["y"]]


# --- whose score counts ----------------------------------------------------------------------------------------------


def test_a_checker_outranks_a_judge_in_either_order_and_the_conflict_is_said() -> None:
    judged, checked = Score("m", 0.1, source="judge"), Score("m", 1.0, source="checker")
    for scores in ([judged, checked], [checked, judged]):
        values, conflicts = best_scores(scores)
        assert values == {"m": 1.0}
        assert conflicts == ("m: the checker says 1.00, the judge 0.10; the checker counts",)


def test_agreement_is_no_conflict_and_another_metric_is_its_own() -> None:
    scores = [Score("m", 0.9, source="judge"), Score("m", 1.0, source="checker"), Score("k", 0.3, source="judge")]
    assert best_scores(scores) == ({"m": 1.0, "k": 0.3}, ())


def test_a_missing_score_is_missing_and_silences_nobody() -> None:
    scores = [Score("m", None, source="checker"), Score("m", 0.4, source="judge"), Score("k", None)]
    assert best_scores(scores) == ({"m": 0.4}, ())
