"""E5: forecasts before and during a trial; the operating characteristics of a user's own settings."""

from __future__ import annotations

import random

import pytest

from ruleproof.core.evidence.anytime import AnytimePolicy, Unit, decide
from ruleproof.core.evidence.forecast import forecast_pairs, forecast_sessions
from ruleproof.core.simulate import ForwardSpec, PairsSpec, base_rate, simulate_forward, simulate_pairs


@pytest.mark.parametrize("effect", [0.15, 0.2, 0.3])
def test_e5_the_median_forecast_is_within_a_quarter_of_the_median_of_simulated_trials(effect):
    tally = simulate_forward(ForwardSpec(base_rate(0.42), effect, 3000), 150, random.Random(21).random)
    forecast = forecast_sessions(effect, rate=0.42)
    assert forecast.median == pytest.approx(tally.quantile(0.5), rel=0.25)
    assert forecast.likely == pytest.approx(tally.quantile(0.8), rel=0.30)


def test_e5_the_same_under_the_budget_of_twenty_rules_and_for_pairs():
    spec = ForwardSpec(base_rate(0.42), 0.25, 3000, level=0.05 / 20)
    simulated = simulate_forward(spec, 100, random.Random(22).random).quantile(0.5)
    assert forecast_sessions(0.25, rate=0.42, level=0.05 / 20).median == pytest.approx(simulated, rel=0.25)
    pairs = PairsSpec(((0.0, 1.0),) * 31 + ((1.0, 0.0),) * 5 + ((1.0, 1.0),) * 64, horizon=400)
    simulated = simulate_pairs(pairs, 150, random.Random(23).random).quantile(0.5)
    assert forecast_pairs(0.31, 0.05).median == pytest.approx(simulated, rel=0.25)


def test_e5_a_running_trial_says_how_many_more_at_the_effect_seen():
    made = []
    for place in range(80):  # 13 of 20 pass when shown, 9 of 20 when withheld
        arm = "shown" if place % 2 else "withheld"
        made.append(Unit(str(place), arm, float(place // 2 * 7 % 20 < (13 if arm == "shown" else 9))))
    early, later = decide(made[:40], AnytimePolicy(), 0.01), decide(made, AnytimePolicy(), 0.01)
    assert early.outcome == later.outcome == "not_yet"
    assert early.units_needed is not None and later.units_needed is not None
    assert later.units_needed < early.units_needed
    assert f"about {later.units_needed} more units" in later.reasons[0]


def test_e5_a_trial_that_cannot_end_in_time_says_so():
    made = [Unit(str(n), "shown" if n % 2 else "withheld", float(n // 2 % 20 < 10 + n % 2)) for n in range(80)]
    verdict = decide(made, AnytimePolicy(most_units=300), 0.01)
    assert verdict.outcome == "not_yet"
    assert "limit of 300 units comes first" in verdict.reasons[0]


def test_e5_a_simulation_of_a_users_settings_gives_false_promotions_and_power():
    useless = simulate_forward(ForwardSpec(base_rate(0.6), 0.0, 150), 60, random.Random(25).random)
    useful = simulate_forward(ForwardSpec(base_rate(0.6), 0.35, 150), 60, random.Random(25).random)
    assert useless.promoted <= 7
    assert useful.promoted >= 55
