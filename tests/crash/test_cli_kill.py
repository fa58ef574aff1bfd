"""`kill -9` of real commands: `propose`, `approve` (token and terminal), `pool sync` (publish and fetch).

Each command runs in a process of its own, with its own standard streams, and dies at a named boundary of its writes, or
at a moment that chance chose. Whatever it left, the next command finds no half file, no lock, and every fact that was
acknowledged before; a repeated sync converges.
"""

from __future__ import annotations

import json
import os
import random
import shutil
import signal
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

pytest.importorskip("dulwich")
if not hasattr(os, "fork"):
    pytest.skip("forks its victims", allow_module_level=True)

import pty

from tests.edge.machines import in_pool

import ruleproof.governance as governance
from ruleproof.config import HarnessConfig
from ruleproof.core.projectkey import project_key
from ruleproof.core.rulecommand import Listing
from ruleproof.edge import fs
from ruleproof.edge.pool.remote import Remote
from ruleproof.edge.rulefiles import RuleFiles
from ruleproof.governance import Governance
from ruleproof.surfaces.cli.main import main

PROJECT = project_key(None, "", "p").key
OPENED = os.O_WRONLY | os.O_RDWR
CALLS = {"os.rename", "os.remove", "os.link", "os.mkdir", "os.rmdir", "os.truncate", "fcntl.flock"}
"""What the commands' libraries do to files, beside the named steps of `edge.fs`."""
FIRST, SECOND = "Check the archive before a restore.", "Run the replay before a tag."
AT_MOST, BY_CHANCE = 12, 5


@dataclass(frozen=True)
class Ended:
    """How a command ended. `steps`: the boundaries that it came to, by name; `seconds`: from its start."""

    killed: bool
    code: int
    out: str
    steps: tuple[str, ...]
    seconds: float

    @property
    def acknowledged(self) -> bool:
        return bool(self.out) and bool(json.loads(self.out)["ok"])


