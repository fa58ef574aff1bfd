"""Intervals for display, beside published figures and scipy."""

from __future__ import annotations

import random

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.evidence.intervals import (
    newcombe,
    newcombe_paired,
    normal_cdf,
    normal_quantile,
    paired_bootstrap,
    pairs_interval,
    welch,
    wilson,
)
from ruleproof.errors import Refused


def test_wilson_and_newcombe_give_the_published_figures():
    """Newcombe 1998: 81 of 263 for a single proportion, 56 of 70 against 48 of 80 for a difference."""
    assert wilson(81, 263) == pytest.approx((0.2553, 0.3662), abs=5e-5)
    assert newcombe(56, 70, 48, 80) == pytest.approx((0.0524, 0.3339), abs=5e-5)


@given(st.integers(1, 200), st.data())
def test_wilson_agrees_with_scipy(size, data):
    stats = pytest.importorskip("scipy.stats")
    hits = data.draw(st.integers(0, size))
    expected = stats.binomtest(hits, size).proportion_ci(0.95, method="wilson")
    assert wilson(hits, size) == pytest.approx((expected.low, expected.high), abs=1e-9)


@pytest.mark.parametrize("p", [0.001, 0.05, 0.5, 0.8, 0.975])
def test_the_normal_quantile_inverts_the_distribution(p):
    assert normal_cdf(normal_quantile(p)) == pytest.approx(p, abs=1e-10)


def test_without_units_nothing_is_known():
    assert wilson(0, 0) == (0.0, 1.0)
    assert newcombe(0, 0, 3, 5) == (-1.0, 1.0)
    assert newcombe_paired(0, 0, 0, 0) == (-1.0, 1.0)
    assert welch((1.0, 3.0, 9.0), (5.0, 1.0, 1.0)) is None


@given(st.integers(0, 40), st.integers(0, 40), st.integers(0, 40), st.integers(0, 40))
def test_a_paired_interval_mirrors_when_gains_and_losses_swap(both, gained, lost, neither):
    low, high = newcombe_paired(both, gained, lost, neither)
    assert newcombe_paired(both, lost, gained, neither) == pytest.approx((-high, -low))
    size = both + gained + lost + neither
    if size:
        assert low - 1e-9 <= (gained - lost) / size <= high + 1e-9


def test_pairs_that_agree_make_the_paired_interval_narrower_than_the_unpaired_one():
    paired, unpaired = newcombe_paired(40, 12, 3, 45), newcombe(52, 100, 43, 100)
    assert paired[1] - paired[0] < unpaired[1] - unpaired[0]


def test_the_bootstrap_covers_the_mean_and_follows_its_seed():
    differences = [1.0] * 30 + [0.0] * 50 + [-1.0] * 10
    one = paired_bootstrap(differences, random.Random(3).random, draws=400)
    assert one == paired_bootstrap(differences, random.Random(3).random, draws=400)
    assert one[0] < 20 / 90 < one[1]
    assert one == pytest.approx((20 / 90 - 0.128, 20 / 90 + 0.128), abs=0.03)  # 1.96 standard errors
    with pytest.raises(Refused):
        paired_bootstrap([], random.Random(3).random)


def test_welch_agrees_with_scipy_in_large_samples():
    stats = pytest.importorskip("scipy.stats")
    chance = random.Random(5)
    a, b = [chance.gauss(3, 1) for _ in range(800)], [chance.gauss(2, 2) for _ in range(900)]
    interval = stats.ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
    ours = welch((len(a), sum(a), sum(x * x for x in a)), (len(b), sum(b), sum(x * x for x in b)))
    assert ours == pytest.approx((interval.low, interval.high), abs=2e-3)


def test_pairs_of_passes_have_newcombes_interval_and_graded_ones_the_bootstrap():
    passes = [(1.0, 1.0)] * 4 + [(1.0, 0.0)] * 3 + [(0.0, 1.0)] * 2 + [(0.0, 0.0)]
    assert pairs_interval(passes, random.Random(0).random) == (*newcombe_paired(4, 3, 2, 1), "Newcombe")
    graded = [(0.5, 0.25), *passes]
    expected = paired_bootstrap([one - other for one, other in graded], random.Random(0).random)
    assert pairs_interval(graded, random.Random(0).random) == (*expected, "bootstrap")
    with pytest.raises(Refused):
        pairs_interval([], random.Random(0).random)
