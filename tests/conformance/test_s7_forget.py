"""S7: forget is the one rewrite. The text is gone from every byte of the workspace; digest, reason and time stay."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.test_e6_after_promotion import promoted

from ruleproof.core.ids import digest
from ruleproof.core.signals import DEFAULT_WEIGHTS
from ruleproof.edge.housekeeping import Housekeeping
from ruleproof.engine.doctor import examine
from ruleproof.engine.forget import Forgotten, forget
from ruleproof.engine.ingest import ingest
from ruleproof.errors import NotFound
from ruleproof.harness import Harness

Log = Callable[[str], list[dict[str, Any]]]
TEXT = "Ask Erika Mustermann, card 5500 0000 0000 0004, before «eine» zweite Zahlung — 二重請求"


def forgotten(harness: Harness, what: str) -> Forgotten:
    return forget(harness.workspace, what, "she asked for it", folder=Housekeeping(harness.config.root))


def all_bytes(root: Path) -> bytes:
    return b"\0".join(path.read_bytes() for path in root.rglob("*") if path.is_file())


def assert_no_trace(root: Path) -> None:
    data = all_bytes(root)
    for word in ("Mustermann", "5500 0000", "二重請求", "zweite Zahlung"):
        assert word.encode() not in data and json.dumps(word)[1:-1].encode() not in data


def test_s7_a_rule(harness: Harness, root: Path, log: Log) -> None:
    rule = harness.rules.add(TEXT, f"In short: {TEXT}")
    other = harness.rules.add("Another rule.")
    harness.rules.retire(other.id, reason=f"the same as {TEXT}")
    assert b"Mustermann" in all_bytes(root)
    done = forgotten(harness, rule.id)
    assert_no_trace(root)
    stone = next(record for record in log("rules.jsonl") if record.get("kind") == "tombstone")
    assert (stone["of"], stone["digest"], stone["reason"]) == (rule.id, digest(rule.rule), "she asked for it")
    assert stone["at"] and done.kind == "rule" and "harness_rules.md" in done.files
    with pytest.raises(NotFound):
        harness.rules.get(rule.id)
    assert [found.rule for found in harness.rules.all()] == ["Another rule."]
    assert "Mustermann" not in harness.system_context() and harness.rules.search("Mustermann") == []


def test_s7_a_notice(open_harness: Callable[..., Harness], root: Path) -> None:
    from ruleproof.core.score import Score

    harness = open_harness(evaluator=lambda turn: [Score("agent_reliability", 0.1, reason=TEXT)])
    with harness.turn("s"):
        pass
    handled = harness.wait("s")
    assert handled is not None and handled.notice is not None and b"Mustermann" in all_bytes(root)
    forgotten(harness, handled.notice.id)
    assert_no_trace(root)
    assert harness.workspace.ports.mailbox.pending() == []


def test_s7_a_case(harness: Harness, root: Path) -> None:
    case = {"id": "c-0123456789", "session_id": "s", "kind": "failure", "replay_input": {"ask": TEXT}, "notes": TEXT}
    (root / "evalset/c-0123456789.json").write_text(json.dumps(case))
    assert forgotten(harness, "c-0123456789").kind == "case"
    assert_no_trace(root)


def test_s7_a_session(harness: Harness, root: Path, log: Log) -> None:
    chats = [
        {"id": name, "messages": [{"role": "user", "content": text}, {"role": "assistant", "content": ""}], "reward": 0}
        for name, text in (("erika", TEXT), ("max", "Hello."))
    ]
    chunk = "\n".join(map(json.dumps, chats)).encode()
    ingest(harness.workspace, [chunk], thresholds=lambda _: 0.5, weights=DEFAULT_WEIGHTS)
    assert b"Mustermann" in all_bytes(root)
    assert forgotten(harness, "erika").kind == "session"
    assert_no_trace(root)
    ingest(harness.workspace, [chunk], thresholds=lambda _: 0.5, weights=DEFAULT_WEIGHTS)
    assert_no_trace(root)
    assert [record["session"] for record in log("sessions.jsonl") if record["kind"] == "ingested"] == ["max"]


def test_s7_a_rewritten_workspace_is_sound_and_other_processes_follow(
    open_harness: Callable[..., Harness], root: Path
) -> None:
    one, other = open_harness(), open_harness()
    rule = one.rules.add(TEXT)
    kept = one.rules.add("Another rule.")
    assert {found.id for found in other.rules.all()} == {rule.id, kept.id}
    forgotten(one, rule.id)
    other.report("s", {"agent_reliability": 0.1})
    other.rules.retire(kept.id)
    other.rules.add("A third rule.")
    assert_no_trace(root)
    assert other.rules.effectiveness().keys() == {found.id for found in one.rules.all()}
    assert examine(other.workspace, composer=other.composer, folder=Housekeeping(root)) == ()


def test_s7_a_forgotten_session_stays_in_the_arm_that_it_was_in(open_harness: Callable[..., Harness]) -> None:
    settings: dict[str, Any] = {"rule_trial_policy": "anytime", "rule_holdout": 0.5, "durability": "os"}
    harness = open_harness(**settings)
    tried, checked = harness.rules.add("One.", metric="m"), promoted(harness, "Two.")
    harness.rules.recheck(checked.id)
    for number in range(10):
        harness.context(session_id=f"s{number}")
        harness.report(f"s{number}", {"m": number / 10, "outcome": number / 10})

    def figures() -> list[Any]:
        fresh = open_harness(**settings)
        found = fresh.rules.evidence(tried.id), fresh.rules.after(checked.id).evidence
        return [(one["shown"], one["withheld"], one["effect"]) for one in found]

    before = figures()
    for number in range(10):
        forgotten(harness, f"s{number}")
    assert figures() == before
    assert examine(harness.workspace) == ()
