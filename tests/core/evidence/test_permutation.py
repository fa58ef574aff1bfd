"""The exact bet on labels of replays: every labelling is enumerated."""

from __future__ import annotations

from itertools import combinations
from math import comb, exp, log, tanh

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleproof.core.evidence.permutation import BlockBet, log_most_evidence, permutation_e
from ruleproof.errors import Refused

SCORES = st.lists(st.floats(0.0, 1.0), min_size=5, max_size=5)


def labellings(values, treated):
    for chosen in combinations(range(len(values)), treated):
        yield (
            [values[place] for place in chosen],
            [values[place] for place in range(len(values)) if place not in chosen],
        )


@given(SCORES, st.integers(1, 4), st.floats(-8.0, 8.0))
def test_over_all_labellings_the_expected_evidence_is_exactly_one(values, treated, stake):
    factors = [permutation_e(one, other, stake) for one, other in labellings(values, treated)]
    assert sum(factors) / len(factors) == pytest.approx(1.0)
    assert max(factors) <= comb(5, treated) * (1 + 1e-9)


@given(SCORES, st.floats(-5.0, 5.0))
def test_the_polynomial_is_the_mean_over_all_labellings(values, stake):
    weights = [exp(stake * sum(one)) for one, _ in labellings(values, 2)]
    expected = exp(stake * (values[0] + values[1])) / (sum(weights) / len(weights))
    assert permutation_e(values[:2], values[2:], stake) == pytest.approx(expected)


@given(st.floats(0.0, 1.0), st.floats(0.0, 1.0), st.floats(-6.0, 6.0))
def test_one_replay_in_each_arm_is_the_odd_bet_on_the_difference(one, other, stake):
    assert permutation_e([one], [other], stake) == pytest.approx(1 + tanh(stake * (one - other) / 2))


@given(SCORES, st.floats(0.1, 6.0))
def test_better_treated_replays_never_lower_the_evidence_of_help(values, stake):
    better = [min(1.0, value + 0.2) for value in values[:3]]
    assert permutation_e(better, values[3:], stake) >= permutation_e(values[:3], values[3:], stake) - 1e-12


@given(SCORES, SCORES)
@settings(max_examples=10, deadline=None)
def test_the_capital_over_blocks_expects_exactly_one_although_the_spread_is_learnt(first, second):
    up = down = 0.0
    for one in labellings(first, 2):
        for other in labellings(second, 3):
            bet = BlockBet()
            bet.add(*one)
            bet.add(*other)
            up, down = up + bet.e_up, down + bet.e_down
    assert up / 100 == pytest.approx(1.0)
    assert down / 100 == pytest.approx(1.0)


@given(SCORES)
@settings(deadline=None)
def test_swapping_treated_and_control_swaps_help_and_harm(values):
    one, other = BlockBet(), BlockBet()
    one.add(values[:3], values[3:])
    other.add(values[3:], values[:3])
    assert (one.e_up, one.e_down) == pytest.approx((other.e_down, other.e_up))


@given(SCORES)
@settings(deadline=None)
def test_the_order_of_replays_within_an_arm_does_not_matter(values):
    one, other = BlockBet(), BlockBet()
    one.add(values[:3], values[3:])
    other.add(values[2::-1], values[:2:-1])
    assert one.e_up == pytest.approx(other.e_up)


def test_a_block_without_a_value_in_one_arm_is_evidence_of_nothing():
    bet = BlockBet()
    bet.add([1.0, 1.0], [])
    bet.add([], [0.0])
    assert (bet.e_up, bet.e_down, bet.spread) == (1.0, 1.0, pytest.approx(0.3))
    assert permutation_e([], [1.0], 2.0) == 1.0


def test_perfect_separation_comes_close_to_the_most_that_a_design_can_give():
    bet = BlockBet((50.0,))
    for _ in range(3):
        bet.add([1.0] * 5, [0.0] * 5)
    assert log_most_evidence([(5, 5)] * 3) == pytest.approx(3 * log(252))
    assert 0.99 * 252**3 < bet.e_up <= 252**3


def test_capital_stays_finite_over_very_many_blocks():
    bet = BlockBet()
    for _ in range(400):
        bet.add([1.0] * 4, [0.0] * 4)
    assert 1e150 < bet.e_up < 1e250


def test_effects_must_be_positive():
    with pytest.raises(Refused):
        BlockBet((0.0,))
