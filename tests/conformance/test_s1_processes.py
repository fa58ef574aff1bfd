"""S1, in one machine's processes: nothing acknowledged is lost, nothing is doubled."""

from __future__ import annotations

import multiprocessing
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from ruleproof.errors import CapReached, RuleproofError
from ruleproof.harness import Harness

Log = Callable[[str], list[dict[str, Any]]]
SPAWN = multiprocessing.get_context("spawn")


def add_many(root: Path, worker: int, count: int, same: bool, cap: int, out: Any) -> None:
    harness = Harness.create(harness_root=root, max_active_rules=cap, durability="os")
    got = []
    for number in range(count):
        try:
            got.append(harness.rules.add(f"Rule {number}" if same else f"Rule {worker} {number}").id)
        except CapReached:
            got.append("full")
    out.put((worker, got))


def in_processes(root: Path, workers: int, count: int, same: bool, cap: int = 0) -> list[str]:
    out = SPAWN.Queue()
    running = [SPAWN.Process(target=add_many, args=(root, w, count, same, cap, out)) for w in range(workers)]
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


def observe_many(root: Path, worker: int, count: int, done: Any) -> None:
    harness = Harness.create(harness_root=root, durability="os", rule_trial_min_sessions=10_000)
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
    done = SPAWN.Queue()
    running = [SPAWN.Process(target=observe_many, args=(root, worker, 50, done)) for worker in range(4)]
    for process in running:
        process.start()
    for process in running:
        done.get(timeout=120)
        process.join()
    assert len(harness.rules.trial(rule.id).observed) == 200
