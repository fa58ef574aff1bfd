"""Forecasts: the crossing-time law, its limits, and what a trial that has begun adds."""

from __future__ import annotations

from math import exp, log

import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st

from ruleproof.core.evidence.betting import EFFECTS
from ruleproof.core.evidence.forecast import (
    Forecast,
    _crossed,
    forecast_graded_pairs,
    forecast_pairs,
    forecast_sessions,
)
from ruleproof.errors import Refused


@given(st.floats(0.5, 300.0), st.floats(0.02, 0.5), st.floats(0.02, 1.0))
@example(5.0, 0.5, 0.0625)
@example(150.0, 0.02, 0.02)
@settings(deadline=None, max_examples=80)
def test_a_single_bettor_crosses_when_the_inverse_gaussian_law_says(t, drift, sd):
    """One walk and a straight bar: the first passage time is inverse Gaussian, exactly."""
    stats = pytest.importorskip("scipy.stats")
    mean, shape = 3.0 / drift, (3.0 / sd) ** 2
    expected = stats.invgauss(mean / shape, scale=shape).cdf(t)
    assert _crossed([(0.0, drift, sd)], 3.0, t) == pytest.approx(expected, abs=1e-7)


@given(st.floats(0.5, 300.0), st.floats(0.02, 0.5), st.floats(0.05, 1.0))
@settings(deadline=None, max_examples=40)
def test_a_bettor_is_worth_the_same_in_two_halves(t, drift, sd):
    whole = _crossed([(0.0, drift, sd)], 3.0, t)
    assert _crossed([(-log(2.0), drift, sd)] * 2, 3.0, t) == pytest.approx(whole, abs=1e-6)


@pytest.mark.parametrize(("drift", "sd"), [(-0.01, 0.3), (-0.05, 0.2), (-0.2, 1.0)])
def test_a_bettor_who_loses_on_average_ever_crosses_with_the_chance_of_a_drifting_motion(drift, sd):
    assert _crossed([(0.0, drift, sd)], 0.5, 1e7) == pytest.approx(exp(2 * drift * 0.5 / sd**2), rel=1e-6)


def test_no_effect_is_never_decided():
    assert forecast_sessions(0.0, rate=0.4) == Forecast(None, None)
    assert forecast_pairs(0.1, 0.1) == Forecast(None, None)
    assert forecast_graded_pairs(-0.1, 0.15) == Forecast(None, None)
    assert str(Forecast(None, None)) == "no verdict within reach"


@given(st.floats(0.05, 0.3), st.floats(0.02, 0.2), st.sampled_from([0.05, 0.001]))
@settings(deadline=None, max_examples=25)
def test_larger_effects_and_looser_levels_need_fewer_sessions(effect, more, level):
    def median(size: float, bar: float) -> int:
        found = forecast_sessions(size, rate=0.4, level=bar)
        assert found.median is not None and found.likely is not None and found.median <= found.likely
        return found.median

    assert median(effect + more, level) <= median(effect, level)
    assert median(effect, level / 10) >= median(effect, level)


def test_help_and_harm_of_a_symmetric_rate_need_as_many():
    assert forecast_sessions(0.2, rate=0.4) == forecast_sessions(-0.2, rate=0.6)


def test_a_trial_that_has_evidence_needs_fewer_more_and_a_decided_one_none():
    start = forecast_sessions(0.15, rate=0.42).median or 0
    half_way = forecast_sessions(0.15, rate=0.42, capital=[1.5] * len(EFFECTS)).median or 0
    assert 0 < half_way < start
    assert forecast_sessions(0.15, rate=0.42, capital=[6.0] * len(EFFECTS)) == Forecast(0, 0)


def test_known_tasks_need_fewer_sessions():
    assert (forecast_sessions(0.15, spread=0.35).median or 0) < (forecast_sessions(0.15, spread=0.49).median or 0)


def test_a_small_holdout_costs_sessions():
    assert (forecast_sessions(0.2, rate=0.42, holdout=0.1).median or 0) > 1.5 * (
        forecast_sessions(0.2, rate=0.42).median or 0
    )


@pytest.mark.parametrize(("effect", "rate"), [(0.7, 0.5), (-0.5, 0.4), (2.0, None)])
def test_an_effect_that_cannot_be_is_refused(effect, rate):
    with pytest.raises(Refused):
        forecast_sessions(effect, rate=rate)


def test_pairs_that_cannot_be_are_refused():
    with pytest.raises(Refused):
        forecast_pairs(0.7, 0.5)


def test_an_effect_far_below_what_the_bettors_expect_is_out_of_reach_and_said_so():
    assert forecast_sessions(0.01, rate=0.4) == Forecast(None, None)
