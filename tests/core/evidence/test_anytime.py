"""The forward trial: what counts, what is decided, and what a reader is told."""

from __future__ import annotations

import random
from dataclasses import replace
from math import nan

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleproof.core.evidence.anytime import AnytimePolicy, AnytimeState, Unit, decide, fold
from ruleproof.core.evidence.effects import dropout_evidence
from ruleproof.errors import Refused

POLICY = AnytimePolicy()


def units(count: int, shown: float, withheld: float, seed: int = 1, tasks: int = 0) -> list[Unit]:
    chance, made = random.Random(seed), []
    for place in range(count):
        arm = "shown" if chance.random() < 0.5 else "withheld"
        value = float(chance.random() < (shown if arm == "shown" else withheld))
        made.append(Unit(f"s{place}", arm, value, f"t{place % tasks}" if tasks else None))
    return made


def test_a_rule_that_helps_is_promoted_with_its_evidence():
    verdict = decide(units(300, 0.8, 0.4), POLICY, 0.05)
    assert verdict.outcome == "promote"
    assert verdict.e_help >= 20 and verdict.chance <= 0.05 and verdict.grade in ("moderate", "strong")
    assert verdict.shown.counted + verdict.withheld.counted == 300
    assert verdict.effect is not None and verdict.interval[0] < verdict.effect < verdict.interval[1]
    assert verdict.interval[0] > 0.0
    assert verdict.units_needed is None
    assert "e-value" in verdict.reasons[0]


def test_a_rule_that_harms_is_retired_and_the_metric_is_named():
    verdict = decide(units(300, 0.2, 0.6), POLICY, 0.001, metric="resolved")
    assert (verdict.outcome, verdict.harmed) == ("retire", ("resolved",))
    assert verdict.e_harm >= 20 and verdict.grade in ("moderate", "strong")


def test_harm_does_not_wait_for_the_budget_of_many_rules():
    made = units(80, 0.2, 0.7, seed=3)
    assert decide(made, POLICY, 0.05).outcome == decide(made, POLICY, 1e-6).outcome == "retire"


def test_little_evidence_is_not_yet_and_says_how_many_more():
    verdict = decide(units(40, 0.6, 0.5), POLICY, 0.05)
    assert verdict.outcome == "not_yet"
    assert verdict.units_needed is not None and verdict.units_needed > 0
    assert str(verdict.units_needed) in verdict.reasons[0]


def test_nothing_counted_is_not_yet():
    verdict = decide([], POLICY, 0.05)
    assert (verdict.outcome, verdict.effect, verdict.interval, verdict.grade) == ("not_yet", None, (-1.0, 1.0), "none")
    assert "no unit" in verdict.reasons[0]


def test_a_useless_rule_ends_as_inconclusive_at_the_limit_of_units():
    verdict = decide(units(200, 0.5, 0.5, seed=5), AnytimePolicy(most_units=200), 0.05)
    assert verdict.outcome == "inconclusive"
    assert "200 units did not decide it" in verdict.reasons[0]


def test_an_effect_shown_to_be_too_small_ends_the_trial_early():
    steady = [Unit(f"s{place}", "shown" if place % 2 else "withheld", 0.7, "t") for place in range(3000)]
    verdict = decide(steady, AnytimePolicy(most_units=100_000, least_effect=0.1), 0.05)
    assert verdict.outcome == "inconclusive"
    assert "too small" in verdict.reasons[0]


def test_a_rule_that_raises_most_sessions_and_lowers_their_mean_is_not_promoted():
    """Shown: 49 of 50 a little better, one of 50 ruined. The bets see the many, the mean sees the one."""
    made = [
        Unit(f"s{i}", *(("withheld", 0.97) if i % 2 else ("shown", 0.0 if i % 100 == 98 else 0.985)))
        for i in range(600)
    ]
    found = decide(made, replace(POLICY, least_effect=0.0), 0.05)
    assert found.e_help > 20.0, "the bets alone would promote it"
    assert found.effect < 0.0
    assert found.outcome == "not_yet"


def test_one_unit_is_counted_once_however_often_it_is_reported():
    made = units(60, 0.7, 0.4)
    once, thrice = decide(made, POLICY, 0.05), decide([unit for unit in made for _ in range(3)], POLICY, 0.05)
    assert thrice.repeated == 120
    assert replace(thrice, repeated=0) == once


