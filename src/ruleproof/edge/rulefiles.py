"""Rule files in a checkout of the pool: listed, read, and created once, never changed.

A link, a folder in a file's place or a name that is no rule file's is named and passed over; a file is read again only
when it changed. Numbers are given under a lock, so two processes never share one.
"""

from __future__ import annotations

import hashlib
import time
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from ruleproof.codec.facts import DISPUTES, read_disputes
from ruleproof.codec.jsonl import decode_line, encode_line
from ruleproof.codec.rulefile import read_rule, write_rule
from ruleproof.core.admission import named_foreign
from ruleproof.core.ids import component, shown
from ruleproof.core.problems import Problem
from ruleproof.core.proposal import Place, Proposal, next_number, place_of, rule_id_of
from ruleproof.edge import fs
from ruleproof.errors import Refused, RuleproofError, StoreError

Read = tuple[Proposal | None, tuple[Problem, ...]]
Make = Callable[[int, tuple[Proposal, ...]], Proposal | None]
"""(free number, the writer's files) -> the proposal to write, or None to write nothing."""


TICK_S = 0.1
"""Seconds; longer than a tick of any file system's clock that we know, FAT excepted."""


@dataclass(frozen=True, slots=True)
class _Listing:
    """Names by number, the folder's state, when that state was first seen and when the names were read."""

    key: object
    first: float
    taken: float
    names: dict[str, list[str]]


class Written:
    """What this machine wrote itself: one `<project>.jsonl` a project in `folder`, which lies outside every checkout.

    Whoever can push, or write to the checkout, can put a file under this machine's id; by this record it is told apart.
    `own`: this machine's id, or "". Reading is total: a line that is not understood records nothing.
    """

    def __init__(self, folder: Path, own: Callable[[], str]) -> None:
        self._folder = folder
        self._own = own
        self._held: dict[str, tuple[object, dict[str, frozenset[str]]]] = {}

    def digests(self, project: str) -> Mapping[str, frozenset[str]]:
        """Path -> SHA-256 of what was written there: several where a writer was killed and began again."""
        file = self._folder / f"{component(project, 'project')}.jsonl"
        key = fs.stat_key(file)
        held = self._held.get(project)
        if held is None or held[0] != key:
            found: dict[str, frozenset[str]] = {}
            for line in (fs.read_bytes(file) or b"").split(b"\n"):
                value = decode_line(line, "")
                path, digest = (value.get("path"), value.get("sha256")) if isinstance(value, dict) else (None, None)
                if isinstance(path, str) and isinstance(digest, str):
                    found[path] = found.get(path, frozenset()) | {digest}
            held = self._held[project] = key, found
        return held[1]

    def add(self, place: Place, data: bytes) -> None:
        """Record it, before the file is written: a crash leaves a record without a file, which says nothing."""
        fs.mkdir(self._folder)
        record = {"path": place.path, "sha256": hashlib.sha256(data).hexdigest()}
        fs.append(self._folder / f"{place.project}.jsonl", encode_line(record))

    def foreign(self, place: Place) -> bool:
        """Whether it bears this machine's id, and this machine never wrote it."""
        return place.path not in self.digests(place.project) and place.harness == self._id()

    def _id(self) -> str:
        try:
            return self._own()
        except RuleproofError:
            return ""


