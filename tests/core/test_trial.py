"""Trials: a session is one unit, however often and in whatever order it is reported."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.evidence import forward
from ruleproof.core.trial import Baseline, Observation, TrialFold, TrialState

RULE = "r-0123456789"


def seen(session: str, breached: bool) -> Observation:
    return Observation(RULE, session, breached, "shown")


observations = st.lists(st.builds(seen, st.sampled_from("abcdef"), st.booleans()), max_size=20)


def folded(items: list[Observation]) -> TrialState:
    fold = TrialFold()
    for item in items:
        fold.observe(item)
    return fold.state(RULE, None)


@given(observations)
def test_a_session_counts_once_and_is_breached_if_any_report_was(items: list[Observation]) -> None:
    state = folded(items)
    assert set(state.observed) == {item.session_id for item in items}
    assert len(state.observed) == len(set(state.observed))
    assert set(state.breached) == {item.session_id for item in items if item.breached}


@given(observations)
def test_folding_twice_is_folding_once(items: list[Observation]) -> None:
    assert folded([*items, *items]) == folded(items)


@given(observations)
def test_news_says_exactly_whether_folding_changes_anything(items: list[Observation]) -> None:
    fold = TrialFold()
    for item in items:
        before = fold.state(RULE, None)
        news = fold.news(item)
        fold.observe(item)
        assert news == (fold.state(RULE, None) != before)


def test_each_session_that_does_not_count_has_its_reason() -> None:
    fold = TrialFold()
    trial = TrialState(started_at="t1", birth_session="birth")
    fold.expose("unscored", {RULE: "shown"})
    fold.expose("counted", {RULE: "assumed"})
    fold.expose("kept out", {RULE: "withheld"})
    for session in ("birth", "unscored", "counted", "kept out", "never saw it"):
        fold.reported(session, "t2", {} if session == "unscored" else {"m": 0.5})
    fold.reported("before", "t0", {"m": 0.5})
    fold.observe(Observation(RULE, "counted", False, "assumed"))
    assert fold.in_detail(RULE, "m", trial).uncounted == {
        "birth": "birth session",
        "unscored": "no score",
        "kept out": "withheld",
        "never saw it": "unknown exposure",
    }


def test_the_baseline_is_one_without_history() -> None:
    assert Baseline().rate == 1.0
    assert Baseline(1, 4, 9).rate == 0.25


def state(breached: int, observed: int, baseline: Baseline) -> TrialState:
    sessions = tuple(f"s{i}" for i in range(observed))
    return TrialState(baseline, observed=sessions, breached=sessions[:breached])


def test_the_fixed_gate_by_its_full_table() -> None:
    """Promote at rate 0 or at least 0.05 below the baseline; every count of five, four baselines."""
    for baseline in (Baseline(), Baseline(1, 2), Baseline(1, 5), Baseline(0, 5)):
        for breached in range(6):
            verdict = forward.judge(RULE, state(breached, 5, baseline), sessions=5, margin=0.05)
            good = breached == 0 or breached / 5 <= baseline.rate - 0.05 + 1e-12
            assert verdict.outcome == ("promote" if good else "retire"), (baseline, breached)


def test_a_rate_exactly_at_the_margin_promotes() -> None:
    assert forward.judge(RULE, state(3, 4, Baseline(4, 5)), sessions=4, margin=0.05).outcome == "promote"
    assert forward.judge(RULE, state(4, 5, Baseline(4, 5)), sessions=5, margin=0.05).outcome == "retire"


def test_fewer_sessions_than_needed_decide_nothing() -> None:
    verdict = forward.judge(RULE, state(0, 4, Baseline()), sessions=5, margin=0.05)
    assert verdict.outcome == "pending"
    assert "4 of 5" in verdict.reason