def test_a_later_report_of_a_counted_unit_changes_nothing_even_with_another_value_or_arm():
    state = fold([Unit("s", "shown", 1.0)], POLICY)
    assert not state.add(Unit("s", "withheld", 0.0))
    assert state.verdict(0.05).shown.counted == 1


def test_a_unit_without_a_score_is_missing_and_counts_when_its_score_comes():
    state = AnytimeState(POLICY)
    assert state.add(Unit("s", "shown", None))
    assert state.counted == 0
    assert state.verdict(0.05).shown.missing == 1
    assert state.add(Unit("s", "shown", 1.0))
    verdict = state.verdict(0.05)
    assert (verdict.shown.missing, verdict.shown.counted, verdict.shown.mean) == (0, 1, 1.0)


@pytest.mark.parametrize("value", [nan, -0.1, 1.1, float("inf")])
def test_values_outside_the_range_are_refused_and_leave_no_trace(value):
    state = fold(units(10, 0.5, 0.5), POLICY)
    before = state.verdict(0.05)
    for unit in (
        Unit("x", "shown", value),
        Unit("x", "shown", 0.5, metrics={"other": value}),
        Unit("x", "shown", 0.5, costs={"tokens": -1.0}),
        Unit("x", "shown", 0.5, costs={"tokens": nan}),
        Unit("x", "unknown", 0.5),  # type: ignore[arg-type]
    ):
        with pytest.raises(Refused):
            state.add(unit)
    assert state.verdict(0.05) == before


def test_drop_out_that_differs_between_the_arms_stops_a_promotion():
    made = units(300, 0.9, 0.4)
    lost = [Unit(f"m{place}", "shown", None) for place in range(25)]
    even = [Unit(f"m{place}", "shown" if place % 2 else "withheld", None) for place in range(24)]
    assert decide(made + even, POLICY, 0.05).outcome == "promote"
    verdict = decide(made + lost, POLICY, 0.05)
    assert verdict.outcome == "not_yet"
    assert verdict.e_dropout > 100
    assert verdict.units_needed is None
    assert len(verdict.reasons) == 1
    assert any("no fair comparison" in reason for reason in verdict.reasons)


@pytest.mark.parametrize("holdout", [0.5, 0.2])
def test_the_evidence_on_drop_out_is_a_martingale(holdout):
    def ahead(shown: int, withheld: int) -> float:
        more = dropout_evidence({"shown": shown + 1, "withheld": withheld}, holdout) * (1 - holdout)
        return more + dropout_evidence({"shown": shown, "withheld": withheld + 1}, holdout) * holdout

    for shown in range(6):
        for withheld in range(6):
            now = dropout_evidence({"shown": shown, "withheld": withheld}, holdout)
            assert ahead(shown, withheld) == pytest.approx(now)
    assert dropout_evidence({"shown": 0, "withheld": 0}, holdout) == pytest.approx(1.0)


def test_harm_to_a_metric_that_the_rule_does_not_target_retires_it():
    chance, made = random.Random(2), []
    for place in range(300):
        arm = "shown" if chance.random() < 0.5 else "withheld"
        polite = float(chance.random() < (0.3 if arm == "shown" else 0.8))
        made.append(Unit(f"s{place}", arm, float(chance.random() < 0.5), metrics={"polite": polite, "calm": 0.5}))
    verdict = decide(made, POLICY, 0.05)
    assert (verdict.outcome, verdict.harmed) == ("retire", ("polite",))
    assert [row.name for row in verdict.rows] == ["outcome", "calm", "polite"]


def test_a_rule_that_may_yet_buy_something_has_a_price_and_is_not_said_to_buy_nothing():
    made = [
        Unit(f"s{place}", arm, float(place % 20 < (18 if arm == "shown" else 8)), costs={"tokens": tokens})
        for place in range(40)
        for arm, tokens in ((("shown", 140.0), ("withheld", 100.0))[place % 2],)
    ]
    verdict = decide(made, AnytimePolicy(), 0.0005)
    assert verdict.outcome == "not_yet" and verdict.e_help > 5
    assert not any("buys nothing" in reason for reason in verdict.reasons)
    assert "It costs more: tokens 100 -> 140 a session." in verdict.reasons
    assert verdict.rows[-1].interval is None, "where nothing varied an interval would have no width"


