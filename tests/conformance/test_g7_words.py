"""G7 through the facade: every script, aliases, kinds of a host, one project at a time, and files as they are now."""

from __future__ import annotations

import time
from pathlib import Path

import pytest
from tests.conformance.desk import Desk

from ruleproof.core.search import Document, Index
from ruleproof.edge.rulefiles import TICK_S, RuleFiles


@pytest.fixture
def desk(tmp_path: Path) -> Desk:
    return Desk(tmp_path / "a", tmp_path / "pool")


def ids(desk: Desk, text: str, **more: object) -> list[str]:
    return [hit.document.id for hit in desk.governance.search(text, **more).hits]  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("発注前に在庫を確認すること。", "在庫"),
        ("下单之前必须先核对库存数量。", "库存"),
        ("Проверяй архив перед запуском.", "АРХИВ"),
        ("תמיד לבדוק את הארכיון לפני שחזור", "הארכיון"),
        ("Run the deploy. Then tag.", "deploy."),
        ("Check the archive; start it.", "archive, archive. ARCHIVE!"),
    ],
)
def test_g7_a_person_and_an_agent_find_a_rule_in_any_script(desk: Desk, text: str, query: str) -> None:
    rule = desk.propose("x", text)
    assert ids(desk, query) == [rule.id]
    assert desk.search(query, agent=True).total == 0
    desk.approve(rule.id)
    assert [hit.document.id for hit in desk.search(query, agent=True).hits] == [rule.id]


def test_g7_no_part_of_a_word_no_blank_and_no_unknown_word_finds_anything_even_approved(desk: Desk) -> None:
    assert ids(desk, "archive") == [], "before there is any file"
    desk.approve(desk.propose("security", "Start the archive before a restore.").id)
    for query in ("art", "chive", "", "   ", "the and", "unknownword", "!?."):
        assert ids(desk, query) == [] and desk.search(query, agent=True).total == 0


def test_g7_aliases_of_the_settings_answer_for_each_other(desk: Desk) -> None:
    rule = desk.propose("ops", "Never drop a database by hand.")
    assert ids(desk, "postgres") == []
    aliases = {"db": "database", "postgres": "db"}
    desk.governance.config = desk.governance.config.having(search_aliases=aliases)
    desk.forget()
    assert ids(desk, "postgres") == ids(desk, "db") == [rule.id]
    desk.approve(rule.id)
    assert desk.search("postgres", agent=True).total == 1


def test_g7_documents_of_a_host_are_found_beside_rules_and_by_kind(desk: Desk) -> None:
    rule = desk.propose("ops", "Check the archive first.")
    chapter = Document(
        "c-1", "chapter", "What the archive holds", desk.project, summary="archive", path="chapters/1.md"
    )
    foreign = Document("c-2", "chapter", "Another archive", "another-project")
    assert set(ids(desk, "archive", others=[chapter, foreign])) == {rule.id, "c-1"}
    assert ids(desk, "archive", others=[chapter], kinds=["chapter"]) == ["c-1"]
    assert ids(desk, "archive", others=[chapter], kinds=["rule"]) == [rule.id]


def test_g7_projects_with_similar_names_share_nothing(tmp_path: Path) -> None:
    one = Desk(tmp_path / "a", tmp_path / "pool", project="acme/api")
    two = Desk(tmp_path / "a", tmp_path / "pool", project="acme api")
    none = Desk(tmp_path / "a", tmp_path / "pool", project="acme")
    assert len({one.project, two.project, none.project}) == 3
    rule = one.propose("security", "Check the archive first.")
    one.approve(rule.id)
    for other in (two, none):
        assert ids(other, "archive") == [] and other.review() == () and other.in_force() == ()
        assert other.search("archive", agent=True).total == 0 and "CORE RULES" not in other.notice()
    assert ids(one, "archive") == [rule.id]


def test_g7_a_rule_is_found_as_its_file_reads_now(desk: Desk) -> None:
    rule = desk.propose("security", "Check the archive first.")
    desk.approve(rule.id)
    assert ids(desk, "archive") == [rule.id]
    path = desk.pool / rule.place.path
    data = path.read_bytes()
    path.write_bytes(data.replace(b"archive", b"servers"))
    assert ids(desk, "archive") == [] and ids(desk, "servers") == [rule.id]
    assert desk.search("servers", agent=True).total == desk.search("first", agent=True).total == 0
    path.unlink()
    assert ids(desk, "servers") == []
    path.write_bytes(data)
    desk.revoke(rule.id)
    assert ids(desk, "archive") == [rule.id] and desk.search("archive", agent=True).total == 0


def test_g7_a_second_search_indexes_only_what_changed(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [desk.propose("security", f"Check archive number {number} first.") for number in range(5)]
    assert len(ids(desk, "archive")) == 5
    put: list[str] = []
    real = Index.put

    def counted(self: Index, document: Document) -> None:
        put.append(document.id)
        real(self, document)

    monkeypatch.setattr(Index, "put", counted)
    assert len(ids(desk, "archive")) == 5 and put == []
    sixth = desk.propose("security", "Check the archive last.")
    (desk.pool / rules[0].place.path).unlink()
    assert set(ids(desk, "archive")) == {*(rule.id for rule in rules[1:]), sixth.id} and put == [sixth.id]
    chapter = Document("c-1", "chapter", "archive", desk.project)
    for _ in range(2):
        assert "c-1" in ids(desk, "archive", others=[chapter])
    assert put == [sixth.id, "c-1"] and "c-1" not in ids(desk, "archive"), "it goes with whoever brought it"


def test_g7_while_no_folder_changes_only_what_is_found_is_read(desk: Desk, monkeypatch: pytest.MonkeyPatch) -> None:
    rules = [desk.propose("security", f"Check {word} first.") for word in ("archive", "backup", "mirror")]
    whole: list[str] = []
    read_all = RuleFiles.read_all

    def counted(files: RuleFiles, project: str) -> object:
        whole.append(project)
        return read_all(files, project)

    monkeypatch.setattr(RuleFiles, "read_all", counted)
    assert ids(desk, "archive") == [rules[0].id]
    time.sleep(3 * TICK_S)  # the folders' times are now old enough to tell every later change
    assert ids(desk, "archive") == ids(desk, "archive") == [rules[0].id]
    searched = len(whole)
    assert ids(desk, "backup") == [rules[1].id] and len(whole) == searched
    path = desk.pool / rules[0].place.path
    path.write_bytes(path.read_bytes().replace(b"archive", b"servers"))
    assert ids(desk, "archive") == [], "what is found is read again, whatever its folder says"
    assert len(whole) == searched + 1 and ids(desk, "servers") == [rules[0].id]
    path.unlink()
    assert ids(desk, "servers") == []
