"""E4: measured error rates on recorded outcomes; a harmful rule is retired. Small here, large in the benchmark."""

from __future__ import annotations

import json
import random
from pathlib import Path

import pytest

from ruleproof.core.evidence.exact import binomial_tail
from ruleproof.core.simulate import (
    FamilySpec,
    FixedSpec,
    ForwardSpec,
    Outcomes,
    simulate_family,
    simulate_fixed,
    simulate_forward,
)


@pytest.fixture(scope="module")
def recorded(data_dir: Path) -> Outcomes:
    tasks: dict[int, list[float]] = {}
    for run in json.loads((data_dir / "tau_bench" / "gpt-4o-airline.json").read_text(encoding="utf-8")):
        tasks.setdefault(run["task_id"], []).append(float(run["reward"]))
    return Outcomes(tuple(tuple(tasks[task]) for task in sorted(tasks)))


@pytest.mark.parametrize("draw", ["session", "task", "blocked"])
def test_e4_a_useless_rule_is_promoted_at_most_five_times_in_a_hundred_with_a_look_after_every_session(recorded, draw):
    tally = simulate_forward(ForwardSpec(recorded, 0.0, 500, draw), 200, random.Random(11).random)
    assert binomial_tail(tally.promoted, 200, 0.05) > 0.01
    assert binomial_tail(tally.retired, 200, 0.05) > 0.01


def test_e4_the_fixed_gate_promotes_a_useless_rule_far_more_often(recorded):
    tally = simulate_fixed(FixedSpec(recorded, 0.0, baseline=20), 500, random.Random(12).random)
    assert 0.35 < tally.promoted / 500 < 0.60


@pytest.mark.parametrize("draw", ["session", "task"])
def test_e4_a_harmful_rule_is_retired_and_hardly_ever_promoted(recorded, draw):
    tally = simulate_forward(ForwardSpec(recorded, -0.25, 500, draw), 60, random.Random(13).random)
    assert tally.retired >= 57
    assert tally.promoted == 0


def test_e4_pairing_by_task_finds_help_in_more_trials(recorded):
    found = {
        draw: simulate_forward(ForwardSpec(recorded, 0.15, 400, draw), 100, random.Random(14).random).promoted
        for draw in ("session", "task", "blocked")
    }
    assert found["session"] < found["task"] <= found["blocked"] + 5


def test_e4_among_twenty_useless_rules_few_families_promote_any(recorded):
    tally = simulate_family(FamilySpec(recorded, (0.0,) * 20, 250), 25, random.Random(15).random)
    assert binomial_tail(tally.any_false, 25, 0.05) > 0.01
