"""A recheck's verdicts and their error rates, a watch's openings, and fresh sessions without a control."""

from __future__ import annotations

import random
from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleproof.core.evidence.anytime import AnytimeState, Unit
from ruleproof.core.evidence.betting import Payoffs
from ruleproof.core.evidence.exact import binomial_tail
from ruleproof.core.evidence.operating import Life, recheck_once, watch_once
from ruleproof.core.evidence.recheck import (
    OPENING,
    decayed,
    judge,
    judge_window,
    recheck_policy,
    watch_policy,
)
from ruleproof.core.evidence.stream import Arm
from ruleproof.core.recheck import LIFE, Comparison

LEVEL, LEAST, MOST = LIFE / 2.0, 0.05, 2000


def state_of(units: list[tuple[Arm, float | None]], level: float = LEVEL, most: int = MOST) -> AnytimeState:
    state = AnytimeState(recheck_policy(0.5, level, LEAST, most))
    for place, (arm, value) in enumerate(units):
        state.add(Unit(str(place), arm, value))
    return state


def turns(shown: float | None, withheld: float | None, count: int) -> list[tuple[Arm, float | None]]:
    chance = random.Random(7)
    return [("shown", shown) if chance.random() < 0.5 else ("withheld", withheld) for _ in range(count)]


def ending(units: list[tuple[Arm, float | None]], most: int = MOST) -> tuple[str, str]:
    found = judge(state_of(units, most=most), LEVEL, LEAST, most, "outcome")
    return found[0], found[1]


def test_help_keeps_harm_retires_nothing_yet_stays_open() -> None:
    assert ending(turns(0.9, 0.1, 60))[0] == "kept"
    assert ending(turns(0.1, 0.9, 60)) == ("retired", "It lowers outcome, beyond chance at 0.0125 at every look.")
    assert ending([])[0] == "open" and ending(turns(0.6, 0.5, 8))[0] == "open"


def test_a_graded_metric_shows_soon_that_an_effect_is_too_small() -> None:
    chance = random.Random(3)
    units = [(arm, 0.5 + 0.05 * chance.random()) for arm, _ in turns(1.0, 1.0, 800)]
    assert ending(units[:200])[0] == "open"
    said = ending(units)
    assert said[0] == "inconclusive" and said[1].startswith("Too small to matter: its effect lies between")


def test_the_limit_keeps_unless_one_planned_look_says_too_small() -> None:
    chance = random.Random(3)
    same = [(arm, float(chance.random() < 0.5)) for arm, _ in turns(1.0, 1.0, 2000)]
    assert ending(same[:500], most=500) == ("kept", ending(same[:500], most=500)[1])
    assert "decided nothing against it" in ending(same[:500], most=500)[1]
    worse = [(arm, value * (arm == "withheld" or chance.random() < 0.8)) for arm, value in same]
    assert ending(worse, most=2000)[0] in ("retired", "inconclusive")


def test_the_planned_look_is_that_of_a_normal_sum() -> None:
    payoffs = Payoffs(2.0)
    assert payoffs.upper(0.05) == 1.0
    for number in range(400):
        payoffs.add(1.0 if number % 2 else -1.0)
    assert payoffs.upper(0.025) == pytest.approx(1.96 / 20.0, rel=0.01)
    assert payoffs.upper(0.5) == pytest.approx(0.0, abs=1e-9)


def test_where_units_without_a_score_differ_between_the_arms_only_harm_is_decided() -> None:
    lost: list[tuple[Arm, float | None]] = [("withheld", None)] * 60
    chance = random.Random(3)
    small = [(arm, 0.5 + 0.05 * chance.random()) for arm, _ in turns(1.0, 1.0, 400)]
    assert ending([*lost, *small])[0] == "open"
    assert ending([*lost, *small], most=400)[0] == "kept"
    assert ending([*lost, *turns(0.9, 0.1, 60)])[0] == "open"
    assert ending([*lost, *turns(0.1, 0.9, 60)])[0] == "retired"


@given(st.lists(st.floats(0.0, 1.0), min_size=8, max_size=8), st.sampled_from([0.4, 0.9]))
@settings(max_examples=15, deadline=None)
def test_over_all_coins_a_rule_that_does_nothing_is_retired_as_harmful_with_at_most_half_the_level(
    values: list[float], level: float
) -> None:
    harmed = 0
    for arms in product(("shown", "withheld"), repeat=8):
        state = AnytimeState(recheck_policy(0.5, level, 0.0, MOST))
        for place, (arm, value) in enumerate(zip(arms, values, strict=True)):
            state.add(Unit(str(place), arm, value))  # type: ignore[arg-type]
            if state.e_harm >= 2.0 / level and judge(state, level, 0.0, MOST, "outcome")[0] == "retired":
                harmed += 1
                break
    assert harmed / 256 <= level / 2.0


