"""G7: the core bonus counts on this machine, at query time, on a match; the shared index never holds it."""

from __future__ import annotations

from pathlib import Path

from tests.conformance.desk import Desk

from ruleproof.codec.shards import entry_of, shards


def test_g7_with_equal_text_the_approved_rule_ranks_first_only_for_who_approved_it(tmp_path: Path) -> None:
    a, b = Desk(tmp_path / "a", tmp_path / "pool"), Desk(tmp_path / "b", tmp_path / "pool")
    first = a.propose("security", "Check the archive today.")
    second = b.propose("security", "Check the archive later.")
    b.approve(second.id)

    def ranked(desk: Desk) -> list[tuple[str, float]]:
        return [(hit.document.id, round(hit.score, 2)) for hit in desk.search("archive", agent=False).hits]

    assert [rule for rule, _ in ranked(a)] == [first.id, second.id]
    assert [rule for rule, _ in ranked(b)] == [second.id, first.id]
    assert round(ranked(b)[0][1] - ranked(b)[1][1], 6) == 0.15
    assert b.search("unrelated", agent=False).total == 0


def test_g7_the_shards_are_the_same_bytes_on_every_machine_whatever_it_approved(tmp_path: Path) -> None:
    a, b = Desk(tmp_path / "a", tmp_path / "pool"), Desk(tmp_path / "b", tmp_path / "pool")
    rule = a.propose("security", "Check the archive first.", topics=("restore",))
    before = shards(entry_of(found) for found in b.rules())
    b.approve(rule.id)
    assert shards(entry_of(found) for found in b.rules()) == before == shards(entry_of(found) for found in a.rules())


def test_g7_an_agent_finds_approved_rules_only_and_by_category(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    desk.approve(desk.propose("security", "Check the archive first.").id)
    desk.propose("db", "Check the archive of the database.")
    assert [hit.document.category for hit in desk.search("archive", agent=True).hits] == ["security"]
    assert desk.search("archive", agent=True, category="db").total == 0
    assert desk.search("archive", agent=False, category="db").total == 1
