"""S5: store and journal cannot disagree for long; doctor names what does, repair mends it and loses nothing."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.test_e6_after_promotion import WATCHED, live, promoted, running

from ruleproof.core.problems import Problem
from ruleproof.edge import fs
from ruleproof.edge.housekeeping import Housekeeping
from ruleproof.engine.doctor import examine
from ruleproof.engine.repair import repair
from ruleproof.harness import Harness

Open = Callable[..., Harness]
Log = Callable[[str], list[dict[str, Any]]]


def doctor(harness: Harness) -> tuple[Problem, ...]:
    folder = Housekeeping(harness.config.root)
    return examine(harness.workspace, composer=harness.composer, folder=folder, cap=harness.config.max_active_rules)


def mend(harness: Harness) -> tuple[str, ...]:
    return repair(harness.workspace, composer=harness.composer, folder=Housekeeping(harness.config.root))


class Killed(BaseException):
    pass


def die_at(step: str, name: str) -> Any:
    def watch(event: fs.Event) -> None:
        if event[0] == step and event[1].endswith(name):
            raise Killed

    return fs.observe(watch)


def test_s5_every_rule_record_carries_the_id_of_its_event(harness: Harness, log: Log) -> None:
    rule = harness.rules.add("One.")
    harness.rules.retire(rule.id, reason="wrong")
    assert [record["event"] for record in log("rules.jsonl")] == [event["event"] for event in log("journal.jsonl")]
    assert doctor(harness) == ()


def test_s5_the_next_writer_completes_the_journal_of_one_that_died(open_harness: Open, log: Log) -> None:
    first = open_harness()
    rule = first.rules.add("One.")
    with pytest.raises(Killed), die_at("append.begin", "journal.jsonl"):
        first.rules.retire(rule.id, reason="wrong")
    assert log("rules.jsonl")[-1]["status"] == "retired" and len(log("journal.jsonl")) == 1
    second = open_harness()
    assert [problem.code for problem in doctor(second)] == ["not-journaled", "stale-projection"]
    second.rules.add("Two.")
    assert [event["type"] for event in log("journal.jsonl")] == ["rule_add", "rule_retire", "rule_add"]
    assert doctor(second) == ()


def test_s5_repair_completes_the_journal_too_and_says_so(open_harness: Open, log: Log) -> None:
    first = open_harness()
    with pytest.raises(Killed), die_at("append.begin", "journal.jsonl"):
        first.rules.add("One.")
    second = open_harness()
    assert mend(second) != ()
    assert [event["type"] for event in log("journal.jsonl")] == ["rule_add"]
    assert doctor(second) == () and mend(second) == ()


def test_s5_doctor_sees_every_kind_of_disagreement_at_once_and_repair_leaves_what_only_a_person_can_decide(
    harness: Harness, root: Path
) -> None:
    rule = harness.rules.add("One.")
    harness.rules.retire(rule.id, reason="wrong")
    handled = harness.report("s", {"agent_reliability": 0.2})
    assert handled.notice is not None
    lines = (root / "rules.jsonl").read_bytes().splitlines(keepends=True)
    twin = json.dumps({**json.loads(lines[0]), "id": "r-00000000aa", "event": None, "at": ""}).encode() + b"\n"
    (root / "rules.jsonl").write_bytes(lines[0] + b"torn\n" + twin)  # the record of the retirement is lost
    (root / f"mailbox/pending/{handled.notice.id}.json").unlink()
    (root / "harness_rules.md").write_text("stale")
    named = {problem.code for problem in doctor(harness)}
    assert named == {
        *("broken-line", "retire-lost", "not-journaled", "duplicate-rule", "foreign-writer", "notice-lost"),
        *("stale-projection", "stale-status"),
    }
    before = (root / "rules.jsonl").read_bytes()
    mend(harness)
    assert (root / "rules.jsonl").read_bytes().startswith(before)
    assert harness.rules.get(rule.id).status == "retired"
    assert [notice.id for notice in harness.workspace.ports.mailbox.pending()] == [handled.notice.id]
    assert {problem.code for problem in doctor(harness)} == {"broken-line", "foreign-writer"}
    assert mend(harness) == ()


@pytest.mark.parametrize("what", ["watch", "recheck", "recheck that has ended"])
def test_s5_the_arms_of_a_watch_or_recheck_are_held_against_its_own_coin(
    what: str, open_harness: Open, root: Path, log: Log
) -> None:
    harness = open_harness(**WATCHED)
    rule = promoted(harness)
    if what == "watch":
        harness._rounds.run()
    else:
        harness.rules.recheck(rule.id)
    compared = running(harness, rule)
    live(harness, rule, -1.0, 60 if "ended" in what else 9, rate=1.0)
    assert (harness.rules.get(rule.id).status == "retired") if "ended" in what else running(harness, rule) == compared
    checks = [number for number, record in enumerate(log("trials.jsonl"), 1) if record["kind"] == "check"]
    assert len(checks) >= 9 and doctor(harness) == ()
    lines = (root / "trials.jsonl").read_bytes().splitlines(keepends=True)
    forged = json.loads(lines[checks[5] - 1])
    said = forged["seen"][rule.id]
    said["exposure"] = "shown" if said["exposure"] == "withheld" else "withheld"
    lines[checks[5] - 1] = json.dumps(forged).encode() + b"\n"
    (root / "trials.jsonl").write_bytes(b"".join(lines))
    assert [(problem.code, problem.where) for problem in doctor(open_harness(**WATCHED))] == [
        ("other-arm", f"trials.jsonl:{checks[5]}")
    ]


def test_s5_examining_costs_no_write_and_holds_the_lock_no_longer_than_it_reads(harness: Harness, root: Path) -> None:
    harness.rules.add("One.")
    steps: list[fs.Event] = []
    with fs.observe(steps.append):
        doctor(harness)
    assert {step for step, _, _ in steps} == {"lock", "read", "unlock"}
