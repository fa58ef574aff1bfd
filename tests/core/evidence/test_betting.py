"""The bet on a fair coin: its expectation, its crossing probability and its interval, by enumeration of every coin."""

from __future__ import annotations

import random
from itertools import product
from math import isfinite, log, prod, tanh

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleproof.core.evidence.betting import Bet, Payoffs, coin_weight
from ruleproof.core.evidence.stream import Stream
from ruleproof.errors import Refused

VALUES = st.lists(st.sampled_from([0.0, 0.3, 1.0]), min_size=7, max_size=7)
TASKS = st.lists(st.sampled_from(["a", "b", None]), min_size=7, max_size=7)
HOLDOUTS = st.sampled_from([0.5, 0.2, 0.9])


def coins(length: int, holdout: float):
    """Every sequence of arms with its probability."""
    for arms in product(("shown", "withheld"), repeat=length):
        yield arms, prod(holdout if arm == "withheld" else 1.0 - holdout for arm in arms)


def paths(arms, tasks, shown, withheld, holdout):
    """(e_up, e_down) after each unit."""
    stream, seen = Stream(holdout), []
    for arm, task, high, low in zip(arms, tasks, shown, withheld, strict=True):
        stream.add(arm, task, high if arm == "shown" else low)
        seen.append((stream.bet.e_up, stream.bet.e_down))
    return seen


@given(VALUES, TASKS, HOLDOUTS)
@settings(max_examples=25, deadline=None)
def test_under_a_useless_rule_the_expected_capital_is_exactly_one_whatever_the_outcomes_are(values, tasks, holdout):
    up = down = 0.0
    for arms, chance in coins(7, holdout):
        end = paths(arms, tasks, values, values, holdout)[-1]
        up, down = up + chance * end[0], down + chance * end[1]
    assert up == pytest.approx(1.0, abs=1e-12)
    assert down == pytest.approx(1.0, abs=1e-12)


@given(VALUES, TASKS, HOLDOUTS, st.floats(1.05, 12.0))
@settings(max_examples=25, deadline=None)
def test_whoever_stops_at_the_first_crossing_still_expects_at_most_one_and_crosses_rarely(values, tasks, holdout, bar):
    stopped = crossed = 0.0
    for arms, chance in coins(7, holdout):
        path = [up for up, _ in paths(arms, tasks, values, values, holdout)]
        at_stop = next((capital for capital in path if capital >= bar), path[-1])
        stopped += chance * at_stop
        crossed += chance * (max(path) >= bar)
    assert stopped == pytest.approx(1.0, abs=1e-12)
    assert crossed <= 1.0 / bar + 1e-12


@given(VALUES, VALUES, TASKS, HOLDOUTS)
@settings(max_examples=25, deadline=None)
def test_no_session_that_the_rule_worsens_can_raise_the_expected_evidence_of_help(one, other, tasks, holdout):
    shown = [min(pair) for pair in zip(one, other, strict=True)]
    withheld = [max(pair) for pair in zip(one, other, strict=True)]
    help_, harm = 0.0, 0.0
    for arms, chance in coins(7, holdout):
        end = paths(arms, tasks, shown, withheld, holdout)[-1]
        help_, harm = help_ + chance * end[0], harm + chance * end[1]
    # the baseline learns from what was seen, so single steps are supermartingales and so is the whole
    assert help_ <= 1.0 + 1e-12
    assert harm >= 1.0 - 1e-12


@given(VALUES, TASKS, st.integers(0, 127))
@settings(max_examples=60, deadline=None)
def test_swapping_the_arms_swaps_help_and_harm(values, tasks, bits):
    arms = ["shown" if bits >> place & 1 else "withheld" for place in range(7)]
    swapped = ["withheld" if arm == "shown" else "shown" for arm in arms]
    up, down = paths(arms, tasks, values, values, 0.5)[-1]
    assert paths(swapped, tasks, values, values, 0.5)[-1] == pytest.approx((down, up))


def test_a_capital_by_hand():
    bet = Bet((0.5, 1.0))
    bet.update(1.0, 0.8)
    bet.update(-0.5, -0.4)
    first = (1 + tanh(0.4)) * (1 + 0.5 * tanh(0.2))
    second = (1 + tanh(0.8)) * (1 + 0.5 * tanh(0.4))
    assert bet.e_up == pytest.approx((first + second) / 2)
    assert bet.e_down == pytest.approx(
        ((1 - tanh(0.4)) * (1 - 0.5 * tanh(0.2)) + (1 - tanh(0.8)) * (1 - 0.5 * tanh(0.4))) / 2
    )


