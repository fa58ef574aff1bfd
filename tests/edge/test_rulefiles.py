"""Rule files on the disk: created once under numbers that no two processes share; whatever else lies there is named."""

from __future__ import annotations

import multiprocessing
import subprocess
import sys
import time
from pathlib import Path

import pytest

from ruleproof.codec.rulefile import write_rule
from ruleproof.core.proposal import Place, Proposal, place
from ruleproof.edge import fs
from ruleproof.edge.rulefiles import TICK_S, RuleFiles, Written
from ruleproof.errors import Refused, StoreError


def draft(number: int, text: str = "Check the archive first.", harness: str = "hA", project: str = "p-1") -> Proposal:
    return Proposal(place(project, harness, number, "security", text), "security", text, text + "\n", "", "manual", "t")


def add(files: RuleFiles, text: str = "Check the archive first.", harness: str = "hA") -> Proposal:
    made = files.create("p-1", harness, lambda number, own: draft(number, text, harness))
    assert made is not None
    return made


def test_a_rule_is_written_once_and_reads_as_it_was_returned(tmp_path: Path) -> None:
    made = add(RuleFiles(tmp_path))
    assert made.place == Place("p-1", "hA", "001-security-check-the-archive-first.md", 1)
    assert RuleFiles(tmp_path).read(made.place) == (made, ())
    assert add(RuleFiles(tmp_path)).id == "hA/002"


def test_a_file_that_nobody_recorded_owns_its_number_and_stays_untouched(tmp_path: Path) -> None:
    folder = tmp_path / "rules" / "p-1" / "hA"
    folder.mkdir(parents=True)
    (folder / "004-ghost-of-before.md").write_bytes(b"ghost")
    assert add(RuleFiles(tmp_path)).id == "hA/005"
    assert (folder / "004-ghost-of-before.md").read_bytes() == b"ghost"


def test_a_number_that_the_pool_holds_is_not_given_although_no_file_is_here(tmp_path: Path) -> None:
    made = RuleFiles(tmp_path).create("p-1", "hA", lambda number, own: draft(number), taken=(1, 7))
    assert made is not None and made.id == "hA/002"


def test_numbers_go_on_above_999(tmp_path: Path) -> None:
    folder = tmp_path / "rules" / "p-1" / "hA"
    folder.mkdir(parents=True)
    (folder / "999-security-x.md").write_bytes(write_rule(draft(999)))
    made = RuleFiles(tmp_path).create("p-1", "hA", lambda number, own: draft(number))
    assert made is not None and made.id == "hA/1000"
    assert RuleFiles(tmp_path).find("p-1", ["hA/1000"]) == {"hA/1000": [made.place]}
    assert add(RuleFiles(tmp_path)).id == "hA/1001"


def test_who_finds_its_text_among_the_files_writes_nothing(tmp_path: Path) -> None:
    files = RuleFiles(tmp_path)
    first = add(files)
    seen: list[tuple[Proposal, ...]] = []
    assert files.create("p-1", "hA", lambda number, own: seen.append(own)) is None
    assert seen == [(first,)]
    assert len(fs.listdir(tmp_path / "rules" / "p-1" / "hA")) == 1


def test_a_file_under_our_id_that_we_never_wrote_is_no_rule_here_and_takes_its_number_alone(
    tmp_path: Path,
) -> None:
    files = RuleFiles(tmp_path / "pool", Written(tmp_path / "written", lambda: "hA"))
    first = add(files)
    other = Place("p-1", "hB", first.place.name, 1)
    for path in ("rules/p-1/hA/002-other.md", "rules/p-1/hA/99999-x.md", "rules/p-1/hA/001-twin.md", other.path):
        files.put(path, write_rule(draft(1, "A text that was planted.")))
    rules, problems = files.read_all("p-1")
    assert [rule.place for rule in rules] == [first.place, other]
    assert [problem.code for problem in problems if problem.severity == "error"] == ["planted-file"]
    assert files.find("p-1", ["hA/001", "hA/002"]) == {"hA/001": [first.place], "hA/002": []}
    assert add(files).id == "hA/003"
    files.own("rules/p-1/hA/002-other.md", files.bytes_at("rules/p-1/hA/002-other.md") or b"")
    assert files.find("p-1", ["hA/002"])["hA/002"]


