"""G3 on the disk: a decision is one line of this machine's own ledger, or an error; no success is claimed otherwise."""

from __future__ import annotations

import errno
import json
from collections.abc import Callable
from pathlib import Path

import pytest
from tests.conformance.desk import Desk
from tests.conformance.person import PROJECT, TEXT, Person

from ruleproof.edge import fs


def test_g3_approving_another_machines_rule_appends_one_line_to_the_own_ledger_and_touches_nothing_else(
    tmp_path: Path,
) -> None:
    a, b = Desk(tmp_path / "a", tmp_path / "pool"), Desk(tmp_path / "b", tmp_path / "pool")
    rule = a.propose("security", TEXT)
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    b.approve(rule.id)
    b.revoke(rule.id)
    ledger = b.home / "state" / "approvals" / f"{b.project}.jsonl"
    head = f'{{"type":"rule-status","rule":"{rule.id}","digest":"{rule.digest}","status":'
    at = ',"at":"2026-09-20T12:00:00.000Z"}\n'
    assert ledger.read_text() == f'{head}"core"{at}{head}"revoked"{at}'
    after = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    assert {path for path in after if after[path] != before.get(path)} - {ledger} <= {ledger.with_suffix(".lock")}
    assert before.keys() <= after.keys()


def test_g3_an_approval_counts_in_its_project_alone(tmp_path: Path) -> None:
    one = Desk(tmp_path / "a", tmp_path / "pool")
    rule = one.propose("security", TEXT)
    one.approve(rule.id)
    other = Desk(tmp_path / "a", tmp_path / "pool2", project="p-2")
    copy = tmp_path / "pool2" / rule.place.path.replace(one.project, other.project)
    copy.parent.mkdir(parents=True)
    copy.write_bytes((tmp_path / "pool" / rule.place.path).read_bytes())
    (same,) = other.rules()
    assert (same.id, same.digest) == (rule.id, rule.digest)
    assert one.in_force() == (rule,) and other.in_force() == () and "CORE RULES" not in other.notice()


@pytest.fixture
def readonly(monkeypatch: pytest.MonkeyPatch) -> Callable[[], None]:
    """From now on the disk takes nothing, as a read-only file system does, whoever asks."""

    def refuse() -> None:
        real = fs.os.open

        def opened(path: object, flags: int, *more: object, **named: object) -> int:
            if flags & (fs.os.O_WRONLY | fs.os.O_RDWR | fs.os.O_CREAT):
                raise OSError(errno.EROFS, "Read-only file system", str(path))
            return real(path, flags, *more, **named)  # type: ignore[arg-type, return-value]

        monkeypatch.setattr(fs.os, "open", opened)

    return refuse


def test_g3_a_disk_that_takes_nothing_is_an_error_of_every_verb_that_writes(
    person: Person, tmp_path: Path, readonly: Callable[[], None]
) -> None:
    pytest.importorskip("dulwich")
    person.ok("init", "--yes")
    person.ok("pool", "link", str(tmp_path / "team.git"), "--create")
    rule, core = person.propose(), person.propose("Run the replay before tagging.")
    assert person.approve(core).code == 0
    digest = str(person.rows()[rule]["digest"])
    readonly()
    before = {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()}
    for line, typed in (
        (("propose", "security", "Another text for the archive."), ""),
        (("approve", rule), digest[:12]),
        (("approve", rule, "--token"), digest[:12]),
        (("revoke", core), core),
        (("rules", "adopt", rule), digest[:12]),
        (("pool", "link", str(tmp_path / "team.git")), ""),
        (("pool", "sync"), ""),
        (("notice", "--to", str(tmp_path / "notice.md")), ""),
        (("command", "/chapters-rule add security Another text for the archive."), ""),
    ):
        done = person(*line, stdin=typed + "\n", tty=bool(typed))
        assert done.code == 4 and "Read-only" in done.err, (line, done)
        assert not done.out.strip(), line
    assert {path: path.read_bytes() for path in tmp_path.rglob("*") if path.is_file()} == before
    assert person.standing() == {rule: "proposed", core: "core"}
    assert f"[{core}]" in person.ok("notice").out, "what only reads goes on"


def test_g3_a_ledger_that_cannot_be_read_is_an_error_and_not_an_empty_one(person: Person) -> None:
    rule = person.propose()
    assert person.approve(rule).code == 0
    ledger = person.base / "approvals" / f"{PROJECT}.jsonl"
    data = ledger.read_bytes()
    ledger.unlink()
    ledger.mkdir()
    for line in (("notice",), ("review",), ("hook", "claude-code"), ("export", "agents-md"), ("approvals",)):
        done = person(*line)
        assert done.code != 0 and "CORE RULES" not in done.out, line
    ledger.rmdir()
    ledger.write_bytes(data.replace(b'"core"', b'"promoted??"'))
    assert person.standing() == {rule: "unknown"} and f"[{rule}]" not in person.ok("notice").out
    assert rule in person("notice").err, "and whoever asks for the notice is told"
    ledger.write_bytes(data[:-20])
    assert person.standing() == {rule: "unknown"}
    ledger.write_bytes(json.dumps(json.loads(data)).encode())
    assert person.standing() == {rule: "core"}, "spaces and a missing line end change nothing"
