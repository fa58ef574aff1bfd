"""The shared pool, carried by git (dulwich, the extra `git`): one pass brings, checks, publishes.

One folder a writer: nobody but this machine writes its folder, and this machine writes no other. A pass builds on what
the pool holds now and replays onto it what this machine wrote itself; nothing is merged, forced or deleted there, and
what could not be published stays here and is named. Import this package only where somebody syncs.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Literal

from ruleproof.codec.facts import DISPUTES, read_disputes, read_facts, write_disputes
from ruleproof.codec.rulefile import read_rule
from ruleproof.codec.shards import Entry, changed, entry_of
from ruleproof.core.admission import folders, named_foreign
from ruleproof.core.approval import CurationFact
from ruleproof.core.ids import canonical, component
from ruleproof.core.problems import Problem
from ruleproof.core.proposal import number_of, place_of
from ruleproof.core.secrets import redact
from ruleproof.edge import fs
from ruleproof.edge.pool.remote import Code, Fetched, Remote
from ruleproof.edge.pool.store import GitStore, blob_sha
from ruleproof.edge.pool.taking import Files, Keep, Taken, Taking, fits
from ruleproof.errors import NotFound, Refused, StoreError

_Cache = dict[str, list[str]]
Facts = Callable[[], Mapping[str, bytes]]
MAX_TRIES = 8
WAIT_S = 120.0
"""How long a pass waits for another one of this user."""
FACTS = "curation.jsonl"


@dataclass(frozen=True, slots=True)
class SyncReport:
    """What one pass did. `local-only` is a normal state: `code` and `detail` say why, `pending` what waits."""

    mode: Literal["synced", "local-only"]
    code: Code = "ok"
    detail: str = ""
    received: tuple[str, ...] = ()
    """Pool paths that were written here."""
    published: tuple[str, ...] = ()
    """Pool paths of ours that the pool has now and had not before, or had otherwise."""
    pending: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


class Pool:
    """One pool on this machine. `files`: its checkout; `store`: a private folder of the state; `harness`: our id."""

    def __init__(self, files: Files, store: Path, harness: str) -> None:
        self._files = files
        self._store = store
        self._harness = canonical(harness, "harness")

    def sync(self, remote: Remote, facts: Facts, now: int, keep: Keep) -> SyncReport:
        """One pass. `facts`: project -> the ledger to publish as a copy, asked for once this pass has its turn, so that
        one which waited never publishes less than the one before it; `now`: seconds since 1970, UTC; `keep`: whether a
        rule is approved here, so that it stays when it is gone from the pool.

        Never raises for what the pool holds or for a pool that cannot be reached; raises StoreError when this machine's
        own disk refuses.
        """
        with self._writing() as git:
            report = self._pass(git, remote, facts(), now, keep)
        return replace(report, code="rejected") if report.code == "moved" else report

    @contextmanager
    def _writing(self) -> Iterator[GitStore]:
        fs.mkdir(self._store)
        try:
            with (
                fs.lock(self._store / "sync.lock", timeout_s=WAIT_S),
                GitStore(self._store / "git", writing=True) as git,
            ):
                yield git
        except StoreError:
            raise
        except OSError as error:
            raise StoreError(
                f"{error.filename or self._store}: {error.strerror or error}.",
                hint="Check free space and permissions; what was not published waits.",
            ) from error

    @contextmanager
    def _reading(self) -> Iterator[GitStore]:
        """Waits for nobody: a pass that waits for the network must not hold up whoever proposes."""
        fs.mkdir(self._store)
        with GitStore(self._store / "git") as git:
            yield git

    def _pass(self, git: GitStore, remote: Remote, facts: Mapping[str, bytes], now: int, keep: Keep) -> SyncReport:
        received: list[str] = []
        published: list[str] = []
        problems: list[Problem] = []
        code: Code = "moved"
        detail = ""
        for _ in range(MAX_TRIES):
            got = remote.fetch(git, git.ref("remote"))
            if got.code != "ok":
                code, detail = got.code, got.detail
                break
            taken = self._take(git, got, facts, keep)
            received += taken.received
            problems = taken.problems
            mine, unfit = self._unpublished(git, git.tree_of(got.head), facts)
            problems += unfit
            published = sorted(mine)
            if not mine:
                return SyncReport("synced", received=tuple(received), problems=tuple(problems))
            cache = _read_cache(fs.read_bytes(self._store / "entries.json"))
            commit = self._commit(git, got, mine, now, cache)
            code, detail = remote.push(git, got.branch, got.head, commit)
            if code == "ok":
                git.set_ref("remote", commit)
                fs.write_atomic(self._store / "entries.json", json.dumps(cache).encode(), sync=False)
                self._record(git, {path: blob_sha(data) for path, data in mine.items()})
                return SyncReport("synced", "ok", "", tuple(received), tuple(published), (), tuple(problems))
            if code != "moved":
                break
        pending = self._pending(git, facts)
        return SyncReport("local-only", code, detail, tuple(received), (), pending, tuple(problems))

    # --- taking ------------------------------------------------------------------------------------------------------

    def _take(self, git: GitStore, got: Fetched, facts: Mapping[str, bytes], keep: Keep) -> Taken:
        """Write what is new into the checkout, then remember it as seen, in this order: a crash repeats the pass."""
        tree = git.tree_of(got.head)
        if got.head and tree is None:
            damaged = Problem("damaged-pool", "the newest commit is damaged; nothing of it is read")
            return Taken(problems=[damaged])
        taken = Taking(git, self._files, self._harness, keep).take(tree)
        self._check_facts(git, tree, facts, taken)
        if got.head:
            git.set_ref("remote", got.head)
        self._record(git, taken.changes)
        fs.write_atomic(self._store / DISPUTES, write_disputes(taken.disputed))
        return taken

    def _check_facts(self, git: GitStore, tree: str | None, facts: Mapping[str, bytes], taken: Taken) -> None:
        """Facts in the pool under our own name that we did not publish: named, and replaced by the next publish."""
        for project, ours in facts.items():
            offered = git.files(tree, "edits", project, self._harness).get(FACTS)
            known = git.files(git.ref("seen"), "edits", project, self._harness).get(FACTS)
            if offered in (None, known) or (known is None and ours.startswith(git.blob(offered or "") or b"\0")):
                continue
            where = f"edits/{project}/{self._harness}/{FACTS}"
            message = (
                "facts under this machine's name that it did not publish; they have no effect, and ours replace them"
            )
            taken.problems.append(Problem("forged-facts", message, where))

    def _record(self, git: GitStore, changes: Mapping[str, str | None]) -> None:
        if changes:
            git.set_ref("seen", git.changed(git.ref("seen"), changes))

    # --- publishing --------------------------------------------------------------------------------------------------

    def _own_shas(self, project: str) -> dict[str, str]:
        """name -> sha of our own rule files of `project`, as they stand on the disk."""
        where = f"rules/{project}/{self._harness}"
        names = [name for name in self._files.names(project, self._harness) if place_of(f"{where}/{name}")]
        found = {name: self._files.bytes_at(f"{where}/{name}") for name in names}
        return {name: blob_sha(data) for name, data in found.items() if data is not None}

    def _unpublished(
        self, git: GitStore, tree: str | None, facts: Mapping[str, bytes]
    ) -> tuple[dict[str, bytes], list[Problem]]:
        """path -> bytes of ours that the pool's `tree` does not have so, and what of ours is not fit to be shared.

        A path that somebody else took is left out.
        """
        mine: dict[str, bytes] = {}
        unfit: list[Problem] = []
        foreign: list[str] = []
        for project in self._files.projects():
            theirs = git.files(tree, "rules", project, self._harness)
            seen = git.files(git.ref("seen"), "rules", project, self._harness)
            for name, sha in self._own_shas(project).items():
                if theirs.get(name) == sha:
                    continue
                path = f"rules/{project}/{self._harness}/{name}"
                data = self._files.bytes_at(path) or b""
                ours = self._files.wrote(path, data)
                problem = _unfit(path, data, bool(ours))
                if ours is None:
                    foreign.append(path)
                elif problem is not None:
                    unfit.append(problem)
                elif name not in theirs or seen.get(name) == sha:
                    mine[path] = data
        for project, data in facts.items():
            where = ("edits", component(project, "project"), self._harness)
            offered = git.files(tree, *where).get(FACTS)
            if offered != blob_sha(data) and (data or offered):
                mine["/".join((*where, FACTS))] = data
        return mine, [*unfit, *named_foreign(foreign)]

    def _pending(self, git: GitStore, facts: Mapping[str, bytes]) -> tuple[str, ...]:
        return tuple(sorted(self._unpublished(git, git.tree_of(git.ref("remote")), facts)[0]))

    def _commit(self, git: GitStore, got: Fetched, mine: Mapping[str, bytes], now: int, cache: _Cache) -> str:
        old = git.tree_of(got.head)
        tree = git.changed(old, {path: git.add_blob(data) for path, data in mine.items()})
        before = _entries(git, old, cache)
        after = before | _entries(git, tree, cache, within=mine)
        shards = changed(before if git.folder(old, "index") else {}, after)
        tree = git.changed(tree, {path: git.add_blob(data) if data else None for path, data in shards.items()})
        rules = sum(path.startswith("rules/") for path in mine)
        message = f"{self._harness}: {rules} rule files, {len(mine) - rules} ledgers\n"
        author = f"{self._harness} <{self._harness}@ruleproof.invalid>"
        return git.commit(tree, got.head, author, message, now)

    # --- asking ------------------------------------------------------------------------------------------------------

    def taken(self, project: str) -> set[int]:
        """Numbers that must not be given again, files of them here or not: all up to the last one that we published,
        and those that stand in the pool under our id, whoever put them there."""
        with self._reading() as git:
            trees = (git.ref("seen"), git.tree_of(git.ref("remote")))
            seen, offered = (
                {number for name in git.files(tree, "rules", project, self._harness) if (number := number_of(name))}
                for tree in trees
            )
        return offered.union(range(1, 1 + max(seen, default=0)))

    def claims(self, project: str) -> dict[str, tuple[CurationFact, ...]]:
        """writer -> what others say they decided: for people to read; nothing obeys it."""
        found: dict[str, tuple[CurationFact, ...]] = {}
        with self._reading() as git:
            tree = git.folder(git.tree_of(git.ref("remote")), "edits", component(project, "project"))
            for writer in folders(git.pieces(tree), f"edits/{project}")[0]:
                sha = git.files(tree, writer).get(FACTS)
                data = git.blob(sha) if sha and fits(git, sha) else None
                if data and writer != self._harness:
                    found[writer] = read_facts(data, f"edits/{project}/{writer}/{FACTS}")[0]
        return found

    def verify(self, *, repair: bool = False) -> tuple[Problem, ...]:
        """Files of the checkout that are not what was taken from the pool or published; `repair` puts that back."""
        problems: list[Problem] = []
        with self._writing() as git:
            for path, sha in _walk(git, git.ref("seen")):
                data = self._files.bytes_at(path)
                if data is not None and blob_sha(data) == sha:
                    continue
                message = "missing here" if data is None else "changed here since it was taken from the pool"
                problems.append(Problem("checkout-differs", message, path))
                kept = git.blob(sha)
                if repair and kept is not None:
                    self._files.put(path, kept)
        return tuple(problems)

    def offered(self, path: str) -> tuple[str, ...]:
        """What `accept` can take at `path`, or below it where it is a folder: files in dispute, and files under this
        machine's id that it has no record of."""
        with self._reading() as git:
            return tuple(sorted(self._offered(git, path.rstrip("/"))))

    def _offered(self, git: GitStore, path: str) -> dict[str, str]:
        tree = git.tree_of(git.ref("remote"))
        disputed = read_disputes(fs.read_bytes(self._store / DISPUTES))
        found: dict[str, str] = {}
        for offered, sha in _walk(git, tree, path):
            place = place_of(offered)
            if place is None or offered != offered.lower() or not fits(git, sha):
                continue
            own = place.harness == self._harness
            if offered in disputed or (own and self._files.wrote(offered, git.blob(sha) or b"") is None):
                found[offered] = sha
        return found

    def accept(self, path: str) -> tuple[str, ...]:
        """Take what `offered` names: a person's act; approval is a second one. Returns the paths taken.

        Raises NotFound where there is nothing, Refused where a rule of ours has the number already.
        """
        with self._writing() as git:
            found = self._offered(git, path.rstrip("/"))
            if not found:
                raise NotFound(f"{path} is not in dispute.", hint="`ruleproof doctor` lists what is.")
            for taken, sha in found.items():
                data = git.blob(sha) or b""
                self._claim(taken, data)
                self._files.put(taken, data)
            self._record(git, found)
            disputed = read_disputes(fs.read_bytes(self._store / DISPUTES))
            fs.write_atomic(self._store / DISPUTES, write_disputes(disputed - found.keys()))
        return tuple(sorted(found))

    def _claim(self, path: str, data: bytes) -> None:
        """Record a file under our own id as written by us."""
        place = place_of(path)
        if place is None or place.harness != self._harness:
            return
        names = self._files.names(place.project, place.harness)
        others = [other for name in names if (other := place_of(f"{path.rpartition('/')[0]}/{name}"))]
        if any(other.number == place.number and not self._files.foreign(other) for other in others):
            raise Refused(f"{place.rule_id} is another rule of this machine's.", hint="Nothing more was taken.")
        self._files.own(path, data)


