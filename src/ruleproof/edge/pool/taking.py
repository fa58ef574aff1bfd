"""What a pass takes from the pool into the checkout: another writer's files as first seen, of our own what we wrote.

What is gone from the pool stays here where it is approved, and goes where it is not: nobody governs another machine by
deleting, and what an attack left can be cleaned up. Nothing here is remembered as seen; the pass does that afterwards.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Protocol

from ruleproof.codec.rulefile import MAX_FILE, read_rule
from ruleproof.core.admission import Admission, admit, admit_own, folders, named_foreign, named_gone
from ruleproof.core.problems import Problem
from ruleproof.core.proposal import Place, Proposal, place_of
from ruleproof.edge.pool.store import GitStore, blob_sha

Keep = Callable[[Proposal], bool]
"""Whether a rule is approved on this machine."""


class Files(Protocol):
    """The checkout: `edge.rulefiles.RuleFiles`."""

    def projects(self) -> list[str]: ...
    def names(self, project: str, harness: str) -> list[str]: ...
    def bytes_at(self, path: str) -> bytes | None: ...
    def put(self, path: str, data: bytes) -> None: ...
    def drop(self, path: str) -> None: ...
    def foreign(self, place: Place) -> bool: ...
    def wrote(self, path: str, data: bytes) -> bool | None: ...
    def own(self, path: str, data: bytes) -> None: ...


@dataclass(slots=True)
class Taken:
    """What a pass found in the pool. `changes`: path -> sha (None: removed) for the record of what was seen."""

    received: list[str] = field(default_factory=list)
    disputed: list[str] = field(default_factory=list)
    problems: list[Problem] = field(default_factory=list)
    changes: dict[str, str | None] = field(default_factory=dict)
    foreign: list[str] = field(default_factory=list)
    kept: list[str] = field(default_factory=list)
    dropped: list[str] = field(default_factory=list)


class Taking:
    """One taking. `files`: the checkout; `harness`: our id."""

    def __init__(self, git: GitStore, files: Files, harness: str, keep: Keep) -> None:
        self._git = git
        self._files = files
        self._harness = harness
        self._keep = keep
        self._seen = git.ref("seen")
        self._taken = Taken()

    def take(self, tree: str | None) -> Taken:
        """Bring the checkout to what `tree`, the pool's newest, offers; None: the pool is empty."""
        git, taken = self._git, self._taken
        projects, named = folders(git.pieces(git.folder(tree, "rules")), "rules")
        taken.problems += named
        for project in sorted({*projects, *git.folders(self._seen, "rules")}):
            writers, named = folders(git.pieces(projects.get(project)), f"rules/{project}")
            taken.problems += named
            for writer in sorted({*writers, *git.folders(self._seen, "rules", project)}):
                take = self._own if writer == self._harness else self._other
                take(f"rules/{project}/{writer}", writers.get(writer))
        taken.problems += [*named_foreign(taken.foreign), *named_gone(taken.kept, taken.dropped)]
        return taken

    def _other(self, where: str, offered: str | None) -> None:
        """Another writer's folder: nothing is looked at where it is what was seen before and stands here whole."""
        known = self._git.files(self._seen, *where.split("/"))
        made = Admission()
        if offered is None or offered != self._git.folder(self._seen, *where.split("/")):
            made = admit(where, self._git.pieces(offered), known, lambda sha: fits(self._git, sha))
        self._taken.problems += made.problems
        self._taken.disputed += made.disputed
        for path in made.gone:
            sha = known[path.rpartition("/")[2]]
            if self._approved(path, sha):
                self._taken.kept.append(path)
            else:
                self._let_go(path, sha)
                del known[path.rpartition("/")[2]]
        self._put_back(where, known)
        for path, sha in made.accepted.items():
            self._put(path, sha)

    def _own(self, where: str, offered: str | None) -> None:
        """Our own folder: what we wrote comes back where it is missing here; nothing else is taken."""
        known = self._git.files(self._seen, *where.split("/"))
        foreign = {name for name in known if (place := place_of(f"{where}/{name}")) and self._files.foreign(place)}
        for name in foreign:
            del known[name]
            self._taken.changes[f"{where}/{name}"] = None
        self._put_back(where, known)
        if not foreign and offered is not None and offered == self._git.folder(self._seen, *where.split("/")):
            return

        def wrote(name: str, sha: str) -> bool | None:
            return known.get(name) == sha or self._files.wrote(f"{where}/{name}", self._git.blob(sha) or b"")

        made = admit_own(where, self._git.pieces(offered), known, wrote)
        self._taken.problems += made.problems
        self._taken.foreign += made.foreign
        for path, sha in made.accepted.items():
            if self._files.bytes_at(path) is None:
                self._put(path, sha)
            self._taken.changes[path] = sha

    def _approved(self, path: str, sha: str) -> bool:
        """Whether the file that was taken is approved here; one whose content is lost counts as approved."""
        place, data = place_of(path), self._git.blob(sha)
        rule = read_rule(place, data)[0] if place and data is not None else None
        return data is None or (rule is not None and self._keep(rule))

    def _let_go(self, path: str, sha: str) -> None:
        """Remove the file unless somebody changed it here."""
        here = self._files.bytes_at(path)
        if here is not None and blob_sha(here) == sha:
            self._files.drop(path)
        self._taken.dropped.append(path)
        self._taken.changes[path] = None

    def _put_back(self, where: str, known: Mapping[str, str]) -> None:
        """What was taken before and is missing here."""
        _, project, writer = where.split("/")
        here = set(self._files.names(project, writer)) if known else set()
        for name in sorted(known.keys() - here):
            self._put(f"{where}/{name}", known[name])

    def _put(self, path: str, sha: str) -> None:
        data = self._git.blob(sha)
        if data is not None:
            self._files.put(path, data)
            self._taken.received.append(path)
            self._taken.changes[path] = sha


def fits(git: GitStore, sha: str) -> bool:
    """Whether the content is there and small enough for a rule file."""
    data = git.blob(sha)
    return data is not None and len(data) <= MAX_FILE
