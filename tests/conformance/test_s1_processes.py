"""S1, in one machine's processes: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import multiprocessing
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest

from ruleproof.edge import fs
from ruleproof.errors import CapReached, Refused, RuleproofError
from ruleproof.harness import Harness

Log = Callable[[str], list[dict[str, Any]]]
SPAWN = multiprocessing.get_context("spawn")


def add_many(root: Path, worker: int, count: int, same: bool, cap: int, together: Any, out: Any) -> None:
    harness = Harness.create(harness_root=root, max_active_rules=cap, durability="os")
    got = []
    together.wait(60)  # without it the first worker is done before the last has started
    for number in range(count):
        try:
            got.append(harness.rules.add(f"Rule {number}" if same else f"Rule {worker} {number}").id)
        except CapReached:
            got.append("full")
    out.put((worker, got))


def in_processes(root: Path, workers: int, count: int, same: bool, cap: int = 0) -> list[str]:
    out, together = SPAWN.Queue(), SPAWN.Barrier(workers)
    arguments = [(root, worker, count, same, cap, together, out) for worker in range(workers)]
    running = [SPAWN.Process(target=add_many, args=each) for each in arguments]
    for process in running:
        process.start()
    got = [rule_id for _ in running for rule_id in out.get(timeout=120)[1]]
    for process in running:
        process.join()
        assert process.exitcode == 0
    return got


def test_s1_two_processes_with_500_rules_each_make_1000_records(root: Path, log: Log) -> None:
    got = in_processes(root, 2, 500, same=False)
    assert len(set(got)) == 1000
    assert {record["id"] for record in log("rules.jsonl")} == set(got)


def test_s1_the_same_proposal_at_the_same_moment_is_one_rule(root: Path, log: Log) -> None:
    got = in_processes(root, 3, 40, same=True)
    assert len(log("rules.jsonl")) == 40
    assert len(got) == 120 and len(set(got)) == 40


def test_s1_the_cap_holds_between_processes(root: Path, log: Log) -> None:
    got = in_processes(root, 3, 30, same=False, cap=25)
    assert len(log("rules.jsonl")) == 25
    assert len([rule_id for rule_id in got if rule_id != "full"]) == 25


def test_s1_fifty_calls_at_once_all_write(harness: Harness, log: Log) -> None:
    with ThreadPoolExecutor(50) as pool:
        added = list(pool.map(lambda n: harness.rules.add(f"Rule {n}.").id, range(50)))
    assert {record["id"] for record in log("rules.jsonl")} == set(added)
    assert len(set(added)) == 50


def test_s1_a_stale_view_cannot_bring_a_retired_rule_back(open_harness: Callable[..., Harness], log: Log) -> None:
    slow, quick = open_harness(), open_harness()
    rule = slow.rules.add("One.", metric="agent_reliability")
    assert quick.rules.candidates()  # both have seen it
    quick.rules.retire(rule.id, reason="wrong")
    try:
        slow.workspace.refresh_trials()
        slow.report("s1", {"agent_reliability": 0.9})
        slow.rules.retire(rule.id)
    except RuleproofError:
        pass
    assert open_harness().rules.get(rule.id).status == "retired"
    assert [record["status"] for record in log("rules.jsonl")] == ["candidate", "retired"]


def observe_many(root: Path, worker: int, count: int, together: Any, done: Any) -> None:
    harness = Harness.create(harness_root=root, durability="os", rule_trial_min_sessions=10_000)
    together.wait(60)
    for number in range(count):
        session = f"w{worker}-{number}"
        harness.system_context(session_id=session)
        with harness.turn(session):
            pass
        harness.report(session, {"agent_reliability": 0.9})
    done.put(worker)


def test_s1_no_observation_is_lost_between_processes(open_harness: Callable[..., Harness], root: Path) -> None:
    harness = open_harness(rule_trial_min_sessions=10_000)
    rule = harness.rules.add("One.", metric="agent_reliability")
    done, together = SPAWN.Queue(), SPAWN.Barrier(4)
    running = [SPAWN.Process(target=observe_many, args=(root, worker, 50, together, done)) for worker in range(4)]
    for process in running:
        process.start()
    for process in running:
        done.get(timeout=120)
        process.join()
    assert len(harness.rules.trial(rule.id).observed) == 200


def slow_first_append(entered: threading.Event, go_on: threading.Event) -> Callable[[fs.Event], None]:
    """Stops the first writer between what it decided and what it writes."""
    stopped = [False]

    def listen(event: fs.Event) -> None:
        if event[0] == "append.begin" and not stopped[0]:
            stopped[0] = True
            entered.set()
            assert go_on.wait(20)

    return listen


@pytest.mark.parametrize("second", ["same text", "cap", "retire"])
def test_s1_a_slow_writer_and_a_quick_one_lose_no_update(open_harness: Callable[..., Harness], second: str) -> None:
    """One has decided and not yet written; another decides about the same thing meanwhile. It has to wait."""
    slow, quick = open_harness(max_active_rules=2), open_harness(max_active_rules=2)
    rule = slow.rules.add("The first.")
    entered, go_on = threading.Event(), threading.Event()
    done: list[object] = []

    def other() -> None:
        try:
            if second == "retire":
                done.append(quick.rules.pause(rule.id))
            else:
                done.append(quick.rules.add("The same." if second == "same text" else "Another."))
        except RuleproofError as refused:
            done.append(refused)

    first = (lambda: slow.rules.retire(rule.id)) if second == "retire" else (lambda: slow.rules.add("The same."))
    with fs.observe(slow_first_append(entered, go_on)), ThreadPoolExecutor(2) as pool:
        writing = pool.submit(first)
        assert entered.wait(20)
        waiting = pool.submit(other)
        time.sleep(0.2)
        assert not done  # it waits for the lock
        go_on.set()
        made, _ = writing.result(20), waiting.result(20)
    (outcome,) = done
    if second == "same text":
        assert outcome == made
    else:
        assert isinstance(outcome, CapReached if second == "cap" else Refused)
    again = open_harness()
    assert len(again.rules.all()) == (1 if second == "retire" else 2)
