"""G4: each machine decides for itself; nothing in the pool approves anything anywhere."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.desk import PROJECT, Desk

from ruleproof.edge import fs


def test_g4_what_one_machine_approves_another_does_not_see(tmp_path: Path) -> None:
    a, b, c = (Desk(tmp_path / name, tmp_path / "pool") for name in ("a", "b", "c"))
    rule = a.propose("security", "Check the archive first.")
    nothing = c.notice()
    b.approve(rule.id)
    fs.write_atomic(tmp_path / "pool" / "edits" / PROJECT / b.harness / "curation.jsonl", b.facts())
    assert f"[{rule.id}] (security) Check the archive first." in b.notice()
    assert "CORE RULES" not in a.notice() and c.notice() == nothing
    assert [desk.review()[0].standing for desk in (a, b, c)] == ["proposed", "core", "proposed"]


def test_g4_facts_with_our_own_name_in_the_pool_have_no_effect(tmp_path: Path) -> None:
    a, b = Desk(tmp_path / "a", tmp_path / "pool"), Desk(tmp_path / "b", tmp_path / "pool")
    rule = a.propose("security", "Check the archive first.")
    a.approve(rule.id)
    fs.write_atomic(tmp_path / "pool" / "edits" / PROJECT / b.harness / "curation.jsonl", a.facts())
    assert b.in_force() == () and "CORE RULES" not in b.notice()
    assert a.harness != b.harness
