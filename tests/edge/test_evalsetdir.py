"""The eval-set on disk: what is listed, what is read anew, what is left alone."""

from __future__ import annotations

import os
from dataclasses import replace
from pathlib import Path

import pytest

from ruleproof.codec.evalcases import MAX_BYTES, encode
from ruleproof.core.evalcase import ON_DISK, EvalCase
from ruleproof.edge import fs
from ruleproof.edge.evalsetdir import EvalSetDir
from ruleproof.errors import Conflict, Refused, RuleproofError


def case(number: int = 1, **more: object) -> EvalCase:
    made = EvalCase(f"c-{number:010x}", f"2026-01-{number:02d}", f"s{number}", replay_input={"q": number})
    return replace(made, **more)  # type: ignore[arg-type]


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    place = tmp_path / "evalset"
    place.mkdir()
    return place


@pytest.fixture
def evalset(folder: Path) -> EvalSetDir:
    return EvalSetDir(folder)


def test_a_listing_is_oldest_first_and_carries_no_input(evalset: EvalSetDir) -> None:
    for number in (3, 1, 2):
        evalset.add(case(number, replay_input=None if number == 2 else {"q": number}))
    assert [one.session_id for one in evalset.listed()] == ["s1", "s2", "s3"]
    assert [one.replay_input for one in evalset.listed()] == [ON_DISK, None, ON_DISK]
    assert evalset.read(case(1).id) == case(1)


def test_an_input_that_was_read_is_nobody_elses(evalset: EvalSetDir) -> None:
    evalset.add(case())
    first = evalset.read(case().id)
    assert first is not None and isinstance(first.replay_input, dict)
    first.replay_input["q"] = "forged"
    assert evalset.read(case().id) == case()


def test_a_second_listing_reads_only_what_changed(evalset: EvalSetDir, folder: Path) -> None:
    for number in range(1, 6):
        evalset.add(case(number))
    evalset.listed()
    read: list[str] = []
    with fs.observe(lambda event: read.append(Path(event[1]).name) if event[0] == "read" else None):
        evalset.listed()
        assert read == []
        EvalSetDir(folder).put(case(2, notes="another process wrote"))
        assert [one.notes for one in evalset.listed()].count("another process wrote") == 1
    assert read == [f"{case(2).id}.json"]


def test_a_new_case_is_synced_before_add_returns_and_never_replaces_another(evalset: EvalSetDir) -> None:
    steps: list[str] = []
    with fs.observe(lambda event: steps.append(event[0])):
        evalset.add(case())
    assert steps.index("create.sync") < steps.index("dir.sync")
    with pytest.raises(Conflict):
        evalset.add(case(notes="other"))
    assert evalset.read(case().id) == case()


def test_a_listed_case_cannot_be_written_back_without_its_input(evalset: EvalSetDir) -> None:
    evalset.add(case())
    with pytest.raises(Refused):
        evalset.put(evalset.listed()[0])
    assert evalset.read(case().id) == case()


def test_removing_says_whether_there_was_one(evalset: EvalSetDir) -> None:
    evalset.add(case())
    assert evalset.remove(case().id) is True
    assert evalset.remove(case().id) is False
    assert evalset.listed() == []


def test_files_that_cannot_be_read_are_named_and_the_rest_is_listed(evalset: EvalSetDir, folder: Path) -> None:
    evalset.add(case())
    (folder / "c-broken.json").write_text("{")
    (folder / "c-other.json").write_bytes(encode(case(2)))
    (folder / "c-huge.json").write_bytes(b" " * (MAX_BYTES + 1))
    (folder / "c-folder.json").mkdir()
    (folder / "c-link.json").symlink_to(folder / f"{case().id}.json")
    os.mkfifo(folder / "c-pipe.json")
    (folder / "notes.txt").write_text("not ours")
    assert [one.id for one in evalset.listed()] == [case().id]
    found = {problem.where: problem.code for problem in evalset.problems()}
    assert found == {
        "evalset/c-broken.json": "broken-file",
        "evalset/c-other.json": "bad-id",
        "evalset/c-huge.json": "odd-file",
        "evalset/c-folder.json": "odd-file",
        "evalset/c-link.json": "unreadable",
        "evalset/c-pipe.json": "odd-file",
    }
    assert all(evalset.read(name) is None for name in ("c-broken", "c-other", "c-huge", "c-folder", "c-link", "c-pipe"))


def test_a_folder_that_is_missing_holds_nothing(tmp_path: Path) -> None:
    evalset = EvalSetDir(tmp_path / "nowhere")
    assert (evalset.listed(), evalset.problems(), evalset.read("c-1")) == ([], [], None)


def test_a_folder_that_is_a_file_is_a_problem_and_refuses_a_new_case(tmp_path: Path) -> None:
    (tmp_path / "evalset").write_text("x")
    evalset = EvalSetDir(tmp_path / "evalset")
    assert evalset.listed() == [] and evalset.problems()[0].code == "unreadable"
    with pytest.raises(RuleproofError):
        evalset.add(case())


@pytest.mark.parametrize("name", ["../../x", "C:\\x", "NUL", "-rf", "--upload-pack=x", "a/b", "", ".x", "x" * 129, "é"])
def test_an_id_that_could_be_a_path_is_refused_before_any_file_is_touched(evalset: EvalSetDir, name: str) -> None:
    touched: list[object] = []
    with fs.observe(touched.append):
        for call in (evalset.read, evalset.remove):
            with pytest.raises(Refused):
                call(name)
        for write in (evalset.add, evalset.put):
            with pytest.raises(Refused):
                write(case(id=name))
    assert touched == []
