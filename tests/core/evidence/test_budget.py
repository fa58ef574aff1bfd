"""The error budget: shares, levels, and the false discovery rate in the worst dependence there is."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.evidence.budget import SHARING, level, share
from ruleproof.errors import Refused


def test_the_shares_of_all_trials_add_up_to_one_and_the_first_ten_have_half():
    assert sum(share(number) for number in range(1, SHARING + 1)) == pytest.approx(0.5)
    for many in (100, 10_000):
        assert sum(share(number) for number in range(1, many + 1)) == pytest.approx(many / (many + SHARING))


def test_levels_by_hand():
    assert level(1, 0) == pytest.approx(0.05 / 11)
    assert level(20, 0) == pytest.approx(0.05 * 10 / (29 * 30))
    assert level(20, 3) == pytest.approx(4 * level(20, 0))
    assert level(1, 500) == 0.05


@pytest.mark.parametrize(("number", "promoted", "alpha"), [(0, 0, 0.05), (1, -1, 0.05), (1, 0, 0.0), (1, 0, 1.0)])
def test_a_place_outside_the_budget_is_refused(number, promoted, alpha):
    with pytest.raises(Refused):
        level(number, promoted, alpha)


def test_the_false_discovery_rate_stays_within_the_budget_when_useless_rules_never_err_together():
    """Worst dependence: rule t alone reaches its bar on its own slice of chance, with expectation exactly 1."""
    rate = sum(level(number, 0) for number in range(1, 2000))  # P(e = bar) = 1 / bar; then it alone is promoted
    assert 0.049 < rate <= 0.05


@given(st.lists(st.integers(1, 60), min_size=1, max_size=20, unique=True))
def test_the_false_share_is_bounded_whatever_number_is_promoted_when(order: list[int]):
    """Every level that was used is at most alpha gamma (promoted in the end), which is all that the bound needs."""
    for before, number in enumerate(order):
        assert level(number, before) <= 0.05 * share(number) * len(order) + 1e-15
