"""G2: people see every rule with provenance, digest, tokens and evidence, in the views that the command names."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.desk import Desk

from ruleproof.core.rulecommand import Listing, parse_command


def test_g2_a_list_shows_provenance_digest_tokens_and_evidence(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    plain = desk.propose("security", "Check the archive first.")
    learned = desk.propose("db", "Ask before a drop.", origin="learned", source="s-7", evidence={"sessions": 40})
    first, second = desk.review()
    assert (first.id, first.digest, first.evidence) == (plain.id, plain.digest[:12], "none")
    assert (second.evidence, second.tokens > 0) == ("sessions=40", True)
    assert all(part in second.provenance for part in (desk.harness, "learned", "s-7", "2026-09-20"))
    assert learned.digest.startswith(second.digest)


def test_g2_the_views_of_the_command_are_distinct(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    core, gone, fresh = (desk.propose("security", f"Rule number {word}.") for word in ("one", "two", "three"))
    other = desk.propose("db", "Ask before a drop.")
    desk.approve(core.id)
    desk.approve(gone.id)
    desk.revoke(gone.id)

    def listed(line: str) -> list[str]:
        asked = parse_command(line)
        assert isinstance(asked, Listing)
        return [row.id for row in desk.review(asked)]

    assert listed("list") == [core.id, fresh.id, other.id]
    assert listed("list --proposed") == [fresh.id, other.id]
    assert listed("list --all") == [core.id, gone.id, fresh.id, other.id]
    assert listed("list --category db") == [other.id]
