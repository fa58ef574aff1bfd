"""S2: the store cut at every byte of its last record; S1: what is written, synced and acknowledged, in that order."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.crash.worker import open_store

from ruleproof.core.score import Report, Score
from ruleproof.edge import fs
from ruleproof.engine.report import handle_report
from ruleproof.errors import StoreError


def test_s2_a_store_cut_at_any_byte_of_its_last_record_keeps_the_rest_and_the_next(tmp_path: Path) -> None:
    root = tmp_path / "workspace"
    _, rules = open_store(root)
    kept = [rules.add(f"Rule {number}.").id for number in range(2)]
    file = root / "rules.jsonl"
    start = file.stat().st_size
    last = rules.add("The last one, 最後の規則.").id
    whole = file.read_bytes()
    for cut in range(start, len(whole) + 1):
        file.write_bytes(whole[:cut])
        workspace, rules = open_store(root)
        there = {rule.id for rule in rules.all()}
        intact = cut >= len(whole) - 1  # at most its newline is missing
        assert there == {*kept, *([last] if intact else [])}, cut
        new = rules.add(f"After a cut at {cut}.").id
        assert {rule.id for rule in open_store(root)[1].all()} == {*there, new}, cut
        torn = start < cut < len(whole) - 1
        problems = workspace.problems.get("rules.jsonl", [])
        assert [problem.where for problem in problems] == (["rules.jsonl:3"] if torn else []), cut


@pytest.mark.parametrize("step", ["append.begin", "append.write", "append.sync"])
@pytest.mark.parametrize("log", ["rules.jsonl", "journal.jsonl"])
def test_s1_a_refusing_disk_is_an_error_and_the_next_writer_makes_store_and_journal_agree(
    tmp_path: Path, step: str, log: str
) -> None:
    root = tmp_path / "workspace"
    _, rules = open_store(root)
    rules.add("Before.")

    def refuse(event: fs.Event) -> None:
        if event[0] == step and event[1].endswith(log):
            raise OSError(28, "No space left on device")

    with fs.observe(refuse), pytest.raises(StoreError, match="No space left"):
        rules.add("During.")
    rules.add("After.")
    again, _ = open_store(root)
    again.refresh()
    stored = {rule.event for rule in again.rulebook.all()}
    assert stored == set(again.refresh_journal().rule_events)
    assert {rule.rule for rule in again.rulebook.all()} >= {"Before.", "After."}


def order(action: Callable[[], object]) -> list[str]:
    seen: list[str] = []
    with fs.observe(lambda event: seen.append(f"{event[0]} {Path(event[1]).name}")):
        action()
    wanted = ("append.write", "append.sync", "lock", "unlock")
    return [step for step in seen if step.split()[0] in wanted]


def test_s1_an_add_is_written_and_synced_rule_first_before_it_is_acknowledged(tmp_path: Path) -> None:
    _, rules = open_store(tmp_path / "workspace")
    rules.add("First.")
    assert order(lambda: rules.add("Second.")) == [
        "lock .lock",
        "append.write rules.jsonl",
        "append.sync rules.jsonl",
        "append.write journal.jsonl",
        "append.sync journal.jsonl",
        "unlock .lock",
    ]


def test_s1_a_report_is_synced_before_it_is_acknowledged(tmp_path: Path) -> None:
    workspace, rules = open_store(tmp_path / "workspace")
    rule = rules.add("First.", metric="m")
    report = Report("s", (Score("m", 0.9),), workspace.now())
    assert order(lambda: handle_report(workspace, report, assumed=frozenset({rule.id}))) == [
        "lock .lock",
        "append.write trials.jsonl",
        "append.sync trials.jsonl",
        "append.write sessions.jsonl",
        "append.sync sessions.jsonl",
        "unlock .lock",
    ]


def test_s3_a_call_costs_what_changed_and_not_what_exists(tmp_path: Path) -> None:
    costs = []
    for existing in (20, 400):
        root = tmp_path / str(existing)
        _, rules = open_store(root)
        for number in range(existing):
            rules.add(f"Rule {number}.")
        moved = [0]
        with fs.observe(lambda event, moved=moved: moved.__setitem__(0, moved[0] + event[2])):
            rules.add("One more.")
            rules.search("rule")
            rules.retire(rules.candidates()[0].id)
        costs.append(moved[0])
    assert costs[1] < costs[0] * 1.2 + 200
