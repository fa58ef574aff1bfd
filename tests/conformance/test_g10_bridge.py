"""G10: a learned rule is proposed with its evidence as a claim; evidence approves nothing, approval stays home."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.desk import Desk

EVIDENCE = {"rule": "r-9772c134b8", "verdict": "promoted", "grade": "strong", "sessions": 62, "effect": 0.21}


def test_g10_evidence_travels_as_a_claim_and_puts_nothing_in_force(tmp_path: Path) -> None:
    a, b = Desk(tmp_path / "a", tmp_path / "pool"), Desk(tmp_path / "b", tmp_path / "pool")
    rule = a.propose(
        "payments",
        "Verify the transaction status before a retry.",
        origin="learned",
        source="s-1",
        topics=("breach:reliability",),
        evidence=EVIDENCE,
    )
    assert a.approve(rule.id).status == "core"
    (row,) = b.review()
    assert (row.standing, row.rule.evidence) == ("proposed", EVIDENCE)
    assert "grade=strong" in row.evidence and "learned" in row.provenance
    assert "CORE RULES" not in b.notice()


def test_g10_forged_evidence_changes_the_digest_so_it_cannot_ride_on_an_approval(tmp_path: Path) -> None:
    a, b = Desk(tmp_path / "a", tmp_path / "pool"), Desk(tmp_path / "b", tmp_path / "pool")
    rule = a.propose("payments", "Verify the status first.", evidence={"sessions": 5})
    b.approve(rule.id)
    path = tmp_path / "pool" / rule.place.path
    path.write_bytes(path.read_bytes().replace(b'"sessions": 5', b'"sessions": 5000'))
    assert b.review()[0].standing == "changed"