@dataclass(frozen=True)
class Machine:
    """One person's state folder and project."""

    home: Path

    def __call__(
        self, *arguments: str, stdin: str = "", typed: str = "", kill_at: int = -1, kill_after: float = 0.0
    ) -> Ended:
        """Run `ruleproof ARGUMENTS --json` in a process. `typed`: what a person at a terminal types (then no JSON)."""
        self.home.mkdir(parents=True, exist_ok=True)
        out, said = self.home.with_suffix(".out"), self.home.with_suffix(".steps")
        ours, theirs = pty.openpty()
        if typed:
            os.write(ours, typed.encode() + b"\n")
        begun = time.monotonic()
        child = os.fork()
        if not child:
            self._child(
                [*arguments, *(() if typed else ("--json",))], stdin, theirs if typed else -1, out, said, kill_at
            )
        if kill_after:
            time.sleep(kill_after)
            os.kill(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        seconds = time.monotonic() - begun
        os.close(ours)
        os.close(theirs)
        killed = os.WIFSIGNALED(status)
        steps = tuple(said.read_text().split("\n")[:-1])
        return Ended(killed, -1 if killed else os.WEXITSTATUS(status), out.read_text(), steps, seconds)

    def _child(self, arguments: list[str], stdin: str, terminal: int, out: Path, said: Path, kill_at: int) -> None:
        code = 99
        try:
            os.chdir(self.home)
            given = self.home.with_suffix(".in")
            given.write_text(stdin)
            os.dup2(terminal if terminal >= 0 else os.open(given, os.O_RDONLY), 0)
            os.dup2(os.open(out, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600), 1)
            os.dup2(terminal if terminal >= 0 else os.open(os.devnull, os.O_WRONLY), 2)
            sys.stdin, sys.stdout, sys.stderr = open(0), open(1, "w"), open(2, "w")  # noqa: SIM115
            governance.default_base = lambda: self.home / "state"
            sys.argv = ["ruleproof", *arguments]
            _die_at(kill_at, os.open(said, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600))
            main()
        except SystemExit as end:
            code = int(end.code or 0)
        finally:
            os._exit(code)

    def ok(self, *arguments: str, **given: str) -> dict[str, object]:
        ended = self(*arguments, **given)  # type: ignore[arg-type]
        assert (ended.killed, ended.code) == (False, 0), (arguments, ended)
        value = json.loads(ended.out) if not given.get("typed") else {}
        assert isinstance(value, dict)
        return value

    def rules(self) -> dict[str, tuple[str, str, str]]:
        """id -> (standing, text, digest), read from the disk as every command does."""
        here = Governance(HarnessConfig(project_key="p"), start=self.home, base=self.home / "state")
        return {row.id: (row.standing, row.rule.text, row.rule.digest) for row in here.review(Listing(everything=True))}

    def propose(self, text: str) -> str:
        return str(self.ok("propose", "ops", text)["id"])

    def approve(self, rule: str) -> None:
        self.ok("approve", rule, typed=self.rules()[rule][2][:12])

    def whole(self) -> None:
        """No file here is half: every rule file reads without a complaint, and so does the ledger."""
        rules, problems = RuleFiles(self.home / "state" / "checkouts" / PROJECT).read_all(PROJECT)
        assert problems == [] and all(rule.intact for rule in rules)
        for ledger in (self.home / "state" / "approvals").glob("*.jsonl"):
            assert all(json.loads(line)["type"] == "rule-status" for line in ledger.read_bytes().splitlines())


def _die_at(kill_at: int, said: int) -> None:
    """Write the name of each boundary as it is reached, and die before the one numbered `kill_at`."""
    count = 0

    def reached(name: str) -> None:
        nonlocal count
        if count == kill_at:
            os.kill(os.getpid(), signal.SIGKILL)
        count += 1
        os.write(said, f"{name}\n".encode())

    def called(event: str, arguments: tuple[object, ...]) -> None:
        if event in CALLS or (event == "open" and isinstance(arguments[2], int) and arguments[2] & OPENED):
            reached(event)

    sys.addaudithook(called)
    fs._listeners.append(lambda event: reached(event[0]) if event[0] != "read" else None)


@pytest.fixture(autouse=True)
def by_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(governance, "require_lasting", lambda base: None)
    monkeypatch.setattr(governance, "environment_names", tuple)
    monkeypatch.setattr(governance, "ancestors", tuple)
    monkeypatch.setattr(governance, "default_base", governance.default_base)
    monkeypatch.setattr("ruleproof.edge.pool.remote.STALE_LOCK_S", 0.05)
    monkeypatch.setenv("HARNESS_PROJECT_KEY", "p")


class Stage:
    """A prepared team that every victim finds anew, at one path, because links between its folders are absolute."""

    def __init__(self, tmp_path: Path) -> None:
        self.live, self._kept = tmp_path / "live", tmp_path / "kept"
        self.live.mkdir()

    def machine(self, name: str) -> Machine:
        return Machine(self.live / name)

    def keep(self) -> None:
        shutil.copytree(self.live, self._kept, symlinks=True)

    def anew(self) -> None:
        shutil.rmtree(self.live)
        shutil.copytree(self._kept, self.live, symlinks=True)

    def victims(self, command: Callable[[int, float], Ended]) -> Iterator[Ended]:
        """The whole command, then one that dies at each boundary (or at some of them), then some that die by chance."""
        self.keep()
        whole = command(-1, 0.0)
        assert whole.code == 0 and not whole.killed, whole
        yield whole
        count = len(whole.steps)
        named = {name: at for at, name in reversed(list(enumerate(whole.steps)))}
        for at in sorted({*range(0, count, max(1, count // AT_MOST)), *named.values(), count - 1}):
            self.anew()
            ended = command(at, 0.0)
            assert ended.killed and ended.steps == whole.steps[:at], (at, ended.steps)
            yield ended
        chance = random.Random(count)
        for _ in range(BY_CHANCE):
            self.anew()
            yield command(-1, chance.uniform(0.1, 1.0) * whole.seconds)


@pytest.fixture
def stage() -> Iterator[Stage]:
    """In memory where there is such a place: a process that dies takes nothing along, and nobody waits for a disk."""
    memory = Path("/dev/shm")
    with tempfile.TemporaryDirectory(dir=memory if memory.is_dir() and os.access(memory, os.W_OK) else None) as place:
        yield Stage(Path(place))


def test_a_killed_propose_leaves_a_whole_rule_or_none_and_the_next_one_works(stage: Stage) -> None:
    a = stage.machine("a")
    kept = a.propose(FIRST)
    seen = set()
    for ended in stage.victims(lambda at, after: a("propose", "ops", SECOND, kill_at=at, kill_after=after)):
        a.whole()
        texts = [text for _, text, _ in a.rules().values()]
        assert texts in ([FIRST], [FIRST, SECOND]) and (not ended.acknowledged or texts == [FIRST, SECOND])
        seen.add(len(texts))
        again = a.propose(SECOND)
        assert sorted(a.rules()) == [kept, again], "said again, it is the same rule"
    assert seen == {1, 2}


def test_a_killed_approve_with_a_token_loses_no_fact_and_a_new_token_works(stage: Stage) -> None:
    a = stage.machine("a")
    kept, rule = a.propose(FIRST), a.propose(SECOND)
    a.approve(kept)
    a.home.joinpath("token").write_text(token_of(a, rule))
    seen = set()
    for ended in stage.victims(lambda at, after: by_token(a, rule, at, after)):
        a.whole()
        standing = {name: found for name, (found, _, _) in a.rules().items()}
        assert standing[kept] == "core", "what was acknowledged stays"
        assert not ended.acknowledged or standing[rule] == "core"
        seen.add(standing[rule])
        if standing[rule] != "core":
            a.ok("approve", rule, "--by-token", stdin=token_of(a, rule))
        assert {found for found, _, _ in a.rules().values()} == {"core"}
    assert seen == {"core", "proposed"}


def token_of(machine: Machine, rule: str) -> str:
    """What a person at a terminal is given."""
    made = machine("approve", rule, "--token", typed=machine.rules()[rule][2][:12])
    assert made.code == 0
    return made.out.strip()


def by_token(machine: Machine, rule: str, at: int, after: float) -> Ended:
    secret = machine.home.joinpath("token").read_text()
    return machine("approve", rule, "--by-token", stdin=secret, kill_at=at, kill_after=after)


def test_a_killed_approve_at_a_terminal_loses_no_fact_and_the_next_one_works(stage: Stage) -> None:
    a = stage.machine("a")
    kept, rule = a.propose(FIRST), a.propose(SECOND)
    a.approve(kept)
    digits = a.rules()[rule][2][:12]
    seen = set()
    for ended in stage.victims(lambda at, after: a("approve", rule, typed=digits, kill_at=at, kill_after=after)):
        a.whole()
        standing = {name: found for name, (found, _, _) in a.rules().items()}
        assert standing[kept] == "core" and ("in force" not in ended.out or standing[rule] == "core")
        seen.add(standing[rule])
        a.approve(rule)
        assert {found for found, _, _ in a.rules().values()} == {"core"}
        assert FIRST in str(a.ok("notice")["text"]) and SECOND in str(a.ok("notice")["text"])
    assert seen == {"core", "proposed"}


@pytest.mark.parametrize("doing", ["publish", "fetch"])
def test_a_killed_sync_is_finished_by_the_next_one_and_everybody_agrees(stage: Stage, doing: str) -> None:
    a, b = stage.machine("a"), stage.machine("b")
    pool = str(stage.live / "team.git")
    a.ok("pool", "link", pool, "--create")
    b.ok("pool", "link", pool)
    ours = a.propose(FIRST)
    a.ok("pool", "sync")
    b.ok("pool", "sync")
    b.approve(ours)
    if doing == "publish":
        b.propose(SECOND)
    else:
        b.ok("pool", "sync")
        a.propose(SECOND)
        a.ok("pool", "sync")
    for ended in stage.victims(lambda at, after: b("pool", "sync", kill_at=at, kill_after=after)):
        b.whole()
        assert b.rules()[ours][0] == "core", "an approval that was acknowledged stays"
        again = b.ok("pool", "sync")
        assert (again["mode"], again["problems"], again["pending"]) == ("synced", [], [])
        assert not ended.acknowledged or (again["published"], again["received"]) == ([], [])
        assert a.ok("pool", "sync")["problems"] == []
        a.whole()
        texts = [sorted(text for _, text, _ in machine.rules().values()) for machine in (a, b)]
        assert texts == [[FIRST, SECOND], [FIRST, SECOND]]
        assert {found for found, _, _ in a.rules().values()} == {"proposed"}
        held = in_pool(Remote(pool))
        copy = next(data for path, data in held.items() if path.startswith("edits/"))
        assert copy == next((b.home / "state" / "approvals").glob("*.jsonl")).read_bytes()
        assert sum(path.endswith(".md") and path.startswith("rules/") for path in held) == 2
        for folder in (Path(pool), *(b.home / "state" / "pools").glob("*/git")):
            assert not list(folder.rglob("*.lock"))
