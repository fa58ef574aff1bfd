"""E3: withholding by a keyed coin, a test valid at every look, verdicts and "not yet", one error budget."""

from __future__ import annotations

from itertools import product

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleproof.core.evidence.anytime import AnytimePolicy, AnytimeState, Unit, decide
from ruleproof.core.evidence.assignment import assigned, assigned_in_block
from ruleproof.core.evidence.budget import level, share

POLICY = AnytimePolicy(most_units=10_000)


def test_e3_assignment_is_recomputed_from_key_digest_and_unit_alone():
    first = [assigned(b"key", "digest", f"task-{unit}", 0.5) for unit in range(50)]
    assert [assigned(b"key", "digest", f"task-{unit}", 0.5) for unit in reversed(range(50))] == first[::-1]
    assert set(first) == {"shown", "withheld"}


@given(st.lists(st.floats(0.0, 1.0), min_size=8, max_size=8), st.sampled_from([0.1, 0.4]))
@settings(max_examples=15, deadline=None)
def test_e3_a_useless_rule_is_promoted_at_any_look_with_at_most_its_level_graded_metrics_included(values, bar):
    """Every one of the 2^8 coin sequences, a verdict after every unit."""
    promoted = 0
    for arms in product(("shown", "withheld"), repeat=8):
        state = AnytimeState(POLICY)
        for place, (arm, value) in enumerate(zip(arms, values, strict=True)):
            state.add(Unit(str(place), arm, value, f"t{place % 3}"))
            if state.e_help >= 1 / bar and state.verdict(bar).outcome == "promote":
                promoted += 1
                break
    assert promoted / 256 <= bar


def test_e3_repeated_tasks_are_paired_and_blocks_make_each_task_its_own_control():
    made, seen = [], {}
    for place in range(120):
        task = f"t{place % 6}"
        arm, block = assigned_in_block(b"key", "digest", task, seen.get(task, 0))
        seen[task] = seen.get(task, 0) + 1
        easy = place % 6 < 3
        made.append(Unit(str(place), arm, 0.9 if easy else 0.2 + 0.1 * (arm == "shown"), task, block))
    verdict = decide(made, POLICY, 0.05)
    assert verdict.outcome == "promote"
    assert verdict.effect == pytest.approx(0.05)


def test_e3_all_four_outcomes_exist_and_not_yet_says_how_many_more():
    def run(shown: float, withheld: float, count: int, policy: AnytimePolicy = POLICY):
        arms = [assigned(b"key", "d", str(unit), 0.5) for unit in range(count)]
        return decide(
            [Unit(str(n), arm, shown if arm == "shown" else withheld) for n, arm in enumerate(arms)], policy, 0.05
        )

    assert run(0.9, 0.1, 40).outcome == "promote"
    assert run(0.1, 0.9, 40).outcome == "retire"
    assert run(0.5, 0.5, 40, AnytimePolicy(most_units=40)).outcome == "inconclusive"
    waiting = run(0.55, 0.45, 12)
    assert waiting.outcome == "not_yet"
    assert waiting.units_needed is not None and f"about {waiting.units_needed} more" in waiting.reasons[0]


def test_e3_one_error_budget_is_shared_by_all_rules_ever_tried():
    assert sum(0.05 * share(number) for number in range(1, 5000)) < 0.05
    assert level(1, 0) > level(2, 0) > level(50, 0) > 0.0
    assert level(7, 2) == pytest.approx(3 * level(7, 0))
