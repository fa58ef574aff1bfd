"""`kill -9` before every step that touches a file: no half file, no lost acknowledged fact, no lock that stays."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

pytest.importorskip("dulwich")
if not hasattr(os, "fork"):
    pytest.skip("forks its victims", allow_module_level=True)

from tests.edge.machines import Machine, in_pool

from ruleproof.codec.facts import write_facts
from ruleproof.codec.shards import entry_of, shards
from ruleproof.core.approval import CurationFact
from ruleproof.edge import fs
from ruleproof.edge.approvals import ApprovalStore
from ruleproof.edge.pool.remote import Remote
from ruleproof.edge.rulefiles import RuleFiles

STEPS = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.truncate", "fcntl.flock"}
MAX_VICTIMS = 14


def killed_before(step: int, action: Callable[[], None]) -> int | None:
    """Run `action` in a child that dies before its step `step`; how many steps it took, or None where it died."""
    reader, writer = os.pipe()
    child = os.fork()
    if not child:
        count = 0

        def hook(event: str, arguments: tuple[object, ...]) -> None:
            nonlocal count
            writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & (os.O_WRONLY | os.O_RDWR)
            if event in STEPS or writes:
                count += 1
                if count > step:
                    os.kill(os.getpid(), signal.SIGKILL)

        sys.addaudithook(hook)
        try:
            action()
            os.write(writer, str(count).encode())
        finally:
            os._exit(0)
    os.close(writer)
    steps = os.read(reader, 20)
    os.close(reader)
    assert os.WIFSIGNALED(os.waitpid(child, 0)[1]) is not bool(steps)
    return int(steps) if steps else None


def every_step(prepare: Callable[[int], Callable[[], None]], check: Callable[[int, bool], None]) -> int:
    """Kill a fresh action before each of its steps, or before `MAX_VICTIMS` of them; returns how many steps it has."""
    whole = 10**9
    steps = killed_before(whole, prepare(whole))
    assert steps is not None
    check(whole, True)
    for step in range(0, steps, max(1, steps // MAX_VICTIMS)):
        assert killed_before(step, prepare(step)) is None
        check(step, False)
    return steps


def void(value: object) -> None:
    """An action returns nothing."""


def test_a_killed_propose_leaves_a_whole_file_or_none_and_the_next_goes_on(tmp_path: Path) -> None:
    def machine(step: int) -> Machine:
        return Machine(tmp_path / str(step), "ha", Remote(str(tmp_path / "none.git")))

    def check(step: int, done: bool) -> None:
        rules, problems = machine(step).files.read_all("p-1")
        assert problems == [] and len(rules) == 1 if done else len(rules) <= 1
        assert all(rule.intact and rule.text == "Check the archive first." for rule in rules)
        made = machine(step).propose("Then restore it slowly.")
        assert made.place.number == len(rules) + 1

    assert every_step(lambda step: lambda: void(machine(step).propose("Check the archive first.")), check) >= 5


def test_a_killed_approve_loses_no_acknowledged_fact_and_no_earlier_one(tmp_path: Path) -> None:
    first = CurationFact("ha/001", "1" * 64, "core", "t")
    second = CurationFact("ha/002", "2" * 64, "core", "t")

    def store(step: int) -> ApprovalStore:
        fs.mkdir(tmp_path / str(step))
        return ApprovalStore(tmp_path / str(step))

    def prepare(step: int) -> Callable[[], None]:
        store(step).commit("p-1", lambda ledger: first)
        return lambda: void(store(step).commit("p-1", lambda ledger: second))

    def check(step: int, done: bool) -> None:
        found = store(step).read("p-1")
        assert found.facts[0] == first and found.facts in ((first,), (first, second))
        assert not done or found.facts == (first, second)
        store(step).commit("p-1", lambda ledger: second)
        assert store(step).read("p-1").approvals.approved() == ("ha/001", "ha/002")

    assert every_step(prepare, check) >= 2


def test_a_killed_sync_is_finished_by_the_next_one_and_nothing_is_lost(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("ruleproof.edge.pool.remote.STALE_LOCK_S", 0.05)
    facts = write_facts(
        [CurationFact("hb/001", "1" * 64, "core", "t"), CurationFact("ha/001", "2" * 64, "revoked", "t")]
    )

    def team(step: int) -> tuple[Machine, Machine]:
        remote = Remote(str(tmp_path / str(step) / "team.git"))
        return Machine(tmp_path / str(step) / "a", "ha", remote), Machine(
            tmp_path / str(step) / "b", "hb", remote, facts
        )

    def prepare(step: int) -> Callable[[], None]:
        a, b = team(step)
        a.remote.create()
        a.propose("Rule one of A.")
        a.sync()
        b.propose("Rule one of B.")
        b.sync()
        a.propose("Rule two of A.")
        a.sync()
        b.propose("Rule two of B.")
        return lambda: void(b.sync())

    def check(step: int, done: bool) -> None:
        a, b = team(step)
        rules, problems = b.files.read_all("p-1")
        assert problems == [] and {"Rule one of A.", "Rule one of B.", "Rule two of B."} <= {
            rule.text for rule in rules
        }
        report = b.sync()
        assert (report.mode, report.problems) == ("synced", ())
        assert a.sync().problems == ()
        assert a.texts() == b.texts() == ["Rule one of A.", "Rule one of B.", "Rule two of A.", "Rule two of B."]
        held = in_pool(b.remote)
        assert held["edits/p-1/hb/curation.jsonl"] == facts
        everything = RuleFiles(a.home / "pool").read_all("p-1")[0]
        assert {path: data for path, data in held.items() if path.startswith("index/")} == shards(
            map(entry_of, everything)
        )
        assert b.pool.verify() == ()
        assert not list((tmp_path / str(step) / "team.git").rglob("*.lock"))
        assert not list((tmp_path / str(step) / "b" / "state" / "git").rglob("*.lock"))

    assert every_step(prepare, check) >= 20
