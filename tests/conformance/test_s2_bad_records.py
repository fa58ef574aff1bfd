"""S2: whatever a record is, the rest loads, the line is named, nothing unknown is in force, no file shrinks."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ruleproof.edge.housekeeping import Housekeeping
from ruleproof.engine.doctor import LOGS, examine
from ruleproof.engine.repair import repair
from ruleproof.harness import Harness

Open = Callable[..., Harness]

GOOD = {
    "created_at": "2026-07-01T00:00:00.000000+00:00",
    "id": "r-00000000aa",
    "metric": None,
    "rationale": "",
    "rule": "Sound.",
    "source_notice_id": None,
    "status": "active",
    "tags": [],
    "trial": None,
}


def line(**changes: Any) -> bytes:
    return json.dumps({**GOOD, "id": "r-00000000bb", "rule": "Odd.", **changes}).encode()


BAD = {
    "torn": b'{"id": "r-00000000bb", "rule": "Od',
    "not JSON": b"Odd.",
    "a bare list": b'["Odd."]',
    "null": b"null",
    "a number": b"5",
    "not UTF-8": b'{"id": "r-00000000bb", "rule": "Odd.\xff", "status": "active"}',
    "zero bytes": b"\x00" * 64,
    "a conflict marker": b"<<<<<<< Odd.",
    "nested too deep": b"[" * 100_000,
    "Infinity": line(extra=1).replace(b'"extra": 1', b'"extra": Infinity'),
    "a number as id": line(id=5),
    "an id of another form": line(id="../../x"),
    "no text": line(rule=None),
    "a text of spaces": line(rule="  "),
    "a text that is a list": line(rule=["Odd."]),
    "tags that are a text": line(tags="all"),
    "a rationale that is a number": line(rationale=5),
    "a trial that is a list": line(trial=[]),
    "status as a list": line(status=[]),
    "status null": line(status=None),
    "status of the future": line(status="promoted??"),
    "a record of the future": b'{"kind": "merge", "text": "Odd."}',
}


R = "r-0000000000"
SENSELESS: dict[str, dict[str, Any]] = {
    "an unknown kind": {"kind": "banana"},
    "no kind": {"session": "s1"},
    "a round of nothing": {"kind": "replay", "rule": R},
    "a round without a target": {
        "kind": "replay",
        "rule": R,
        "cases": [{"case": "c", "kind": "failure", "treated": [{}]}],
    },
    "a round without cases": {"kind": "replay", "rule": R, "target": "m"},
    "a round of no replay": {"kind": "replay", "rule": R, "target": "m", "cases": [{"case": "c", "kind": "failure"}]},
    "a round of no case": {"kind": "replay", "rule": R, "target": "m", "cases": [5]},
    "a round of no rule": {"kind": "replay", "rule": 5, "target": "m", "cases": []},
    "an attempt of no rule": {"kind": "attempt", "rule": [R]},
    "an observation of no session": {"kind": "observation", "session": [], "scores": {"m": 1.0}, "seen": {R: 5}},
    "an observation of a number": {"kind": "observation", "session": "s1", "scores": {}, "seen": {R: 5}},
    "an observation of a list": {"kind": "observation", "session": "s1", "seen": []},
    "scores that are a list": {"kind": "observation", "session": "s1", "seen": {}, "scores": [1.0]},
    "a value out of range": {
        "kind": "observation",
        "session": "s1",
        "seen": {R: {"breached": True, "exposure": "withheld", "value": 7}},
    },
    "a check of no comparison": {
        "kind": "check",
        "session": "s1",
        "seen": {R: {"breached": True, "exposure": "withheld", "value": 0.5}},
    },
    "an exposure of the future": {"kind": "exposure", "session": "s1", "rules": {R: "whispered"}},
    "an exposure of nobody": {"kind": "exposure", "session": None, "rules": {R: "withheld"}},
    "a notice of a list": {"kind": "notice", "session": "s1", "pool": []},
}


@pytest.mark.parametrize("first", [False, True])
@pytest.mark.parametrize("what", SENSELESS)
def test_s2_a_senseless_record_of_a_trial_is_named_and_hides_no_evidence(
    what: str, first: bool, root: Path, open_harness: Open
) -> None:
    settings: dict[str, Any] = {"rule_trial_policy": "anytime", "rule_holdout": 0.5, "replay_policy": "paired"}
    harness = open_harness(**settings)
    rule = harness.rules.add("Sound.", metric="m")
    for number in range(6):
        harness.context(session_id=f"s{number}")
        harness.report(f"s{number}", {"m": number / 10})
    known, trial = harness.rules.evidence(rule.id), harness.rules.trial(rule.id)
    assert known["shown"] and everything_about(harness) == ()
    file = root / "trials.jsonl"
    bad = json.dumps(SENSELESS[what]).replace(R, rule.id).encode() + b"\n"
    number = 1 if first else file.read_bytes().count(b"\n") + 1
    file.write_bytes(bad + file.read_bytes() if first else file.read_bytes() + bad)
    for again in (harness, open_harness(**settings)):
        assert again.rules.evidence(rule.id) == known
        assert again.rules.trial(rule.id) == trial
        assert [problem.where for problem in everything_about(again)] == [f"trials.jsonl:{number}"]


def everything_about(harness: Harness) -> tuple[Any, ...]:
    return examine(harness.workspace, composer=harness.composer, folder=Housekeeping(harness.config.root))


@pytest.mark.parametrize("what", BAD)
def test_s2_one_bad_record_is_named_and_not_in_force_and_the_rest_loads(
    what: str, root: Path, open_harness: Open
) -> None:
    first = open_harness()
    kept = first.rules.add("Sound.")
    with (root / "rules.jsonl").open("ab") as file:
        file.write(BAD[what] + b"\n" + json.dumps(GOOD).encode() + b"\n")
    before = (root / "rules.jsonl").read_bytes()
    for harness in (first, open_harness()):
        assert {rule.id for rule in harness.rules.all() if rule.in_force} == {kept.id, GOOD["id"]}
        assert "Odd." not in harness.system_context() + harness.system_context(task_hint="Odd.")
    assert "Odd." not in (root / "harness_rules.md").read_text()
    assert [problem.where for problem in everything_about(first) if problem.where == "rules.jsonl:2"]
    added = first.rules.add("Another one.")
    assert (root / "rules.jsonl").read_bytes().startswith(before)
    assert {rule.id for rule in open_harness().rules.all() if rule.in_force} == {kept.id, GOOD["id"], added.id}


@pytest.mark.parametrize("name", LOGS)
@pytest.mark.parametrize("content", [b"", b"\x00" * 4096, b"\xff\xfe" * 500, b"{" * 3000, b"\n\n\n"])
def test_s2_a_file_of_garbage_is_never_taken_for_empty_and_overwritten(
    name: str, content: bytes, root: Path, open_harness: Open
) -> None:
    root.mkdir()
    (root / name).write_bytes(content)
    harness = open_harness()
    harness.rules.add("Sound.")
    harness.report("s", {"agent_reliability": 0.2})
    assert (root / name).read_bytes().startswith(content)
    folder = Housekeeping(root)
    repair(harness.workspace, composer=harness.composer, folder=folder)
    assert (root / name).read_bytes().startswith(content)
    assert repair(harness.workspace, composer=harness.composer, folder=folder) == ()
    assert [rule.rule for rule in open_harness().rules.candidates()] == ["Sound."]


def test_s2_a_last_line_without_its_newline_swallows_nothing(root: Path, open_harness: Open) -> None:
    open_harness()
    (root / "rules.jsonl").write_bytes(json.dumps(GOOD).encode())
    added = open_harness().rules.add("Another one.")
    assert {rule.id for rule in open_harness().rules.all()} == {GOOD["id"], added.id}


def test_s2_the_store_cut_at_every_byte_of_its_last_record_loses_that_record_alone(
    root: Path, open_harness: Open
) -> None:
    harness = open_harness()
    kept, cut = harness.rules.add("Sound."), harness.rules.add("Cut.")
    data = (root / "rules.jsonl").read_bytes()
    start = data.index(b"\n") + 1
    for end in range(start, len(data) - 1):
        (root / "rules.jsonl").write_bytes(data[:end])
        assert {rule.id for rule in harness.rules.all()} == {kept.id}, end
        codes = {problem.code for problem in everything_about(harness)}
        assert ("torn-tail" in codes) == (end > start)
    (root / "rules.jsonl").write_bytes(data[:-1])
    assert {rule.id for rule in harness.rules.all()} == {kept.id, cut.id}


def test_s2_a_retired_rule_is_absent_from_index_cache_and_prompt(harness: Harness, root: Path) -> None:
    rule = harness.rules.add("Verify the transfer.", "Because of the transfer.", tags=["transfer"])
    other = harness.rules.add("Ask first.")
    assert rule.id in harness.context("transfer").rules
    harness.rules.retire(rule.id, reason="wrong")
    assert [found.id for found, _ in harness.rules.search("transfer")] == []
    assert harness.context("transfer").rules == harness.context().rules == (other.id,)
    assert "transfer" not in (root / "harness_rules.md").read_text()


def test_s2_a_lone_surrogate_reaches_the_files_as_valid_text(harness: Harness, root: Path) -> None:
    harness.report("s", {"agent_reliability": 0.2})
    harness.rules.add("Say \ud83d nothing.", "why \ud83d")
    harness.rules.retire(harness.rules.all()[0].id, reason="\ud83d")
    for path in root.rglob("*"):
        if path.is_file():
            path.read_bytes().decode("utf-8")
    assert everything_about(harness) == ()
