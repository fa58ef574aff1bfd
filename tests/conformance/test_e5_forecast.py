"""E5: forecasts before and during a trial; the operating characteristics of a user's own settings."""

from __future__ import annotations

import random
from statistics import median

import pytest

from ruleproof.core.evidence.anytime import AnytimePolicy, Unit, decide, fold
from ruleproof.core.evidence.caserounds import CaseRound, Replay
from ruleproof.core.evidence.forecast import forecast_graded_pairs, forecast_pairs, forecast_sessions
from ruleproof.core.evidence.paired import PairedPolicy, PairedState
from ruleproof.core.simulate import ForwardSpec, PairsSpec, base_rate, simulate_forward, simulate_pairs


@pytest.mark.parametrize("effect", [0.15, 0.2, 0.3])
def test_e5_the_median_forecast_is_within_a_quarter_of_the_median_of_simulated_trials(effect):
    tally = simulate_forward(ForwardSpec(base_rate(0.42), effect, 3000), 150, random.Random(21).random)
    forecast = forecast_sessions(effect, rate=0.42)
    assert forecast.median == pytest.approx(tally.quantile(0.5), rel=0.25)
    assert forecast.likely == pytest.approx(tally.quantile(0.8), rel=0.30)


def test_e5_the_same_under_the_budget_of_twenty_rules():
    spec = ForwardSpec(base_rate(0.42), 0.25, 3000, level=0.05 / 20)
    simulated = simulate_forward(spec, 100, random.Random(22).random).quantile(0.5)
    assert forecast_sessions(0.25, rate=0.42, level=0.05 / 20).median == pytest.approx(simulated, rel=0.25)


@pytest.mark.parametrize(("gained", "lost", "level"), [(31, 5, 0.05), (31, 5, 0.0025), (42, 12, 0.05), (30, 0, 0.05)])
def test_e5_the_same_of_pairs_that_are_gained_and_lost(gained, lost, level):
    drawn = ((0.0, 1.0),) * gained + ((1.0, 0.0),) * lost + ((1.0, 1.0),) * (100 - gained - lost)
    tally = simulate_pairs(PairsSpec(drawn, 600, level), 200, random.Random(23).random)
    forecast = forecast_pairs(gained / 100, lost / 100, level=level)
    assert forecast.median == pytest.approx(tally.quantile(0.5), rel=0.25)
    assert forecast.likely == pytest.approx(tally.quantile(0.8), rel=0.30)


@pytest.mark.parametrize(("effect", "spread"), [(0.05, 0.1), (0.1, 0.15)])
def test_e5_the_same_of_pairs_of_a_graded_metric(effect, spread):
    chance = random.Random(24)
    drawn = tuple((chance.gauss(0.5, spread), chance.gauss(0.5 + effect, spread)) for _ in range(2000))
    held = tuple((min(max(one, 0.0), 1.0), min(max(other, 0.0), 1.0)) for one, other in drawn)
    simulated = simulate_pairs(PairsSpec(held, 600), 200, random.Random(25).random).quantile(0.5)
    assert forecast_graded_pairs(effect, spread).median == pytest.approx(simulated, rel=0.25)


def test_e5_an_effect_that_never_fails_is_forecast_too():
    for found, near in (
        (forecast_sessions(1.0, rate=0.0), forecast_sessions(0.999, rate=0.0)),
        (forecast_pairs(1.0, 0.0), forecast_pairs(0.999, 0.0)),
    ):
        assert found.median == near.median and found.median


def passes(arm, place, shown, withheld):
    """The outcome of a session: so many of every twenty pass."""
    return float(place // 2 * 7 % 20 < (shown if arm == "shown" else withheld))


@pytest.mark.parametrize(
    ("units", "level", "shown", "withheld"),
    [(40, 0.01, 13, 9), (120, 0.01, 13, 9), (120, 0.001, 13, 9), (40, 1e-3, 14, 6)],
)
def test_e5_how_many_more_sessions_is_within_a_quarter_of_trials_that_went_on(units, level, shown, withheld):
    arms = ("withheld", "shown")
    made = [
        Unit(str(place), arms[place % 2], passes(arms[place % 2], place, shown, withheld)) for place in range(units)
    ]
    verdict, chance, more = decide(made, AnytimePolicy(), level), random.Random(26), []
    for _ in range(150):
        state, before = fold(made, AnytimePolicy()), units
        while state.e_help < 1.0 / level:
            arm = chance.choice(arms)
            rate = (shown if arm == "shown" else withheld) / 20
            state.add(Unit(str(state.counted), arm, float(chance.random() < rate)))
        more.append(state.counted - before)
    assert verdict.outcome == "not_yet"
    assert verdict.units_needed == pytest.approx(median(more), rel=0.25)
    assert f"about {verdict.units_needed} more units" in verdict.reasons[0]


def case_rounds(outcome):
    """One round of three failures, five repeats in each arm; `outcome(repeat, treated)`."""
    for case in "abc":
        arms = (tuple(Replay({"outcome": outcome(n, treated)}) for n in range(5)) for treated in (True, False))
        yield CaseRound(case, "failure", *arms)


@pytest.mark.parametrize(("rounds", "level", "mended", "before"), [(2, 0.01, 3, 2), (2, 0.001, 4, 3), (3, 5e-4, 2, 1)])
def test_e5_how_many_more_pairs_is_within_a_quarter_of_replays_that_went_on(rounds, level, mended, before):
    def begun():
        state = PairedState(PairedPolicy())
        for _ in range(rounds):
            for case in case_rounds(lambda repeat, treated: float(repeat < (mended if treated else before))):
                state.add(case)
        return state

    verdict, chance, more = begun().verdict(level), random.Random(27), []
    for _ in range(100):
        state = begun()
        while state.e_help < 1.0 / level:
            for case in case_rounds(lambda _, treated: float(chance.random() < (mended if treated else before) / 5)):
                state.add(case)
        more.append(state.pairs - verdict.pairs)
    assert verdict.outcome == "not_yet"
    assert verdict.pairs_needed == pytest.approx(median(more), rel=0.25)
    assert f"about {verdict.pairs_needed} more pairs" in verdict.reasons[0]


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
