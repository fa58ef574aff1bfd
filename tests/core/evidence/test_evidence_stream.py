"""Baselines, blocks and costs: one metric of one trial."""

from __future__ import annotations

from itertools import product
from math import sqrt

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleproof.core.evidence.stream import Baseline, CostStream, Stream


def test_a_baseline_predicts_from_earlier_units_only():
    baseline = Baseline()
    residual, spread = baseline.step("a", 1.0)
    assert (residual, spread) == (pytest.approx(0.5), pytest.approx(0.5))  # nothing seen: 0.5
    residual, _ = baseline.step("a", 1.0)
    assert residual == pytest.approx(1.0 - (1.0 + 0.75) / 2)  # own mean 1 of one session, all 1.5 / 2
    residual, _ = baseline.step("b", 0.0)
    assert residual == pytest.approx(-2.5 / 3)  # a new task: the mean of all


def test_tasks_that_predict_worse_than_the_mean_of_all_are_not_used():
    baseline = Baseline()
    for place in range(60):
        baseline.step(f"t{place // 2}", float(place % 2))  # within a task the second is the opposite of the first
    residual, _ = baseline.step("t0", 1.0)
    assert residual == pytest.approx(1.0 - 30.5 / 61)


def test_the_spread_falls_to_what_is_left_within_tasks():
    baseline = Baseline()
    for place in range(400):
        baseline.step(f"t{place % 4}", float(place % 4 < 2))
    assert baseline.spread < 0.1
    loose = Baseline()
    for place in range(400):
        loose.step(None, float(place % 4 < 2))
    assert loose.spread == pytest.approx(0.5, abs=0.01)


def test_one_rare_outcome_cannot_ruin_the_careful_bettors():
    stream = Stream(0.5)
    for place in range(2000):
        stream.add("shown" if place % 2 else "withheld", None, 1.0)
    before = stream.bet.e_up
    stream.add("shown", None, 0.0)
    assert stream.bet.e_up > 0.3 * before


def test_a_block_is_bet_on_once_when_both_arms_are_there():
    stream = Stream(0.5)
    stream.add("shown", "a", 1.0, "a#0")
    assert (stream.bet.e_up, stream.payoffs.count) == (1.0, 0)
    stream.add("withheld", "a", 0.0, "a#0")
    assert stream.bet.e_up > 1.0 > stream.bet.e_down
    assert (stream.payoffs.count, stream.payoffs.total) == (1, 1.0)
    assert (stream.count("shown").mean, stream.count("withheld").mean) == (1.0, 0.0)


def test_two_units_of_one_arm_never_make_a_pair():
    stream = Stream(0.5)
    stream.add("shown", "a", 1.0, "a#0")
    stream.add("shown", "a", 0.0, "a#0")
    assert stream.payoffs.count == 0


def test_the_order_of_the_two_reports_of_a_block_does_not_matter():
    one, other = Stream(0.5), Stream(0.5)
    for stream, order in ((one, (0, 1)), (other, (1, 0))):
        reports = (("shown", 0.9), ("withheld", 0.2))
        for place in order:
            stream.add(reports[place][0], None, reports[place][1], "b")
    assert one.payoffs.total == other.payoffs.total
    assert one.bet.e_up == pytest.approx(other.bet.e_up, rel=0.05)  # the spread may differ a little, the sign may not


@given(st.lists(st.sampled_from([0.0, 0.4, 1.0]), min_size=8, max_size=8))
@settings(max_examples=25, deadline=None)
def test_blocked_by_task_the_expected_capital_is_exactly_one(values):
    expected = 0.0
    for flips in product((0, 1), repeat=4):
        stream = Stream(0.5)
        for place, value in enumerate(values):  # two tasks, two blocks each, interleaved
            block, second = place // 4 * 2 + place % 2, place % 4 >= 2
            shown = bool(flips[block]) != second
            stream.add("shown" if shown else "withheld", f"t{block % 2}", value, f"b{block}")
        expected += stream.bet.e_up / 16
    assert expected == pytest.approx(1.0, abs=1e-12)


def test_the_evidence_on_a_cost_does_not_depend_on_its_unit():
    tokens, thousands = CostStream(0.5), CostStream(0.5)
    for place in range(60):
        arm = "shown" if place % 3 else "withheld"
        cost = 900.0 + 40.0 * (place % 7) + (200.0 if arm == "shown" else 0.0)
        tokens.add(arm, None, cost)
        thousands.add(arm, None, cost / 1000.0)
    assert tokens.stream.bet.e_up == pytest.approx(thousands.stream.bet.e_up)
    low, high = tokens.interval() or (0.0, 0.0)
    assert low < 200.0 < high


def test_means_and_interval_of_a_cost_by_hand():
    cost = CostStream(0.5)
    for arm, value in (("shown", 10.0), ("shown", 14.0), ("withheld", 7.0), ("withheld", 9.0)):
        cost.add(arm, None, value)
    assert cost.means() == {"shown": 12.0, "withheld": 8.0}
    reach = 1.96 * sqrt(8.0 / 2 + 2.0 / 2)
    assert cost.interval() == pytest.approx((4.0 - reach, 4.0 + reach))


def test_a_cost_of_zero_everywhere_says_nothing():
    cost = CostStream(0.5)
    for place in range(20):
        cost.add("shown" if place % 2 else "withheld", None, 0.0)
    assert 0.0 < cost.stream.bet.e_up < 20.0
    assert cost.means() == {"shown": 0.0, "withheld": 0.0}
