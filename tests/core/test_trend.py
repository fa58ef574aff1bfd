"""Averages and declines of one metric."""

from __future__ import annotations

from dataclasses import replace
from functools import reduce

import pytest

from ruleproof.core.trend import MetricState, TrendPolicy, advance, conditions, quantile

POLICY = TrendPolicy()
ALL = TrendPolicy(adaptive_threshold=True, percentile_window=5)


def after(values: list[float], policy: TrendPolicy = POLICY) -> MetricState:
    state: MetricState | None = None
    for value in values:
        state = advance(state, value, policy)
    assert state is not None
    return state


def test_the_first_value_sets_both_averages() -> None:
    assert after([0.8]) == MetricState(0.8, 0.8, 1)


def test_alpha_is_two_over_span_plus_one() -> None:
    state = after([1.0, 0.0])
    assert state.fast == 0.5
    assert state.slow == pytest.approx(9 / 11)
    assert state.count == 2


def test_a_constant_metric_never_moves_and_never_declines() -> None:
    state = after([0.3] * 50, ALL)
    assert (state.fast, state.slow) == (0.3, 0.3)
    assert conditions(state, 0.3, ALL) == ()


@pytest.mark.parametrize(
    ("values", "declines"),
    [
        ([1.0, 0.8, 0.6], False),
        ([1.0, 0.8, 0.6, 0.4], True),
        ([0.4, 0.6, 0.8, 1.0], False),
        ([1.0, 1.0, 1.0, 1.0], False),
    ],
)
def test_a_trend_needs_four_values_that_fall(values: list[float], declines: bool) -> None:
    assert (conditions(after(values), values[-1], POLICY) == ("trend",)) is declines


def test_the_crossover_must_exceed_its_margin() -> None:
    policy = replace(POLICY, trend_margin_cross=0.25)
    assert conditions(MetricState(0.25, 0.5, 9), 0.5, policy) == ()
    assert conditions(MetricState(0.2499, 0.5, 9), 0.5, policy) == ("trend",)


def test_the_slow_average_that_a_drop_is_measured_from_already_holds_the_value() -> None:
    policy = TrendPolicy(adaptive_threshold=True, adaptive_margin_drop=0.5, trend_margin_cross=1.0)
    state = after([1.0, 1.0, 1.0, 0.4], policy)
    assert state.slow == pytest.approx(1 - 0.6 * 2 / 11)
    assert conditions(state, 0.4, policy) == ()  # 0.4 < 0.89 - 0.5 does not hold; before the update 0.4 < 0.5 would
    assert conditions(state, 0.38, policy) == ("relative",)


def test_relative_is_off_unless_asked_for() -> None:
    state = after([1.0, 1.0, 1.0, 1.0, 0.0])
    assert "relative" not in conditions(state, 0.0, POLICY)
    assert "relative" in conditions(state, 0.0, TrendPolicy(adaptive_threshold=True))


@pytest.mark.parametrize(("count", "hit"), [(3, False), (4, True)])
def test_relative_needs_as_many_values_as_a_trend(count: int, hit: bool) -> None:
    policy = TrendPolicy(adaptive_threshold=True)
    assert (conditions(MetricState(0.9, 0.9, count), 0.1, policy) == ("relative",)) is hit


@pytest.mark.parametrize(
    ("window", "values", "hit"),
    [
        (0, [0.9, 0.9, 0.9, 0.9, 0.1], False),
        (5, [0.9, 0.9, 0.1], False),  # needs min(max(4, 2), 5) = 4 values
        (5, [0.9, 0.9, 0.9, 0.1], True),
        (2, [0.9, 0.1], True),  # needs min(max(4, 2), 2) = 2
        (1, [0.9, 0.1], False),  # a value is never below itself
        (3, [0.1, 0.9, 0.9, 0.9], False),
        (3, [0.0, 0.5, 0.6, 0.4], True),  # 0.0 left the window
    ],
)
def test_a_percentile_looks_at_the_last_values_this_one_included(window: int, values: list[float], hit: bool) -> None:
    policy = TrendPolicy(percentile_window=window, trend_margin_cross=1.0)
    state = after(values, policy)
    assert len(state.recent) <= window
    assert (conditions(state, values[-1], policy) == ("percentile",)) is hit


def test_without_history_only_the_threshold_speaks() -> None:
    assert conditions(None, 0.0, ALL) == ()
    assert conditions(after([1.0, 1.0, 1.0, 1.0, 0.0], ALL), 0.0, replace(ALL, enable_trend=False)) == ()


@pytest.mark.parametrize(
    ("share", "expected"), [(0.0, 1.0), (0.25, 1.75), (0.5, 2.5), (1.0, 4.0)]
)  # numpy.quantile([1, 2, 3, 4], share)
def test_quantiles_interpolate_between_order_statistics(share: float, expected: float) -> None:
    assert quantile((4.0, 1.0, 3.0, 2.0), share) == expected
    assert quantile((7.0,), share) == 7.0


def test_folding_keeps_no_more_than_the_window() -> None:
    state = reduce(lambda s, v: advance(s, v, ALL), [i / 1000 for i in range(1000)], after([1.0], ALL))
    assert state.recent == (0.995, 0.996, 0.997, 0.998, 0.999)
