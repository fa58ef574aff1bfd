"""Three machines and one bare repository, real processes: what one person approves binds nobody else.

Each machine has a state folder of its own, given to the process by name; each person sits at a pseudo-terminal.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

if sys.platform == "win32":
    pytest.skip("needs pseudo-terminals", allow_module_level=True)

import pty

from tests.edge.machines import in_pool, push

from ruleproof.edge.pool.remote import Remote

PROGRAM = """
import sys
from pathlib import Path
import ruleproof.governance as governance
base = Path(sys.argv.pop(1))
governance.default_base = lambda: base
governance.require_lasting = lambda base: None
governance.environment_names = governance.ancestors = tuple
from ruleproof.surfaces.cli.main import main
main()
"""
TEXT = "Check the archive before starting a restore."
TITLE = ("notice", "--title", "Restore")


@dataclass
class Machine:
    """A person's machine: a clone of the code, a home, a state folder."""

    place: Path
    remote: str

    def __post_init__(self) -> None:
        git = self.place / "code" / ".git"
        git.mkdir(parents=True)
        (git / "HEAD").write_text("ref: refs/heads/main\n")
        (git / "config").write_text(f'[remote "origin"]\n\turl = {self.remote}\n')

    def run(self, *arguments: str, typed: str | None = None) -> subprocess.CompletedProcess[str]:
        """One process; with `typed`, a person at a terminal types that."""
        command = [sys.executable, "-c", PROGRAM, str(self.place / "state"), *arguments]
        home = {**os.environ, "HOME": str(self.place), "PYTHONUTF8": "1"}
        where = self.place / "code"
        if typed is None:
            return subprocess.run(
                command, cwd=where, env=home, capture_output=True, text=True, timeout=120, stdin=subprocess.DEVNULL
            )
        ours, theirs = pty.openpty()
        try:
            os.write(ours, typed.encode() + b"\n")
            return subprocess.run(
                command,
                cwd=where,
                env=home,
                stdin=theirs,
                stdout=subprocess.PIPE,
                stderr=theirs,
                text=True,
                timeout=120,
            )
        finally:
            os.close(theirs)
            os.close(ours)

    def ok(self, *arguments: str, typed: str | None = None) -> str:
        done = self.run(*arguments, typed=typed)
        assert done.returncode == 0, (arguments, done)
        return done.stdout

    def json(self, *arguments: str) -> dict[str, Any]:
        value = json.loads(self.ok(*arguments, "--json"))
        assert isinstance(value, dict)
        return value

    def standing(self) -> dict[str, str]:
        return {row["id"]: row["standing"] for row in self.json("review", "--all")["rules"]}

    def decide(self, verb: str, rule: str) -> None:
        digest = {row["id"]: row["digest"] for row in self.json("review", "--all")["rules"]}[rule]
        self.ok(verb, rule, typed=digest[:12] if verb == "approve" else rule)

    def sync(self) -> dict[str, Any]:
        return self.json("pool", "sync")


@pytest.fixture
def team(tmp_path: Path) -> tuple[Machine, Machine, Machine, Remote]:
    pool = str(tmp_path / "team-rules.git")
    addresses = (
        "https://git.example.com/acme/api.git",
        "git@git.example.com:acme/api",
        "ssh://git@git.example.com/acme/API",
    )
    a, b, c = (Machine(tmp_path / name, url) for name, url in zip("abc", addresses, strict=True))
    a.ok("pool", "link", pool, "--create")
    b.ok("pool", "link", pool)
    c.ok("pool", "link", pool)
    return a, b, c, Remote(pool)