def test_a_rule_that_buys_nothing_at_a_price_is_named():
    chance, made = random.Random(4), []
    for place in range(200):
        arm = "shown" if chance.random() < 0.5 else "withheld"
        tokens = chance.gauss(1300 if arm == "shown" else 900, 150)
        made.append(Unit(f"s{place}", arm, float(chance.random() < 0.5), costs={"tokens": tokens}))
    verdict = decide(made, AnytimePolicy(most_units=200), 0.05)
    assert verdict.outcome == "inconclusive"
    assert any("buys nothing measurable, at a price: tokens" in reason for reason in verdict.reasons)
    row = verdict.rows[-1]
    assert row.kind == "cost" and row.difference is not None and 330 < row.difference < 470
    assert row.interval is not None and row.interval[0] < row.difference < row.interval[1]


def test_what_a_rule_saves_is_named_too():
    made = [
        Unit(f"s{place}", "shown" if place % 2 else "withheld", 0.5, costs={"steps": 5.0 if place % 2 else 9.0})
        for place in range(60)
    ]
    assert any("saves: steps 9 -> 5" in reason for reason in decide(made, POLICY, 0.05).reasons)


def test_each_task_is_its_own_control():
    """Hard and easy tasks: the same sessions are worth more when the task is known."""
    chance, made = random.Random(6), []
    for place in range(400):
        task, arm = chance.randrange(20), "shown" if chance.random() < 0.5 else "withheld"
        rate = (0.05 if task < 10 else 0.75) + 0.2 * (arm == "shown")
        made.append(Unit(f"s{place}", arm, float(chance.random() < rate), f"t{task}"))
    known = decide(made, POLICY, 0.05)
    unknown = decide(made, AnytimePolicy(pair_by_task=False), 0.05)
    assert known.e_help > 10 * unknown.e_help
    assert known.interval[1] - known.interval[0] < unknown.interval[1] - unknown.interval[0]


@given(st.lists(st.tuples(st.booleans(), st.floats(0.0, 1.0)), max_size=40))
@settings(max_examples=40, deadline=None)
def test_the_fold_is_the_same_one_unit_at_a_time_or_all_at_once(reports):
    made = [Unit(f"s{place}", "shown" if shown else "withheld", value) for place, (shown, value) in enumerate(reports)]
    state = AnytimeState(POLICY)
    for unit in made:
        state.add(unit)
        state.verdict(0.05)
    assert state.verdict(0.05) == decide(made, POLICY, 0.05)


@given(st.lists(st.tuples(st.booleans(), st.booleans()), min_size=1, max_size=60))
@settings(max_examples=40, deadline=None)
def test_swapping_the_arms_swaps_promote_and_retire(reports):
    level = POLICY.harm_level
    made = [Unit(f"s{i}", "shown" if shown else "withheld", float(good)) for i, (shown, good) in enumerate(reports)]
    swapped = [replace(unit, arm="withheld" if unit.arm == "shown" else "shown") for unit in made]
    one, other = decide(made, POLICY, level), decide(swapped, POLICY, level)
    mirror = {"promote": "retire", "retire": "promote"}
    assert other.outcome == mirror.get(one.outcome, one.outcome)
    assert other.e_help == pytest.approx(one.e_harm)
    assert other.interval == pytest.approx((-one.interval[1], -one.interval[0]), abs=1e-6)


@pytest.mark.parametrize(
    "bad",
    [{"holdout": 0.0}, {"holdout": 1.0}, {"holdout": nan}, {"harm_level": 0.0}, {"coverage": 1.0}, {"most_units": 0},
     {"least_effect": -0.1}, {"dropout_level": 2.0}],
)  # fmt: skip
def test_a_policy_out_of_range_is_refused(bad):
    with pytest.raises(Refused):
        AnytimePolicy(**bad)


@pytest.mark.parametrize("level", [0.0, 1.0, nan])
def test_a_level_out_of_range_is_refused(level):
    with pytest.raises(Refused):
        decide([], POLICY, level)


@given(st.floats(0.3, 0.9), st.integers(40, 120))
@settings(max_examples=30, deadline=None)
def test_promotion_starts_exactly_where_the_evidence_reaches_one_over_the_level(rate, count):
    made = [Unit(f"s{n}", "shown" if n % 2 else "withheld", float(n % 2 or n % 10 / 10 > rate)) for n in range(count)]
    state = fold(made, AnytimePolicy(most_units=10_000))
    if state.e_help > 1.01:
        assert state.verdict(1.001 / state.e_help).outcome == "promote"
        assert state.verdict(0.999 / state.e_help).outcome != "promote"


# --- scores that are missing because of what happened ---


