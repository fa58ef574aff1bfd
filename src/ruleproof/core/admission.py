"""What of a pool's folder is taken: piece by piece, and every piece that is not is named.

A rule file is written once, so the first content seen under a path stays: other content offered later is a dispute, and
what disappears from the pool stays here. Names have one spelling, in lower case, so that no name can hide another; a
piece that is no plain file with a rule file's name is never taken. Nothing here decides what is in force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from stat import S_ISDIR, S_ISLNK, S_ISREG

from ruleproof.core.ids import component, shown
from ruleproof.core.problems import Problem
from ruleproof.core.proposal import place_of
from ruleproof.errors import Refused

SUBMODULE = 0o160000


@dataclass(frozen=True, slots=True)
class Piece:
    """One entry of a folder in a git tree; `sha` names its content."""

    name: bytes
    mode: int
    sha: str


@dataclass(frozen=True, slots=True)
class Admission:
    """What one writer's folder gives: path -> sha to write here, paths in dispute, and what was refused or is odd."""

    accepted: Mapping[str, str] = field(default_factory=dict)
    disputed: tuple[str, ...] = ()
    problems: tuple[Problem, ...] = ()


def folders(pieces: Iterable[Piece], where: str) -> tuple[dict[str, str], tuple[Problem, ...]]:
    """name -> sha of the folders among `pieces` whose names a writer can have given, and the rest, named."""
    found: dict[str, str] = {}
    problems: list[Problem] = []
    for piece in sorted(pieces, key=lambda piece: piece.name):
        problem = _foreign(piece, where, folder=True)
        if problem is None:
            found[piece.name.decode()] = piece.sha
        else:
            problems.append(problem)
    return found, tuple(problems)


def admit(
    where: str,
    pieces: Sequence[Piece],
    seen: Mapping[str, str],
    fits: Callable[[str], bool],
    held: Mapping[str, str] | None = None,
) -> Admission:
    """One writer's folder `where` (`rules/<project>/<harness>`) as the pool offers it.

    `seen`: name -> sha of what was taken from it before. `fits`: whether the content named by a sha is small enough and
    there at all. `held`: for this machine's own folder, name -> sha of what stands on the disk.
    """
    accepted: dict[str, str] = {}
    disputed: list[str] = []
    problems: list[Problem] = []
    offered: set[str] = set()
    for piece in sorted(pieces, key=lambda piece: piece.name):
        name = piece.name.decode("utf-8", "replace")
        path = f"{where}/{name}"
        problem = _foreign(piece, where, folder=False)
        if problem is not None:
            problems.append(problem)
            continue
        offered.add(name)
        known = seen.get(name)
        if known == piece.sha:
            continue
        mine = (held or {}).get(name)
        if known is not None and held is None:
            disputed.append(path)
            problems.append(_changed(path))
        elif known is not None:
            problems.append(_own_changed(path))
        elif mine is not None and mine != piece.sha:
            problems.append(_collision(path))
        elif not fits(piece.sha):
            problems.append(Problem("oversize-file", "too large for a rule file, or not sent at all; refused", path))
        else:
            accepted[path] = piece.sha
    problems += [
        Problem("gone-from-pool", "the pool no longer has it; it is kept here", f"{where}/{name}", "warning")
        for name in sorted(seen.keys() - offered)
        if held is None
    ]
    return Admission(accepted, tuple(disputed), tuple(problems))


def _foreign(piece: Piece, where: str, *, folder: bool) -> Problem | None:
    """Why the piece is not taken at all, whatever it holds."""
    place = f"{where}/{shown(piece.name)[2:-1]}"
    if S_ISLNK(piece.mode):
        return Problem("link-refused", "a symbolic link; refused", place)
    if piece.mode == SUBMODULE:
        return Problem("submodule-refused", "a submodule; refused", place)
    if not (S_ISDIR if folder else S_ISREG)(piece.mode):
        kind = "folder" if folder else "file"
        return Problem("wrong-kind", f"something else where a {kind} belongs; refused", place)
    try:
        name = component(piece.name.decode("utf-8"))
        fits = folder or place_of(f"{where}/{name}") is not None
    except (UnicodeDecodeError, Refused):
        fits = False
    if not fits:
        return Problem("bad-name", "a name that no writer gives; refused", place)
    if name != name.lower():
        message = "capital letters, which no writer's names have; refused, since it could pass for another name"
        return Problem("bad-spelling", message, place)
    return None


def _changed(path: str) -> Problem:
    return Problem(
        "file-changed",
        "the pool offers another content than was first seen; refused, and not in force until it is settled",
        path,
        hint="Ask its author, whose next sync restores it; `ruleproof pool accept` takes the offered file instead.",
    )


def _own_changed(path: str) -> Problem:
    message = "somebody changed this machine's own file in the pool; refused, and the next publish restores it"
    return Problem("own-file-changed", message, path)


def _collision(path: str) -> Problem:
    return Problem(
        "identity-collision",
        "the pool already has another file under this machine's id and name; this machine's is kept and not published",
        path,
        hint="Another machine uses the same harness id: give one of them a new one.",
    )