def test_what_one_person_approves_binds_nobody_else_and_a_changed_file_drops_out(
    team: tuple[Machine, Machine, Machine, Remote],
) -> None:
    a, b, c, remote = team
    plain = c.ok(*TITLE)
    rule = a.json("propose", "security", TEXT)["id"]
    assert a.sync()["published"]
    assert b.sync()["received"] and c.sync()["received"]
    assert b.standing() == c.standing() == {rule: "proposed"}
    assert b.ok(*TITLE) == c.ok(*TITLE) == plain, "a proposal reaches no notice"
    assert [hit["id"] for hit in b.json("search", "archive restore")["hits"]] == [rule], "a person finds it"
    b.decide("approve", rule)
    decided = b.sync()
    assert not [path for path in decided["published"] if path.startswith("rules/")], "a fact alone travels, too"
    assert len(decided["published"]) == 1
    c.sync(), a.sync()
    assert f"\n[{rule}] (security) {TEXT}\n" in b.ok(*TITLE)
    assert c.ok(*TITLE) == a.ok(*TITLE) == plain, "nobody else is governed, the author neither"
    assert any(path.startswith("edits/") for path in in_pool(remote)), "the pool has a copy of what b decided"

    path = next(path for path in in_pool(remote) if path.startswith("rules/"))
    push(remote, {path: in_pool(remote)[path].replace(b"Check the archive", b"Delete the archive")})
    b.run("pool", "sync", "--json")
    assert b.ok(*TITLE) == plain, "the file that b approved is not what the pool offers now"
    b.ok("init", "--yes")
    doctor = b.run("doctor")
    assert doctor.returncode == 1
    assert "[disputed]" in doctor.stdout and path.rpartition("/")[2] in doctor.stdout.replace("\n  ", "")
    named = a.run("pool", "sync")
    assert (named.returncode, path.rpartition("/")[2] in named.stdout.replace("\n  ", "")) == (1, True)
    b.sync()
    assert TEXT in b.ok(*TITLE), "its author's next sync puts the file right"

    push(remote, {path: in_pool(remote)[path].replace(b"Check the archive", b"Delete the archive")})
    b.run("pool", "sync")
    assert b.run("pool", "accept", path).returncode == 1, "taking it needs a person"
    b.ok("pool", "accept", path, typed="y")
    assert b.standing() == {rule: "changed"}
    assert b.ok(*TITLE) == plain, "taken is not approved"


def test_a_divergence_with_an_approval_and_a_revocation_in_flight_loses_nothing(
    team: tuple[Machine, Machine, Machine, Remote],
) -> None:
    a, b, _, remote = team
    first = a.json("propose", "security", TEXT)["id"]
    a.sync(), b.sync()
    a.decide("approve", first)
    b.decide("approve", first)
    second = a.json("propose", "release", "Run the replay before tagging.")["id"]
    third = b.json("propose", "release", "Tag only what was replayed.")["id"]
    b.decide("revoke", first)
    a.sync(), b.sync(), a.sync()
    assert a.standing() == {first: "core", second: "proposed", third: "proposed"}
    assert b.standing() == {first: "revoked", second: "proposed", third: "proposed"}
    ledgers = [data for path, data in in_pool(remote).items() if path.endswith("/curation.jsonl")]
    statuses = sorted([json.loads(line)["status"] for line in data.splitlines()] for data in ledgers)
    assert statuses == [["core"], ["core", "revoked"]]


def test_offline_is_a_normal_state_and_a_new_state_folder_approves_nothing(
    team: tuple[Machine, Machine, Machine, Remote], tmp_path: Path
) -> None:
    a, _, _, remote = team
    os.rename(remote.address, tmp_path / "gone")
    rule = a.json("propose", "security", TEXT)["id"]
    waiting = json.loads(a.run("pool", "sync", "--json").stdout)
    assert (waiting["mode"], len(waiting["pending"])) == ("local-only", 1)
    a.decide("approve", rule)
    assert TEXT in a.ok(*TITLE), "approving needs no pool"
    os.rename(tmp_path / "gone", remote.address)
    a.sync()
    again = Machine(tmp_path / "a2", a.remote)
    again.ok("pool", "link", remote.address)
    again.sync()
    assert again.standing() == {rule: "proposed"}


def test_without_a_terminal_a_real_process_approves_nothing(team: tuple[Machine, Machine, Machine, Remote]) -> None:
    a, *_ = team
    rule = a.json("propose", "security", TEXT)["id"]
    done = a.run("approve", rule)
    assert (done.returncode, "needs a person" in done.stderr) == (1, True)
    assert a.run("approve", rule, typed="yes").returncode == 1
    assert a.standing() == {rule: "proposed"}
