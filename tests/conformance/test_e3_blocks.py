"""E3 where tasks come back: of every two sessions of a task one sees the rule, across processes and restarts."""

from __future__ import annotations

import json
import random
from collections import Counter, defaultdict
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ruleproof.core.evidence.assignment import place_in_task, unit_in_task
from ruleproof.core.rule import Rule
from ruleproof.harness import Harness
from ruleproof.testing import FixedSystem

Open = Callable[..., Harness]
ANYTIME: dict[str, Any] = {"rule_trial_policy": "anytime", "rule_holdout": 0.5, "durability": "os"}


def with_history(harness: Harness, tasks: int, sessions: int = 40) -> Harness:
    for number in range(sessions):
        harness.report(f"before-{number}", {"outcome": 0.9}, task_id=f"t{number % tasks}")
    return harness


@pytest.fixture
def blocked(open_harness: Open) -> tuple[Harness, Rule]:
    harness = with_history(open_harness(**ANYTIME, system=FixedSystem()), tasks=4)
    rule = harness.rules.add("One.", metric="outcome")
    assert rule.trial is not None and rule.trial.blocked
    return harness, rule


def arms_by_task(harness: Harness, rule: Rule) -> dict[str, list[str]]:
    found = defaultdict(list)
    for told in harness.workspace.refresh_trials().told(rule.id):
        found[str(told.task_id)].append(told.arm)
    return dict(found)


def run(harness: Harness, session: str, task: str, value: float = 0.9) -> None:
    with harness.turn(session, task_id=task):
        harness.system_context()
    harness.report(session, {"outcome": value}, task_id=task)


@pytest.mark.parametrize(
    ("tasks", "holdout", "is_blocked"), [(4, 0.5, True), (40, 0.5, False), (4, 0.4, False)], ids=str
)
def test_e3_whether_a_trial_runs_in_blocks_is_decided_from_the_history_and_recorded_when_it_starts(
    open_harness: Open, root: Path, tasks: int, holdout: float, is_blocked: bool
) -> None:
    harness = with_history(open_harness(**{**ANYTIME, "rule_holdout": holdout}), tasks)
    rule = harness.rules.add("One.", metric="outcome")
    assert rule.trial is not None and rule.trial.blocked is is_blocked
    (record,) = [json.loads(line)["trial"] for line in (root / "rules.jsonl").read_bytes().splitlines()]
    assert record.get("blocked", False) is is_blocked


def test_e3_without_twenty_sessions_of_history_nobody_knows_whether_tasks_come_back(open_harness: Open) -> None:
    harness = with_history(open_harness(**ANYTIME), tasks=2, sessions=19)
    trial = harness.rules.add("One.", metric="outcome").trial
    assert trial is not None and not trial.blocked


def test_e3_of_every_two_sessions_of_a_task_one_sees_the_rule(blocked: tuple[Harness, Rule]) -> None:
    harness, rule = blocked
    for number in range(48):
        run(harness, f"s{number}", f"t{number % 4}")
    for arms in arms_by_task(harness, rule).values():
        assert len(arms) == 12
        assert all(set(arms[at : at + 2]) == {"shown", "withheld"} for at in range(0, 12, 2))
    first = {arms[at] for arms in arms_by_task(harness, rule).values() for at in range(0, 12, 2)}
    assert first == {"shown", "withheld"}, "which of a pair comes first is a coin"


def test_e3_the_place_of_a_session_is_settled_once_and_survives_turns_and_a_restart(
    blocked: tuple[Harness, Rule], open_harness: Open
) -> None:
    harness, rule = blocked
    before = harness.context(session_id="a", task_id="t0")
    other = harness.context(session_id="b", task_id="t0")
    assert (rule.id in before.rules) is not (rule.id in other.rules)
    for _ in range(3):
        with harness.turn("a", task_id="t0"):
            assert harness.context().rules == before.rules
    again = open_harness(**ANYTIME)
    assert again.context(session_id="a", task_id="t0").rules == before.rules
    harness.report("b", {"outcome": 0.9}, task_id="t0")
    harness.report("a", {"outcome": 0.9}, task_id="t0")
    units = [told.unit for told in again.workspace.refresh_trials().told(rule.id)]
    assert units == [unit_in_task("t0", 1), unit_in_task("t0", 0)]