def retired(life: Life, level: float, lives: int, seed: int) -> int:
    uniform = random.Random(seed).random
    return sum(recheck_once(life, uniform, level)[0] != "kept" for _ in range(lives))


def test_a_rule_that_just_still_matters_is_retired_no_more_often_than_its_level() -> None:
    """At the border of what is kept, where errors are most frequent; seeded."""
    level, lives = 0.2, 100
    wrong = retired(Life(0.4, 0.2, least=0.2, most=100), level, lives, seed=1)
    assert binomial_tail(wrong, lives, level) > 0.01 and wrong < lives * level


def test_a_rule_that_helps_as_before_is_kept_and_one_that_lost_what_matters_is_retired() -> None:
    assert retired(Life(0.45, 0.3, most=600), LEVEL, 30, seed=2) == 0
    assert retired(Life(0.4, 0.0, least=0.2, most=500), LEVEL, 15, seed=3) >= 13
    assert retired(Life(0.6, -0.3, most=600), LEVEL, 15, seed=4) == 15


def test_a_watch_opens_for_a_rule_that_decayed_and_seldom_for_one_that_did_not() -> None:
    uniform, lives = random.Random(5).random, 30
    harmful = [watch_once(Life(0.6, -0.25, 0.3, most=400), 0.25, uniform) for _ in range(lives)]
    assert all(harmful) and sorted(filter(None, harmful))[lives // 2] < 150
    for effect in (0.25, 0.125):  # half of what it was promoted with is the border
        opened = sum(watch_once(Life(0.45, effect, 0.3, most=150), 0.25, uniform) is not None for _ in range(lives))
        assert binomial_tail(opened, lives, OPENING) > 0.01 and opened <= lives * OPENING


def test_a_watch_says_why_and_knows_when_it_does_not_know_what_the_promotion_had() -> None:
    state = AnytimeState(watch_policy(0.3, LEAST, MOST))
    assert decayed(state, 0.3, LEAST, "outcome")[0] == ""
    chance = random.Random(1)
    for place in range(200):
        arm: Arm = "withheld" if chance.random() < 0.3 else "shown"
        state.add(Unit(str(place), arm, 0.5))
    why, found = decayed(state, 0.3, LEAST, "outcome")
    assert "below 0.15; it was +0.300 when it was promoted" in why and found.interval[1] < 0.15
    assert "not known from its promotion" in decayed(state, 0.0, 0.15, "outcome")[0]


@pytest.mark.parametrize(
    ("hit", "seen", "baseline", "ending_", "said"),
    [
        (0, 4, (3, 20), "open", "4 of 5 fresh sessions"),
        (5, 5, (0, 0), "kept", "nothing is known from before"),
        (1, 5, (3, 20), "kept", "not worse than without the rule"),
        (5, 5, (3, 20), "inconclusive", "worse than without the rule"),
        (5, 5, (18, 20), "kept", "very weak"),
        (5, 5, (9, 4), "kept", "nothing is known from before"),
    ],
)
def test_fresh_sessions_without_a_control_keep_unless_they_are_worse_than_before_the_rule(
    hit: int, seen: int, baseline: tuple[int, int], ending_: str, said: str
) -> None:
    found = judge_window(hit, seen, 5, baseline, LEVEL)
    assert found.ending == ending_ and said in found.reason
    assert ending_ == "open" or "no control" in found.reason


def test_the_chance_of_so_many_alerts_is_the_beta_binomial_tail() -> None:
    betabinom = pytest.importorskip("scipy.stats").betabinom
    found = judge_window(4, 5, 5, (3, 20), LEVEL).figures["chance_of_so_many_alerts"]
    assert found == pytest.approx(betabinom(5, 3.5, 17.5).sf(3))


def test_the_levels_of_a_life_add_up_and_never_grow() -> None:
    levels = [Comparison("", "k", "d", 0.5, number).level for number in range(1, 500)]
    assert levels[0] == LIFE / 2.0 and levels == sorted(levels, reverse=True) and sum(levels) < LIFE