class RuleFiles:
    """The rule files below `root`. Holds what it read, by the file's inode, size and time.

    `written`: the record of this machine's own files; without one every file counts as its writer's.
    """

    def __init__(self, root: Path, written: Written | None = None) -> None:
        self.root = root
        self._written = written
        self._read: dict[Place, tuple[Path, object, Read]] = {}
        self._listed: dict[Path, _Listing] = {}
        self._settled: tuple[object, float] = (None, 0.0)

    def places(self, project: str) -> tuple[list[Place], list[Problem]]:
        """Every rule file of `project`, sorted by path, and what lies there and is none."""
        found: list[Place] = []
        problems: list[Problem] = []
        for harness in self._folders(("rules", component(project, "project")), problems):
            places, named = self._list(project, harness)
            foreign = [place for place in places if self.foreign(place)]
            found += [place for place in places if place not in foreign]
            problems += [*named, *named_foreign([place.path for place in foreign])]
        return found, problems

    def foreign(self, place: Place) -> bool:
        """Whether the file bears this machine's id, and this machine never wrote it: it is no rule here."""
        return self._written is not None and self._written.foreign(place)

    def wrote(self, path: str, data: bytes) -> bool | None:
        """Whether this machine wrote `data` at `path`; None where it wrote nothing there.

        Without a record: whether it is what stands there.
        """
        place = place_of(path)
        if place is None:
            return None
        if self._written is None:
            here = self.bytes_at(path)
            return None if here is None else here == data
        digests = self._written.digests(place.project).get(path)
        return None if digests is None else hashlib.sha256(data).hexdigest() in digests

    def own(self, path: str, data: bytes) -> None:
        """From now on `data` at `path` counts as written by this machine: a person says so."""
        place = place_of(path)
        if place is not None and self._written is not None:
            self._written.add(place, data)

    def projects(self) -> list[str]:
        """The project keys that have a folder here."""
        return list(self._folders(("rules",), []))

    def names(self, project: str, harness: str) -> list[str]:
        """Every name in one writer's folder, sorted, rule file or not."""
        folder = ("rules", component(project, "project"), component(harness, "harness"))
        return _listed(self.root.joinpath(*folder)) if self._real(folder) else []

    def find(self, project: str, ids: Iterable[str]) -> dict[str, list[Place]]:
        """id -> its files: one, none, or several where a number was given twice. Lists only the writers in `ids`."""
        component(project, "project")
        wanted: dict[str, list[Place]] = {rule_id_of(rule, ""): [] for rule in ids}
        numbers: dict[str, set[str]] = {}
        for rule in wanted:
            harness, _, number = rule.partition("/")
            numbers.setdefault(harness, set()).add(number)
        for harness, own in numbers.items():
            numbered = self._numbered(project, harness)
            for number in own:
                for name in numbered.get(number, ()):
                    place = place_of(f"rules/{project}/{harness}/{name}")
                    if place and not self.foreign(place):
                        wanted[place.rule_id].append(place)
        return wanted

    def _numbered(self, project: str, harness: str) -> dict[str, list[str]]:
        """number -> names of one writer's folder.

        A listing is kept while the folder's time stays the same, and only once it was taken well after that time was
        first seen: a change within one tick of the file system's clock leaves the time as it is.
        """
        folder = self.root / "rules" / project / harness
        key = fs.stat_key(folder)
        held = self._listed.get(folder)
        now = time.monotonic()
        if held is not None and held.key == key and held.taken - held.first > TICK_S:
            return held.names
        names: dict[str, list[str]] = {}
        for name in _listed(folder) if key and self._real(("rules", project, harness)) else ():
            names.setdefault(name.partition("-")[0], []).append(name)
        first = held.first if held is not None and held.key == key else now
        self._listed[folder] = _Listing(key, first, now, names)
        return names

    def state(self, project: str) -> object | None:
        """What stays equal while no file of `project` comes, goes or is replaced; None right after such a change.

        It looks at folders alone: a file that is written to in its place, which nobody here does, is not noticed.
        """
        folders = [self.root / "rules" / component(project, "project")]
        folders += [folders[0] / name for name in _listed(folders[0])]
        key = tuple((str(folder), fs.stat_key(folder)) for folder in folders)
        now = time.monotonic()
        if self._settled[0] != key:
            self._settled = key, now
        return key if now - self._settled[1] > TICK_S else None

    def read(self, place: Place) -> Read:
        """The proposal at `place`, or the Problem that says why there is none. Never raises for what is on disk."""
        held = self._read.get(place)
        path = held[0] if held is not None else self._path(place.path)
        found: Read
        key: object = None
        try:
            key = fs.stat_key(path)
            if held is not None and held[1] == key:
                return held[2]
            data = fs.read_bytes(path) if self._real(place.path.split("/")[:-1]) else None
        except OSError as error:
            found = None, (Problem("unreadable-file", str(error), place.path),)
        else:
            missing = Problem("missing-file", "there is no such file", place.path)
            found = (None, (missing,)) if data is None else read_rule(place, data)
        self._read[place] = path, key, found
        return found

    def read_all(self, project: str) -> tuple[list[Proposal], list[Problem]]:
        """Every proposal of `project`, sorted by path, and every complaint."""
        places, problems = self.places(project)
        proposals: list[Proposal] = []
        for place in places:
            proposal, named = self.read(place)
            problems += named
            if proposal is not None:
                proposals.append(proposal)
        return proposals, problems

    def create(self, project: str, harness: str, make: Make, taken: Iterable[int] = ()) -> Proposal | None:
        """Write the proposal that `make` gives under the next free number, and return it as it reads.

        `taken`: numbers that must not be given although no file of ours has them. Raises StoreError when the disk
        refuses.
        """
        folder = ("rules", component(project, "project"), component(harness, "harness"))
        fs.mkdir(self.root)
        with fs.lock(self.root / ".rules.lock"):
            self._make(folder)
            taken = set(taken)
            while True:
                listed, _ = self._list(project, harness)
                places = [place for place in listed if not self.foreign(place)]
                taken |= {place.number for place in listed if place not in places}
                number = next_number((place.name for place in places), taken)
                own = (self.read(place)[0] for place in places)
                made = make(number, tuple(proposal for proposal in own if proposal is not None))
                if made is None:
                    return None
                data = write_rule(made)
                if self._written is not None:
                    self._written.add(made.place, data)
                try:
                    fs.create_exclusive(self._path(made.place.path), data)
                except FileExistsError:
                    taken.add(number)
                    continue
                return read_rule(made.place, data)[0]

    def put(self, path: str, data: bytes) -> None:
        """Write what the pool holds at `path` (a rule file's); whatever stands there is replaced."""
        if place_of(path) is None:
            raise Refused(f"{shown(path)} is not the path of a rule file.", hint="Nothing was written.")
        self._make(path.split("/")[:-1])
        fs.write_atomic(self._path(path), data, sync=False)

    def drop(self, path: str) -> None:
        """Remove the rule file at `path`."""
        if place_of(path) is not None and self._real(path.split("/")[:-1]):
            fs.unlink(self._path(path))

    def bytes_at(self, path: str) -> bytes | None:
        """What stands at `path` now; None where there is no regular file."""
        try:
            return fs.read_bytes(self._path(path)) if self._real(path.split("/")[:-1]) else None
        except StoreError:
            return None

    def _list(self, project: str, harness: str) -> tuple[list[Place], list[Problem]]:
        places: list[Place] = []
        problems: list[Problem] = []
        for name in _listed(self.root / "rules" / project / harness):
            path = f"rules/{project}/{harness}/{name}"
            place = place_of(path)
            if place is not None:
                places.append(place)
            elif not name.startswith("."):
                problems.append(Problem("no-rule-file", "its name is no rule file's; it is passed over", path, "info"))
        counts = Counter(place.number for place in places)
        for place in places:
            if counts[place.number] > 1:
                message = f"another file is {place.rule_id}, too"
                problems.append(Problem("repeated-number", message, place.path, "warning"))
        return places, problems

    def _folders(self, parts: tuple[str, ...], problems: list[Problem]) -> Iterator[str]:
        if not self._real(parts):
            return
        for name in _listed(self.root.joinpath(*parts)):
            where = "/".join((*parts, name))
            try:
                component(name)
            except Refused as error:
                problems.append(Problem("bad-name", error.message, where))
                continue
            if self._real((*parts, name)):
                yield name
            else:
                problems.append(Problem("no-folder", "no real folder; it is passed over", where))

    def _path(self, path: str) -> Path:
        return self.root.joinpath(*path.split("/"))

    def _real(self, parts: Iterable[str]) -> bool:
        """Whether the folder exists and is reached through real folders alone."""
        path = self.root
        for part in parts:
            path = path / part
            if path.is_symlink() or not path.is_dir():
                return False
        return True

    def _make(self, parts: Iterable[str]) -> None:
        path = self.root
        for part in parts:
            path = path / part
            if path.is_symlink() or (path.exists() and not path.is_dir()):
                raise StoreError(f"{path} is no folder.", hint="Move it away; nothing was written through it.")
            if not path.exists():
                fs.mkdir(path)


def disputes(store: Path) -> frozenset[str]:
    """Pool paths in dispute: what `Pool.sync` left in its private folder `store`. Needs no git."""
    return read_disputes(fs.read_bytes(store / DISPUTES))


def _listed(folder: Path) -> list[str]:
    """Names in the folder; raises StoreError where it cannot be read: an unreadable pool is not an empty one."""
    try:
        return fs.listdir(folder)
    except OSError as error:
        raise StoreError(
            f"{folder}: {error.strerror or error}.", hint="Check its permissions; nothing was read."
        ) from error