@pytest.mark.parametrize("damage", [b"", b"garbage\n", b"[]\n", b'{"path": 5, "sha256": "x"}\n', b"\xff\n"])
def test_a_damaged_record_of_what_we_wrote_takes_nothing_planted_for_ours(tmp_path: Path, damage: bytes) -> None:
    files = RuleFiles(tmp_path / "pool", Written(tmp_path / "written", lambda: "hA"))
    made = add(files)
    record = tmp_path / "written" / "p-1.jsonl"
    record.write_bytes(damage + record.read_bytes())
    assert files.find("p-1", [made.id])[made.id] == [made.place]
    record.write_bytes(damage)
    assert files.read_all("p-1")[0] == [] and add(files).id == "hA/002"


def _create(arguments: tuple[str, int]) -> None:
    root, worker = arguments
    for number in range(25):
        add(RuleFiles(Path(root)), f"Rule {number} of worker {worker}.")


def test_processes_that_propose_at_once_never_share_a_number(tmp_path: Path) -> None:
    with multiprocessing.get_context("spawn").Pool(3) as pool:
        pool.map(_create, [(str(tmp_path), worker) for worker in range(3)])
    proposals, problems = RuleFiles(tmp_path).read_all("p-1")
    assert problems == [] and [rule.place.number for rule in proposals] == list(range(1, 76))
    assert len({rule.text for rule in proposals}) == 75