@pytest.mark.parametrize("holdout", [0.1, 0.25, 0.5, 0.8])
def test_the_centred_coin_has_expectation_zero_and_stays_within_one(holdout):
    shown, withheld = coin_weight(True, holdout), coin_weight(False, holdout)
    assert (1 - holdout) * shown + holdout * withheld == pytest.approx(0.0, abs=1e-15)
    assert max(abs(shown), abs(withheld)) == pytest.approx(1.0)


def test_capital_stays_finite_however_long_a_bettor_wins():
    bet = Bet()
    for _ in range(5000):
        bet.update(1.0, 1.5)
    assert isfinite(bet.e_up)
    assert bet.e_up > 1e190
    assert bet.e_down == 0.0 or bet.e_down < 1e-100


@pytest.mark.parametrize("effects", [(), (0.0,), (-1.0,), (float("nan"),), (float("inf"),)])
def test_a_bettor_without_an_effect_is_refused(effects):
    with pytest.raises(Refused):
        Bet(effects)


@given(VALUES, VALUES, TASKS, HOLDOUTS)
@settings(max_examples=20, deadline=None)
def test_the_payoffs_are_unbiased_for_the_mean_effect_whatever_the_baseline_predicts(shown, withheld, tasks, holdout):
    expected = 0.0
    for arms, chance in coins(7, holdout):
        stream = Stream(holdout)
        for arm, task, high, low in zip(arms, tasks, shown, withheld, strict=True):
            stream.add(arm, task, high if arm == "shown" else low)
        expected += chance * stream.payoffs.total / 7
    effect = sum(high - low for high, low in zip(shown, withheld, strict=True)) / 7
    assert expected == pytest.approx(effect, abs=1e-12)


def test_the_interval_is_where_a_mixture_of_bettors_stops_refuting():
    """Payoffs on bin edges, so that nothing is lost to bins: compared with the raw product."""
    payoffs, raw = Payoffs(2.0), [1.0, -0.5, 2.0, 0.25, 1.5, 1.0, 0.5, 2.0, -1.0, 1.0] * 12
    for payoff in raw:
        payoffs.add(payoff)
    low, high = payoffs.interval(0.9)
    stakes = [share / 3.0 for share in (0.9, 0.45, 0.22, 0.11, 0.05)]

    def capital(effect: float, sign: int) -> float:
        return sum(prod(1 + stake * sign * (payoff - effect) for payoff in raw) for stake in stakes) / 5

    assert log(capital(low, 1)) == pytest.approx(log(20.0), abs=1e-3)
    assert high == 1.0 or log(capital(high, -1)) == pytest.approx(log(20.0), abs=1e-3)
    assert low < (payoffs.mean or 0.0) <= high


@given(st.lists(st.floats(-2.0, 2.0), min_size=1, max_size=60))
@settings(max_examples=60, deadline=None)
def test_the_bins_can_only_widen_the_interval(raw):
    payoffs = Payoffs(2.0)
    for payoff in raw:
        payoffs.add(payoff)
    low, high = payoffs.interval(0.9)
    stakes = [share / 3.0 for share in (0.9, 0.45, 0.22, 0.11, 0.05)]
    for limit, sign in ((low, 1), (high, -1)):
        if abs(limit) < 1.0:
            exact = sum(prod(1 + stake * sign * (payoff - limit) for payoff in raw) for stake in stakes) / 5
            assert exact >= 20.0 * (1 - 1e-6)
    assert -1.0 <= low <= high <= 1.0


def test_the_interval_mirrors_when_the_payoffs_do():
    one, other = Payoffs(2.0), Payoffs(2.0)
    for place in range(200):
        payoff = (place * 37 % 100) / 50.0 - 0.7
        one.add(payoff)
        other.add(-payoff)
    low, high = one.interval()
    assert other.interval() == pytest.approx((-high, -low), abs=1e-6)


def test_without_a_payoff_nothing_is_known():
    assert Payoffs(2.0).mean is None
    assert Payoffs(2.0).interval() == (-1.0, 1.0)


@pytest.mark.parametrize(("effect", "holdout"), [(0.0, 0.5), (0.2, 0.5), (-0.3, 0.25)])
def test_the_confidence_sequence_misses_the_effect_at_any_of_many_looks_rarely(effect, holdout):
    chance, missed, runs = random.Random(7), 0, 150
    for _ in range(runs):
        stream, wrong = Stream(holdout), False
        for unit in range(300):
            shown = chance.random() >= holdout
            stream.add("shown" if shown else "withheld", None, float(chance.random() < 0.5 + effect * shown))
            if unit % 20 == 19:
                low, high = stream.payoffs.interval(0.9)
                wrong = wrong or not low <= effect <= high
        missed += wrong
    assert missed <= 23  # 10 % of 150 is 15; above 23 has chance 0.01
