"""Simulated trials: seeds, parts that add up, and the effect that is put in."""

from __future__ import annotations

import random

import pytest

from ruleproof.core.evidence.anytime import AnytimePolicy
from ruleproof.core.simulate import (
    FamilySpec,
    FixedSpec,
    ForwardSpec,
    Outcomes,
    PairsSpec,
    Tally,
    base_rate,
    shifted,
    simulate_family,
    simulate_fixed,
    simulate_forward,
    simulate_pairs,
)
from ruleproof.errors import Refused

TASKS = Outcomes(((0.0, 0.0, 1.0, 0.0), (1.0, 1.0, 1.0, 0.0), (0.0, 1.0, 0.0, 1.0)))


def test_the_same_seed_gives_the_same_tally_and_parts_add_up():
    spec = ForwardSpec(TASKS, 0.3, horizon=80, draw="task")
    one = simulate_forward(spec, 6, random.Random(1).random)
    assert one == simulate_forward(spec, 6, random.Random(1).random)
    chance = random.Random(1).random
    assert simulate_forward(spec, 2, chance) + simulate_forward(spec, 4, chance) == one


@pytest.mark.parametrize("effect", [-0.25, 0.0, 0.3])
def test_the_effect_that_is_put_in_moves_the_mean_by_itself(effect):
    chance = random.Random(2)
    values = [shifted(float(chance.random() < 0.42), effect, 0.42, chance.random) for _ in range(20_000)]
    assert sum(values) / 20_000 == pytest.approx(0.42 + effect, abs=0.015)


def test_progress_is_told_after_every_repeat():
    told: list[int] = []
    simulate_fixed(FixedSpec(TASKS, 0.0), 5, random.Random(1).random, told.append)
    simulate_forward(ForwardSpec(TASKS, 0.0, horizon=3), 2, random.Random(1).random, told.append)
    assert told == [1, 2, 3, 4, 5, 1, 2]


def test_a_fixed_gate_without_history_promotes_nearly_everything():
    tally = simulate_fixed(FixedSpec(base_rate(0.42), 0.0, baseline=0), 2000, random.Random(3).random)
    assert tally.promoted / 2000 == pytest.approx(1 - 0.58**5, abs=0.02)
    assert tally.promoted + tally.retired == 2000


def test_blocks_and_tasks_are_drawn_as_their_names_say():
    for draw in ("session", "task", "blocked"):
        tally = simulate_forward(ForwardSpec(TASKS, 0.4, horizon=200, draw=draw), 20, random.Random(4).random)
        assert tally.promoted >= 17


def test_paired_replays_of_a_clear_gain_are_promoted_early():
    tally = simulate_pairs(PairsSpec(((0.0, 1.0),) * 4 + ((1.0, 1.0),) * 2, horizon=40), 20, random.Random(5).random)
    assert tally.promoted == 20
    assert (tally.quantile(0.5) or 99) < 20


def test_a_family_counts_useless_and_useful_promotions_apart():
    spec = FamilySpec(base_rate(0.3), (0.0, 0.6, 0.0), horizon=300)
    tally = simulate_family(spec, 4, random.Random(6).random)
    assert (tally.repeats, tally.useful) == (4, 4)
    assert tally.useless == 0
    parts = simulate_family(spec, 1, random.Random(7).random) + simulate_family(spec, 1, random.Random(8).random)
    assert parts.repeats == 2


def test_quantiles_are_over_all_trials_not_only_over_the_decided_ones():
    tally = Tally(4, 2, 0, (30, 10))
    assert [tally.quantile(chance) for chance in (0.0, 0.25, 0.5)] == [10, 30, None]
    assert tally.share(2)[0] == 0.5


def test_a_harmful_rule_is_retired_in_simulation():
    tally = simulate_forward(
        ForwardSpec(base_rate(0.6), -0.5, 200, policy=AnytimePolicy()), 10, random.Random(9).random
    )
    assert (tally.promoted, tally.retired) == (0, 10)


@pytest.mark.parametrize("tasks", [(), ((),), ((2.0,),), ((float("nan"),),)])
def test_outcomes_that_cannot_be_drawn_are_refused(tasks):
    with pytest.raises(Refused):
        Outcomes(tasks)
