"""How often a useless rule passes a gate of fixed counts: by hand, by scipy, by simulation, and at the extremes."""

from __future__ import annotations

import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleproof.core.evidence.grade import chance_of_evidence, grade_of_chance
from ruleproof.core.evidence.pretest import (
    beta_binomial_pmf,
    false_promotion_chance,
    false_replay_chance,
    false_replay_chance_graded,
    fixed_gate_passes,
)
from ruleproof.errors import Refused


def test_without_history_any_useless_rule_may_pass():
    assert false_promotion_chance(0, 0, 5, 0.05) == 1.0


def test_one_trial_session_by_hand():
    """Baseline 1 of 2, n = 1: passes only without a breach, and the posterior mean breach rate is 1/2."""
    assert false_promotion_chance(1, 2, 1, 0.05) == pytest.approx(0.5)


@given(st.integers(0, 30), st.integers(1, 30), st.integers(1, 25))
@settings(deadline=None, max_examples=40)
def test_the_chance_agrees_with_scipys_beta_binomial(breached, healthy, n):
    stats = pytest.importorskip("scipy.stats")
    sessions = breached + healthy
    law = stats.betabinom(n, breached + 0.5, healthy + 0.5)
    expected = sum(law.pmf(k) for k in range(n + 1) if fixed_gate_passes(k, n, breached / sessions, 0.05))
    assert false_promotion_chance(breached, sessions, n, 0.05) == pytest.approx(expected, abs=1e-9)


def test_the_beta_binomial_adds_up_to_one():
    assert sum(beta_binomial_pmf(k, 9, 2.5, 0.5) for k in range(10)) == pytest.approx(1.0)


def test_the_gate_passes_at_its_margin_and_not_just_above_it():
    assert fixed_gate_passes(0, 5, 0.0, 0.05)
    assert fixed_gate_passes(9, 20, 0.5, 0.05)
    assert not fixed_gate_passes(5, 10, 0.5, 0.05)
    assert not fixed_gate_passes(1, 5, 0.2, 0.05)


def test_more_sessions_of_the_same_gate_do_not_make_it_sound():
    chances = [false_promotion_chance(58, 100, n, 0.05) for n in (5, 20, 100)]
    assert min(chances) > 0.15


@pytest.mark.parametrize("counts", [(-1, 5, 5), (6, 5, 5), (1, 5, 0)])
def test_counts_that_cannot_be_are_refused(counts):
    with pytest.raises(Refused):
        false_promotion_chance(*counts, 0.05)


def test_the_replay_gate_by_hand_and_by_simulation():
    assert false_replay_chance(1, 0, 1, 2) == pytest.approx(0.5)
    assert false_replay_chance(3, 2, 0, 0) == pytest.approx(max((1 - (1 - p) ** 3) * p**2 for p in [1.0]))
    chance, passed = random.Random(2), 0
    for _ in range(20_000):
        p = chance.betavariate(84.5, 116.5)
        gained = any(chance.random() < p for _ in range(3))
        passed += gained and all(chance.random() < p for _ in range(2))
    assert false_replay_chance(3, 2, 84, 200) == pytest.approx(passed / 20_000, abs=0.01)
    with pytest.raises(Refused):
        false_replay_chance(3, 2, 5, 4)


def test_the_graded_replay_gate_agrees_with_simulation():
    chance, passed = random.Random(4), 0
    for _ in range(20_000):
        deltas = [[chance.gauss(0, 0.15) - chance.gauss(0, 0.15) for _ in range(2)] for _ in range(3)]
        worst = min(min(case) for case in deltas)
        passed += worst > -0.05 and max(case[0] for case in deltas[:2]) >= 0.05
    assert false_replay_chance_graded(2, 1, 2, 0.15, 0.05, 0.05) == pytest.approx(passed / 20_000, abs=0.006)
    assert false_replay_chance_graded(3, 2, 1, 0.0, 0.05, 0.05) == 0.0
    with pytest.raises(Refused):
        false_replay_chance_graded(3, 2, 0, 0.1, 0.05, 0.05)


def test_grades_follow_the_chance_and_evidence_is_graded_by_its_worst_chance():
    grades = [grade_of_chance(chance) for chance in (0.0, 0.01, 0.011, 0.05, 0.2, 0.21, 1.0)]
    assert grades == ["strong", "strong", "moderate", "moderate", "weak", "none", "none"]
    assert [grade_of_chance(chance_of_evidence(e)) for e in (100.0, 99.0, 20.0, 5.0, 4.9, 0.0)] == [
        "strong", "moderate", "moderate", "weak", "none", "none",
    ]  # fmt: skip
    assert chance_of_evidence(0.0) == 1.0
    assert chance_of_evidence(40.0) == 0.025
