"""G5, G9: an approved rule that is not in force now is in no notice, and never missing in silence."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conformance.desk import Desk
from tests.conformance.person import TEXT, Person

from ruleproof.edge import fs
from ruleproof.harness import Harness


def changed(path: Path) -> None:
    path.write_bytes(path.read_bytes().replace(b"archive", b"servers"))


def conflicted(path: Path) -> None:
    path.write_bytes(path.read_bytes() + b"<<<<<<< mine\n=======\n>>>>>>> theirs\n")


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (changed, "the file is"),
        (conflicted, "no file of it can be read"),
        (lambda path: path.unlink(), "no file of it can be read"),
        (lambda path: path.write_bytes(b""), "no file of it can be read"),
        (lambda path: path.rename(path.with_name("notes.txt")), "no file of it can be read"),
    ],
    ids=["changed", "conflict", "gone", "empty", "renamed"],
)
def test_g5_a_rule_that_dropped_out_is_named_beside_the_notice_and_by_doctor(
    person: Person, damage: Callable[[Path], None], said: str, caplog: pytest.LogCaptureFixture
) -> None:
    person.ok("init", "--yes")
    plain = person.ok("notice").out
    rule, kept = person.propose(), person.propose("Run the replay before tagging.")
    assert person.approve(rule).code == 0
    damage(person.file(rule))
    done = person.ok("notice")
    assert done.out == plain, "no byte of it"
    assert rule in done.err and said in done.err
    assert [problem["where"] for problem in person.json("notice")["absent"]] == [rule]
    hooked = person.ok("hook", "claude-code", stdin=json.dumps({"source": "compact"}))
    assert hooked.out == "" and rule in hooked.err
    with caplog.at_level(logging.WARNING, "ruleproof"):
        Harness.create(harness_root=person.folder / ".ruleproof", project_key="p").continuation_notice("T")
    assert rule in caplog.text
    problems = person("doctor", "--json").json["problems"]
    assert rule in [problem["where"] for problem in problems if problem["severity"] == "error"]
    assert person.approve(kept).code == 0
    assert f"[{kept}]" in person.ok("notice").out and person("notice").err.count("Not in the notice") == 1


def test_g5_where_another_user_decides_this_users_own_approvals_are_named_beside_the_notice(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule, gone = person.propose(), person.propose("Run the replay before tagging.")
    assert (person.approve(rule).code, person.approve(gone).code, person.revoke(gone).code) == (0, 0, 0)
    monkeypatch.setenv("HARNESS_APPROVE_VIA", "other-user")
    for line in (("notice",), ("hook", "claude-code")):
        done = person(*line, "--json", stdin="{}")
        assert done.code == 0 and TEXT not in done.json["text"]
        assert [problem["where"] for problem in done.json["absent"]] == [rule]
        assert f"{rule}: approved by this user, and another user decides here" in done.err


def test_g5_a_disputed_rule_is_named_and_a_revoked_one_is_simply_gone(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    plain = desk.notice()
    rule = desk.propose("veryownword", TEXT)
    desk.approve(rule.id)
    made = desk.governance.notice("Restore")
    assert (made.absent, made.shown) == ((), ((rule.id, rule.digest),))
    assert "(veryownword)" in made.text
    desk.disputed = frozenset({rule.place.path})
    assert [problem.code for problem in desk.governance.notice("Restore").absent] == ["disputed"]
    assert desk.notice() == plain
    desk.disputed = frozenset()
    desk.revoke(rule.id)
    made = desk.governance.notice("Restore")
    assert made.absent == () and made.text == plain and "veryownword" not in made.text


def test_g5_a_checkout_that_cannot_be_read_is_an_error_and_never_a_notice_without_rules(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = person.propose()
    assert person.approve(rule).code == 0
    real = fs.os.listdir

    def denied(path: object) -> list[str]:
        if "rules" in str(path):
            raise PermissionError(13, "Permission denied", str(path))
        return real(path)  # type: ignore[arg-type, return-value]

    with monkeypatch.context() as patch:
        patch.setattr(fs.os, "listdir", denied)
        for line in (("notice",), ("hook", "claude-code"), ("export", "agents-md"), ("search", "archive")):
            done = person(*line)
            assert (done.code, done.out) == (4, "") and "Permission denied" in done.err, (line, done)
    assert f"[{rule}]" in person.ok("notice").out


def test_g5_a_session_in_a_sub_folder_gets_the_same_rules(person: Person, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("HARNESS_PROJECT_KEY")
    git = person.folder / ".git"
    git.mkdir()
    (git / "HEAD").write_text("ref: refs/heads/main\n")
    (git / "config").write_text('[remote "origin"]\n\turl = git@git.example.com:acme/api.git\n')
    rule = person.propose()
    assert person.approve(rule).code == 0
    person.ok("notice")
    here = person.ok("notice").out
    assert f"[{rule}] (security) {TEXT}" in here
    deep = person.folder / "src" / "deep"
    deep.mkdir(parents=True)
    monkeypatch.chdir(deep)
    assert person.ok("notice").out == here
    assert person.json("pool")["canonical"] == "git.example.com/acme/api"
    assert person.ok("hook", "claude-code").out.count(TEXT) == 1
