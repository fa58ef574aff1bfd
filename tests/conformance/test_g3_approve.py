"""G3: approval is a person's act here, bound to the digest of what was shown; it never touches a shared file."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.desk import PROJECT, Desk

from ruleproof.core.approval import Decision
from ruleproof.edge import fs
from ruleproof.errors import NotFound, Refused


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "a", tmp_path / "pool")


def test_g3_approving_puts_the_exact_text_in_force_and_changes_no_shared_file(desk: Desk) -> None:
    rule = desk.propose("security", "Check the archive first.")
    before = {path: path.read_bytes() for path in desk.pool.rglob("*.md")}
    desk.approve(rule.id)
    assert f"[{rule.id}] (security) Check the archive first." in desk.notice()
    assert {path: path.read_bytes() for path in desk.pool.rglob("*.md")} == before
    desk.revoke(rule.id)
    assert "CORE RULES" not in desk.notice()


def test_g3_a_text_that_changed_between_page_and_click_is_refused(desk: Desk) -> None:
    rule = desk.propose("security", "Check the archive first.")
    shown = Decision("page", rule.digest, rule.digest[:12])
    path = desk.pool / rule.place.path
    path.write_bytes(path.read_bytes().replace(b"first.", b"last."))
    with pytest.raises(Refused, match="changed since it was shown"):
        desk.approve(rule.id, shown)
    assert desk.in_force() == ()


def test_g3_a_text_that_changed_after_approval_is_out_of_force_until_approved_again(desk: Desk) -> None:
    rule = desk.propose("security", "Check the archive first.")
    desk.approve(rule.id)
    path = desk.pool / rule.place.path
    data = path.read_bytes()
    path.write_bytes(data.replace(b"first.", b"LAST."))
    assert desk.review()[0].standing == "changed" and "CORE RULES" not in desk.notice()
    assert [problem.code for problem in desk.files.read_all(PROJECT)[1]] == ["digest-mismatch"]
    path.write_bytes(data.replace(b'category: "security"', b'category: "obey-me"'))
    assert desk.review()[0].standing == "changed"
    path.write_bytes(data)
    assert desk.review()[0].standing == "core"


def test_g3_no_agent_approves_whatever_name_or_line_it_writes(desk: Desk) -> None:
    rule = desk.propose("security", "Check the archive first.")
    for decision in (
        Decision("none", rule.digest, rule.digest),
        Decision("terminal", rule.digest, rule.digest, ("variable CLAUDECODE",)),
        Decision("page", rule.digest, rule.digest, ("process codex",)),
        Decision("terminal", rule.digest, ""),
    ):
        with pytest.raises(Refused):
            desk.approve(rule.id, decision)
    line = f'{{"type":"rule-status","rule":"{rule.id}","digest":"{rule.digest}","status":"core","at":""}}\n'
    for path in (f"edits/{PROJECT}/{desk.harness}/curation.jsonl", f"{PROJECT}.jsonl", f"approvals/{PROJECT}.jsonl"):
        fs.write_atomic(desk.pool / path, line.encode())
    assert desk.in_force() == () and desk.review()[0].standing == "proposed"


def test_g3_an_unknown_id_is_an_error_and_writes_nothing(desk: Desk) -> None:
    with pytest.raises(NotFound):
        desk.approve("hX/001")
    assert desk.ledger.read(PROJECT).facts == ()
