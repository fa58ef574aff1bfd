"""The eval-set as a folder of files `<case id>.json`. Writers hold the workspace lock; readers need none.

A listing carries no inputs and reads again only the files that changed. A file that cannot be read, or whose name is
not its id, is left alone, named by `problems`, and is nobody's evidence.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

from ruleproof.codec.evalcases import MAX_BYTES, decode, encode
from ruleproof.core import ids
from ruleproof.core.evalcase import ON_DISK, EvalCase, age
from ruleproof.core.problems import Problem
from ruleproof.edge import fs
from ruleproof.errors import Conflict, StoreError

Key = tuple[int, int, int]


@dataclass(frozen=True, slots=True)
class _File:
    """One file as it was last read; `case` is None where it could not be."""

    key: Key
    case: EvalCase | None
    problems: tuple[Problem, ...]


class EvalSetDir:
    """The port `engine.ports.EvalSet` on the folder `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._files: dict[str, _File] = {}

    def listed(self) -> list[EvalCase]:
        """Every case that can be read, oldest first, its input left out (`ON_DISK`)."""
        return sorted((file.case for file in self._look().values() if file.case is not None), key=age)

    def read(self, case_id: str) -> EvalCase | None:
        """One case with its input, fresh from the disk; None where none can be read. Raises Refused for a bad id."""
        name = f"{ids.component(case_id, 'case')}.json"
        file = None if fs.is_link(self.root) else self._load(name)
        return None if file is None else file.case

    def problems(self) -> list[Problem]:
        """What is wrong with files of the folder."""
        return [problem for file in self._look().values() for problem in file.problems]

    def add(self, case: EvalCase) -> None:
        """Write a new case. Raises Conflict where its id is taken, StoreError."""
        path = self._path(case.id)
        try:
            fs.create_exclusive(path, encode(case))
        except FileExistsError:
            raise Conflict(f"Another case has the id {case.id}.", hint="Capture it again.") from None

    def put(self, case: EvalCase) -> None:
        """Replace a case whole. Raises StoreError."""
        fs.write_atomic(self._path(case.id), encode(case))

    def remove(self, case_id: str) -> bool:
        """Remove a case. False where there was none."""
        path = self._path(case_id)
        there = fs.stat_key(path) is not None
        fs.unlink(path)
        return there

    def _path(self, case_id: str) -> Path:
        fs.refuse_links(self.root)
        return self.root / f"{ids.component(case_id, 'case')}.json"

    def _look(self) -> dict[str, _File]:
        """The folder as it is now. A name that is no case id is not looked at."""
        found: dict[str, _File] = {}
        try:
            fs.refuse_links(self.root)
            names = fs.listdir(self.root)
        except OSError as error:
            return {"": _File((0, 0, 0), None, (Problem("unreadable", f"cannot be read: {error}", self.root.name),))}
        for name in names:
            if name.endswith(".json"):
                file = self._load(name, self._files.get(name))
                if file is not None:
                    kept = file.case
                    if kept is not None and kept.replayable:
                        file = replace(file, case=replace(kept, replay_input=ON_DISK))
                    found[name] = file
        self._files = found
        return found

    def _load(self, name: str, known: _File | None = None) -> _File | None:
        """The file `name`, read again only if it is not the one that is `known`; None where there is none."""
        path, where = self.root / name, f"{self.root.name}/{name}"
        try:
            key = fs.stat_key(path)
            if key is None or (known is not None and known.key == key):
                return known if key is not None else None
            if not path.is_file() or key[1] > MAX_BYTES:
                message = f"not a regular file of at most {MAX_BYTES} bytes; it is left as it is"
                return _File(key, None, (Problem("odd-file", message, where, "warning"),))
            data = fs.read_bytes(path)
        except (StoreError, OSError) as error:
            return _File((0, 0, 0), None, (Problem("unreadable", f"cannot be read: {error}", where),))
        if data is None:
            return None
        case, problems = decode(data, where)
        if case is not None and f"{case.id}.json" != name:
            message = f"holds the case {ids.shown(case.id)}; the name of a file is its id"
            case, problems = None, (Problem("bad-id", message, where, "warning"),)
        return _File(key, case, problems)
