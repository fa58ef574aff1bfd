"""Exact tests and their power, beside scipy and beside enumeration."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleproof.core.evidence.exact import (
    binomial_pmf,
    binomial_tail,
    fisher,
    fisher_power,
    fisher_size,
    jolt_chance,
    mcnemar,
    sign_test,
)


def test_the_sign_test_by_hand():
    assert sign_test(5, 0) == 1 / 32
    assert sign_test(4, 1) == 6 / 32
    assert sign_test(0, 5, "less") == 1 / 32
    assert sign_test(5, 0, "two-sided") == 2 / 32
    assert sign_test(0, 0) == 1.0
    assert mcnemar(8, 2) == sign_test(8, 2) == 56 / 1024


@pytest.mark.parametrize(
    ("rose", "failures", "fell", "wins", "chance"),
    [
        (3, 3, 0, 2, 0.6**3 * 0.4**2),
        (2, 2, 0, 2, 0.5**4),
        (3, 3, 0, 1, 0.75**3 * 0.25),
        (3, 3, 0, 0, 1.0),
        (0, 3, 0, 2, 1.0),
        (0, 0, 0, 0, 1.0),
    ],
)
def test_the_chance_of_a_text_that_turns_answers_by_hand(rose, failures, fell, wins, chance):
    assert jolt_chance(rose, failures, fell, wins) == pytest.approx(chance)


@settings(max_examples=60, deadline=None)
@given(st.integers(0, 9), st.integers(0, 9), st.integers(0, 6), st.integers(0, 6))
def test_no_text_that_turns_answers_comes_as_far_more_often(failures, rose, wins, fell):
    rose, fell = min(rose, failures), min(fell, wins)
    grid = (q / 500 for q in range(501))
    largest = max(
        binomial_tail(rose, failures, q) * sum(binomial_pmf(k, wins, q) for k in range(fell + 1)) for q in grid
    )
    assert jolt_chance(rose, failures, fell, wins) == pytest.approx(largest, abs=1e-4)


def test_the_tea_tasting_lady():
    assert fisher(4, 4, 0, 4) == pytest.approx(1 / 70)
    assert fisher(3, 4, 1, 4) == pytest.approx(17 / 70)


@given(st.integers(0, 30), st.integers(0, 30))
@settings(deadline=None, max_examples=40)
def test_the_sign_test_agrees_with_scipy(plus, minus):
    stats = pytest.importorskip("scipy.stats")
    if plus + minus:
        assert sign_test(plus, minus) == pytest.approx(
            stats.binomtest(plus, plus + minus, alternative="greater").pvalue
        )
        assert sign_test(plus, minus, "two-sided") == pytest.approx(stats.binomtest(plus, plus + minus).pvalue)


@given(st.integers(1, 25), st.integers(1, 25), st.data())
@settings(deadline=None, max_examples=40)
def test_fishers_test_agrees_with_scipy(a_size, b_size, data):
    stats = pytest.importorskip("scipy.stats")
    a, b = data.draw(st.integers(0, a_size)), data.draw(st.integers(0, b_size))
    table = [[a, a_size - a], [b, b_size - b]]
    for side in ("greater", "less", "two-sided"):
        expected = stats.fisher_exact(table, alternative=side).pvalue
        assert fisher(a, a_size, b, b_size, side) == pytest.approx(expected, rel=1e-6)


@given(st.integers(0, 40), st.integers(1, 40), st.floats(0.0, 1.0))
@settings(deadline=None, max_examples=40)
def test_binomial_tails_agree_with_scipy(k, n, p):
    stats = pytest.importorskip("scipy.stats")
    assert binomial_tail(k, n, p) == pytest.approx(stats.binom.sf(k - 1, n, p), abs=1e-10)


@pytest.mark.parametrize(("size", "a", "b", "level"), [(6, 0.8, 0.3, 0.05), (9, 0.5, 0.5, 0.2), (5, 1.0, 0.0, 0.05)])
def test_the_power_of_fishers_test_is_the_sum_over_all_tables(size, a, b, level):
    expected = sum(
        binomial_pmf(i, size, a) * binomial_pmf(j, size, b)
        for i in range(size + 1)
        for j in range(size + 1)
        if fisher(i, size, j, size) <= level
    )
    assert fisher_power(size, a, b, level) == pytest.approx(expected, abs=1e-9)


def test_the_size_that_fishers_test_needs_has_the_power_and_little_less_has_not():
    size = fisher_size(0.7, 0.4, 0.05)
    assert fisher_power(size, 0.7, 0.4, 0.05) >= 0.8
    assert fisher_power(int(size * 0.9), 0.7, 0.4, 0.05) < 0.8
    assert 30 <= size <= 42
