"""G9: facts outlive divergence, a re-clone and a crash; every form of a rule file is read or named; ids are unique."""

from __future__ import annotations

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conformance.desk import PROJECT, Desk

from ruleproof.edge.userstate import UserState
from ruleproof.errors import Refused


def test_g9_an_approval_outlives_the_checkout(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    rule = desk.propose("security", "Check the archive first.")
    desk.approve(rule.id)
    data = (tmp_path / "pool" / rule.place.path).read_bytes()
    shutil.rmtree(tmp_path / "pool")
    assert desk.in_force() == () and "CORE RULES" not in desk.notice()
    (tmp_path / "pool" / rule.place.path).parent.mkdir(parents=True)
    (tmp_path / "pool" / rule.place.path).write_bytes(data)
    assert Desk(tmp_path / "a", tmp_path / "pool").in_force() == (rule,)


@pytest.mark.parametrize(
    ("change", "codes", "in_force"),
    [
        (lambda data: data.replace(b"\n", b"\r\n"), [], True),
        (lambda data: b"\xef\xbb\xbf" + data, [], True),
        (lambda data: b"<<<<<<< a\n" + data + b"=======\n>>>>>>> b\n", ["conflict-marker"], False),
        (lambda data: data[: len(data) // 3], ["open-front-matter"], False),
        (lambda data: b"\xff" + data, ["bad-encoding"], False),
        (lambda data: b"", ["no-front-matter"], False),
    ],
    ids=["CRLF", "BOM", "conflict", "torn", "encoding", "empty"],
)
def test_g9_every_form_of_a_file_is_read_as_it_was_or_named_with_its_line(
    change: Callable[[bytes], bytes], codes: list[str], in_force: bool, tmp_path: Path
) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    rule = desk.propose("security", "Check the archive first.")
    desk.approve(rule.id)
    path = tmp_path / "pool" / rule.place.path
    path.write_bytes(change(path.read_bytes()))
    problems = desk.files.read_all(PROJECT)[1]
    assert [problem.code for problem in problems] == codes
    assert all(problem.where.startswith(f"{rule.place.path}:") for problem in problems)
    assert bool(desk.in_force()) is in_force


def test_g9_secrets_are_redacted_before_a_text_can_be_shared(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    secret = "sk-" + "a1B2c3D4" * 4
    desk.propose("security", f"Never print {secret}; a mention of sk-XXXX is fine.")
    held = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert secret.encode() not in held and b"sk-XXXX" in held


def test_g9_two_machines_with_one_host_name_have_two_ids(tmp_path: Path) -> None:
    digits = iter(("0a", "1b"))
    ids = [UserState(tmp_path / name).make_harness_id("ci", lambda count: next(digits) * (count // 2)) for name in "xy"]
    assert ids == ["ci-0a0a0a0a", "ci-1b1b1b1b"]


def test_g9_an_id_that_is_no_path_component_is_refused_before_any_file_is_touched(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    for harness in ("../x", "C:\\x", "NUL", "-rf", "--upload-pack=x", "x" * 300, "😀"):
        with pytest.raises(Refused):
            desk.files.create(PROJECT, harness, lambda number, own: None)
        with pytest.raises(Refused):
            desk.files.create(harness, desk.harness, lambda number, own: None)
    assert not (tmp_path / "pool").exists()
