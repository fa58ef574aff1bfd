"""The error budget: shares, levels, and the false discovery rate in the worst dependence there is."""

from __future__ import annotations

from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.evidence.budget import SHARING, level, promotable, share
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


EVIDENCE = st.dictionaries(st.integers(1, 12), st.floats(0.0, 2000.0), max_size=7)


@given(EVIDENCE, st.frozensets(st.integers(13, 16), max_size=3))
def test_the_promotable_rules_are_the_largest_set_that_is_consistent_with_its_own_size(evidence, promoted):
    def consistent(chosen) -> bool:
        total = len(chosen) + len(promoted)
        return all(
            evidence[number] >= 20.0 and evidence[number] * 0.05 * share(number) * total >= 1.0 for number in chosen
        )

    chosen = promotable(evidence, promoted)
    assert consistent(chosen)
    for size in range(len(chosen) + 1, len(evidence) + 1):
        assert not any(consistent(other) for other in combinations(evidence, size))


@given(st.integers(1, 12), st.floats(1.0, 3000.0), st.integers(0, 5))
def test_one_candidate_at_a_time_is_judged_at_its_level(number, e_value, before):
    promoted = frozenset(range(100, 100 + before))
    bar = 1.0 / level(number, before)
    if abs(e_value - bar) > 1e-6:
        assert (number in promotable({number: e_value}, promoted)) == (e_value >= bar)


def test_a_rule_that_was_promoted_is_not_judged_again():
    assert promotable({3: 1e9}, frozenset({3})) == frozenset()


def test_almost_sufficient_rules_pass_together():
    bar = 1.0 / (0.05 * share(2))
    evidence = {1: 0.6 * bar, 2: 0.6 * bar}
    assert promotable({2: evidence[2]}, frozenset()) == frozenset()
    assert promotable(evidence, frozenset()) == frozenset({1, 2})


def test_the_false_discovery_rate_stays_within_the_budget_when_useless_rules_never_err_together():
    """Worst dependence: rule t alone reaches its bar on its own slice of chance, with expectation exactly 1."""
    rate = 0.0
    for number in range(1, 2000):
        bar = 1.0 / level(number, 0)
        assert promotable({number: bar * (1 + 1e-9)}, frozenset()) == {number}
        rate += 1.0 / bar  # P(e = bar) = 1 / bar, and then the only promoted rule is useless
    assert 0.049 < rate <= 0.05