def _unfit(path: str, data: bytes, ours: bool) -> Problem | None:
    """Why a file in our folder must not be shared: nobody can take it back. `ours`: it is as it was written."""
    place = place_of(path)
    rule = read_rule(place, data)[0] if place else None
    if not ours or rule is None or not rule.intact:
        return Problem("not-published", "it is no whole rule file, or was changed after it was written", path)
    kinds = redact(data.decode("utf-8", "replace"))[1]
    if kinds:
        return Problem("not-published", f"it holds a secret ({', '.join(kinds)})", path)
    return None


def _entries(
    git: GitStore, tree: str | None, cache: _Cache, within: Mapping[str, bytes] | None = None
) -> dict[str, Entry]:
    """path -> index entry of every readable rule file in `tree` (of those `within`); `cache` gains what it lacks."""
    found: dict[str, Entry] = {}
    for path, sha in _walk(git, tree):
        place = place_of(path) if within is None or path in within else None
        if place is None:
            continue
        if sha not in cache:
            rule = read_rule(place, git.blob(sha) or b"")[0]
            entry = entry_of(rule) if rule else None
            cache[sha] = [entry.day, entry.title, *entry.labels] if entry else []
        if row := cache[sha]:
            found[path] = Entry(path, row[0], row[1], tuple(row[2:]))
    return found


def _walk(git: GitStore, tree: str | None, within: str = "rules") -> Iterator[tuple[str, str]]:
    """path -> sha of the files in the writers' folders; `within`: the path of a file or folder."""
    for project in git.folders(tree, "rules"):
        for writer in git.folders(tree, "rules", project):
            where = f"rules/{project}/{writer}"
            if not f"{within}/".startswith(f"{where}/") and not f"{where}/".startswith(f"{within}/"):
                continue
            for name, sha in git.files(tree, "rules", project, writer).items():
                if f"{where}/{name}/".startswith(f"{within}/"):
                    yield f"{where}/{name}", sha


def _read_cache(data: bytes | None) -> _Cache:
    """sha of a file -> day, title and labels of its index entry, or nothing for one that is no rule."""
    try:
        return {sha: [str(part) for part in row] for sha, row in json.loads(data or b"{}").items()}
    except (ValueError, TypeError, AttributeError):
        return {}