def test_e3_processes_that_begin_turns_side_by_side_take_different_places(
    blocked: tuple[Harness, Rule], open_harness: Open
) -> None:
    harness, _ = blocked
    other = open_harness(**ANYTIME)
    turns = [one.turn(f"s{number}", task_id="t0") for number, one in enumerate([harness, other, harness, other])]
    for turn in turns:
        turn.__enter__()
    for turn in reversed(turns):
        turn.__exit__(None, None, None)
    places = [harness.workspace.refresh_trials().unit(f"s{number}") for number in range(4)]
    assert places == [unit_in_task("t0", number) for number in range(4)]


def test_e3_two_sessions_in_one_place_count_once_and_the_second_is_named(
    blocked: tuple[Harness, Rule], open_harness: Open
) -> None:
    harness, rule = blocked
    other = open_harness(**ANYTIME)
    made = harness.context(session_id="a", task_id="t0"), other.context(session_id="b", task_id="t0")
    assert made[0].rules == made[1].rules, "neither could know of the other"
    harness.report("a", {"outcome": 0.9}, task_id="t0")
    other.report("b", {"outcome": 0.1}, task_id="t0")
    told = harness.workspace.refresh_trials().told(rule.id)
    assert [(one.session_id, one.value) for one in told] == [("a", 0.9)]
    assert harness.rules.trial(rule.id).uncounted["b"] == "place taken by another session"


def test_e3_a_session_whose_task_nobody_names_has_a_coin_of_its_own(blocked: tuple[Harness, Rule]) -> None:
    harness, rule = blocked
    for number in range(30):
        harness.system_context(session_id=f"s{number}")
        harness.report(f"s{number}", {"outcome": 0.9})
    told = harness.workspace.refresh_trials().told(rule.id)
    assert [one.unit for one in told] == [f"s{number}" for number in range(30)]
    assert len(Counter(one.arm for one in told)) == 2
    assert rule.trial is not None and all(rule.trial.block(one.unit) is None for one in told)


def test_e3_the_context_of_a_task_gives_its_place_to_the_session_that_works_on_it(
    blocked: tuple[Harness, Rule],
) -> None:
    harness, rule = blocked
    first = harness.context(task_id="t0")
    assert harness.context(task_id="t0").rules == first.rules
    harness.report("a", {"outcome": 0.9}, task_id="t0")
    second = harness.context(task_id="t0")
    harness.report("b", {"outcome": 0.9}, task_id="t0")
    assert (rule.id in first.rules) is not (rule.id in second.rules)
    told = harness.workspace.refresh_trials().told(rule.id)
    assert [(one.session_id, one.unit) for one in told] == [("a", unit_in_task("t0", 0)), ("b", unit_in_task("t0", 1))]


def test_e3_a_pair_is_bet_on_when_its_second_half_arrives(blocked: tuple[Harness, Rule]) -> None:
    harness, rule = blocked
    chance = random.Random(7)
    for number in range(40):
        made = harness.context(session_id=f"s{number}", task_id=f"t{number % 4}")
        passed = chance.random() < (0.9 if rule.id in made.rules else 0.2)
        harness.report(f"s{number}", {"outcome": float(passed)}, task_id=f"t{number % 4}")
        if number == 3:
            look = harness.evidence.anytime.look(rule, harness.rules.trial(rule.id))
            assert look.shown.counted + look.withheld.counted == 4 and look.e_help == 1.0, "four halves are no pair"
    look = harness.evidence.anytime.look(rule, harness.rules.trial(rule.id))
    assert look.e_help > 20.0 and look.shown.counted == look.withheld.counted == 20


@pytest.mark.parametrize("unit", ["a", "a\t", "a\tx", "\t-1", "a\t1.0", "a\t²", "a\t" + "9" * 10])
def test_a_unit_that_is_no_place_is_read_as_none(unit: str) -> None:
    assert place_in_task(unit) is None


def test_a_place_is_read_back() -> None:
    assert place_in_task(unit_in_task("flight\t7", 12)) == ("flight\t7", 12)