def lost(q: float, seed: int, count: int = 150) -> list[Unit]:
    """A useless rule; of the sessions that saw it and failed, a share `q` ends without a score."""
    chance, made = random.Random(1000 + seed), []
    for unit in units(count, 0.42, 0.42, seed=seed):
        gone = unit.arm == "shown" and unit.value == 0.0 and chance.random() < q
        made.append(replace(unit, value=None) if gone else unit)
    return made


def ever(stream: list[Unit], level: float) -> str:
    """The first verdict of a trial with a look after every third unit."""
    state = AnytimeState(POLICY)
    for place, unit in enumerate(stream, start=1):
        state.add(unit)
        outcome = state.verdict(level).outcome if place % 3 == 0 else "not_yet"
        if outcome != "not_yet":
            return outcome
    return "not_yet"


@pytest.mark.parametrize("q", [0.3, 1.0])
def test_a_useless_rule_is_not_promoted_by_failures_that_end_without_a_score(q):
    promoted = sum(ever(lost(q, seed), 0.05) == "promote" for seed in range(120))
    assert promoted <= 11, "P(12 or more of 120 at 5 %) is 0.01"


def test_scores_that_are_missing_evenly_do_not_stop_a_rule_that_helps():
    chance = random.Random(1003)
    stream = [replace(unit, value=None) if chance.random() < 0.1 else unit for unit in units(400, 0.8, 0.4, seed=3)]
    assert ever(stream, 0.05) == "promote"


def test_a_verdict_says_that_missing_scores_hold_a_promotion_up():
    state = fold(lost(1.0, 1, 90), POLICY)
    verdict = state.verdict(0.5)
    assert verdict.e_help >= 2.0 and verdict.outcome == "not_yet" and verdict.units_needed is None
    assert "not if all others" in " ".join(verdict.reasons) or "differ between the arms" in " ".join(verdict.reasons)


def rescued(seed: int) -> list[Unit]:
    """The rule rescues hard cases; `polish` is scored where the session passed, is lower on hard ones, and unmoved."""
    chance, made = random.Random(1000 + seed), []
    for unit in units(240, 1.0, 1.0, seed=seed):
        hard = chance.random() < 0.6
        passed = chance.random() < ((0.55 if unit.arm == "shown" else 0.05) if hard else 0.95)
        polish = min(1.0, max(0.0, chance.gauss(0.6 if hard else 0.9, 0.15)))
        made.append(replace(unit, value=float(passed), metrics={"polish": polish} if passed else {}))
    return made


def test_a_metric_that_only_passing_sessions_have_does_not_retire_a_rule_that_makes_more_of_them_pass():
    outcomes = [ever(rescued(seed), 0.0045) for seed in range(40)]
    assert outcomes.count("retire") <= 4 and outcomes.count("promote") >= 30


def test_another_metric_that_falls_retires_the_rule_although_some_sessions_lack_it():
    chance, stream = random.Random(1004), []
    for unit in units(300, 0.5, 0.5, seed=4):
        polite = float(chance.random() < (0.4 if unit.arm == "shown" else 0.9))
        stream.append(replace(unit, metrics={} if chance.random() < 0.1 else {"polite": polite}))
    assert ever(stream, 0.05) == "retire"


def test_the_harm_level_is_shared_by_all_other_metrics():
    """One of ten other metrics falls: alone it would retire the rule at 40, among ten it takes 400."""
    chance, state, seen = random.Random(1005), AnytimeState(POLICY), set()
    for unit in units(200, 0.5, 0.5, seed=5):
        noise = {f"m{place}": float(chance.random() < 0.5) for place in range(9)}
        falls = float(chance.random() < (0.35 if unit.arm == "shown" else 0.75))
        state.add(replace(unit, metrics={"falls": falls, **noise}))
        verdict = state.verdict(0.05)
        e_down = next(row.e_down for row in verdict.rows if row.name == "falls")
        seen.add((e_down >= 40.0) + (e_down >= 400.0))
        assert ("falls" in verdict.harmed) == (e_down >= 400.0)
    assert seen == {0, 1, 2}


def test_the_chance_of_a_harm_is_that_of_all_metrics_that_could_have_shown_it():
    chance = random.Random(3)
    made = [
        replace(
            one,
            metrics={
                f"m{k}": float(chance.random() < (0.2 if k == 0 and one.arm == "shown" else 0.7)) for k in range(10)
            },
        )
        for one in units(300, 0.5, 0.5)
    ]
    found = decide(made, POLICY, 0.05)
    e_down = next(row.e_down for row in found.rows if row.name == "m0")
    assert found.harmed == ("m0",) and found.chance == pytest.approx(20.0 / e_down)