def test_a_disk_that_refuses_is_an_error_and_leaves_no_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = RuleFiles(tmp_path)

    def full(handle: int, data: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(fs, "_write_all", full)
    with pytest.raises(StoreError, match="No space"):
        add(files)
    monkeypatch.undo()
    assert fs.listdir(tmp_path / "rules" / "p-1" / "hA") == []
    assert files.read_all("p-1") == ([], [])


def test_what_is_no_rule_file_is_named_and_the_rest_is_read(tmp_path: Path) -> None:
    files = RuleFiles(tmp_path)
    made = add(files)
    folder = tmp_path / "rules" / "p-1" / "hA"
    (folder / "notes.txt").write_text("x")
    (folder / "002-a-chapter.md").write_text("---\nkind: chapter\n---\nx\n")
    (folder / "003-b-folder.md").mkdir()
    (folder / "004-c-link.md").symlink_to(folder / made.place.name)
    (folder / "001-twice.md").write_bytes(write_rule(draft(1, "Another text for one.")))
    (tmp_path / "rules" / "p-1" / "-rf").mkdir()
    (tmp_path / "rules" / "p-1" / "hL").symlink_to(folder)
    (tmp_path / "rules" / "p-1" / "stray.md").write_text("x")
    proposals, problems = files.read_all("p-1")
    assert [rule.id for rule in proposals] == ["hA/001", "hA/001"]
    assert sorted(problem.code for problem in problems) == [
        "bad-name",
        "no-folder",
        "no-folder",
        "no-rule-file",
        "not-a-rule",
        "repeated-number",
        "repeated-number",
        "unreadable-file",
        "unreadable-file",
    ]
    assert len(files.find("p-1", ["hA/001", "hA/002", "hL/001", "hZ/001"])["hA/001"]) == 2


def test_a_project_that_is_not_there_is_empty_and_a_bad_one_is_refused(tmp_path: Path) -> None:
    files = RuleFiles(tmp_path / "nowhere")
    assert files.read_all("p-1") == ([], []) and files.projects() == []
    assert files.find("p-1", ["hA/001"]) == {"hA/001": []}
    for project in ("../x", "NUL", "-rf", "a/b", "x" * 300, "😀", ""):
        for call in (files.places, lambda name: files.find(name, []), lambda name: files.create(name, "hA", None)):
            with pytest.raises(Refused):
                call(project)
    assert not (tmp_path / "nowhere").exists()


def test_projects_with_similar_names_do_not_mix(tmp_path: Path) -> None:
    files = RuleFiles(tmp_path)
    for project in ("acme-api", "acme.api"):
        files.create(
            project, "hA", lambda number, own, project=project: draft(number, f"Rule of {project}.", project=project)
        )
    assert [rule.text for rule in files.read_all("acme-api")[0]] == ["Rule of acme-api."]


def test_an_unreadable_pool_is_an_error_and_not_an_empty_one(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    files = RuleFiles(tmp_path)
    made = add(files)

    def denied(path: object, *more: object, **named: object) -> list[str]:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as patch:
        patch.setattr(fs.os, "listdir", denied)
        for call in (files.read_all, files.places, lambda project: files.find(project, [made.id])):
            with pytest.raises(StoreError, match="Permission denied"):
                call("p-1")
    with monkeypatch.context() as patch:
        patch.setattr(fs.os, "stat", denied)
        rule, problems = RuleFiles(tmp_path).read(made.place)
    assert rule is None and [problem.code for problem in problems] == ["unreadable-file"]


def test_nothing_is_written_through_a_link(tmp_path: Path) -> None:
    (tmp_path / "outside").mkdir()
    (tmp_path / "pool" / "rules").mkdir(parents=True)
    (tmp_path / "pool" / "rules" / "p-1").symlink_to(tmp_path / "outside")
    files = RuleFiles(tmp_path / "pool")
    with pytest.raises(StoreError, match="no folder"):
        add(files)
    with pytest.raises(StoreError, match="no folder"):
        files.put("rules/p-1/hA/001-a-b.md", b"x")
    assert list((tmp_path / "outside").iterdir()) == []
    assert files.bytes_at("rules/p-1/hA/001-a-b.md") is None


@pytest.mark.parametrize("path", ["rules/p/hA/../../x.md", "../001-a-b.md", "edits/p/hA/001-a-b.md", "rules/p/hA/x.md"])
def test_only_the_path_of_a_rule_file_can_be_put(tmp_path: Path, path: str) -> None:
    with pytest.raises(Refused):
        RuleFiles(tmp_path).put(path, b"x")


def test_a_listing_is_kept_while_nothing_changes_and_never_hides_a_new_file(tmp_path: Path) -> None:
    files = RuleFiles(tmp_path)
    first = add(files)
    for number in range(2, 40):
        assert files.find("p-1", [f"hA/{number:03d}"]) == {f"hA/{number:03d}": []}
        made = add(RuleFiles(tmp_path))
        assert files.find("p-1", [made.id]) == {made.id: [made.place]}
    for _ in range(3):
        time.sleep(TICK_S * 0.6)
        assert files.find("p-1", [first.id]) == {first.id: [first.place]}
    assert files._listed[tmp_path / "rules" / "p-1" / "hA"].taken < time.monotonic() - TICK_S * 0.5
    made = add(RuleFiles(tmp_path))
    assert files.find("p-1", [made.id]) == {made.id: [made.place]}
    (tmp_path / made.place.path).unlink()
    assert files.find("p-1", [made.id]) == {made.id: []}


def test_a_changed_file_is_read_again_and_an_unchanged_one_is_not(tmp_path: Path) -> None:
    files = RuleFiles(tmp_path)
    made = add(files)
    files.read(made.place)
    reads: list[str] = []
    with fs.observe(lambda event: reads.append(event[0])):
        assert files.read(made.place) == (made, ())
        assert reads == []
        files.put(made.place.path, write_rule(draft(1, "Now another text stands here.")))
        changed, _ = files.read(made.place)
    assert changed is not None and changed.digest != made.digest


def test_proposing_reviewing_and_composing_import_no_git() -> None:
    code = (
        "import sys\n"
        "import ruleproof.edge.rulefiles, ruleproof.edge.approvals, ruleproof.edge.git, ruleproof.edge.userstate\n"
        "import ruleproof.core.continuation, ruleproof.core.review, ruleproof.core.search, ruleproof.core.draft\n"
        "sys.exit(any(name.startswith('dulwich') for name in sys.modules))"
    )
    assert subprocess.run([sys.executable, "-c", code]).returncode == 0
