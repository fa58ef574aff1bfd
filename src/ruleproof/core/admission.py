"""What of a pool's folder is taken: piece by piece, and every piece that is not is named.

A rule file is written once, so the first content seen under a path stays: other content offered later is a dispute. In
this machine's own folder only what it wrote itself is taken for its own. Names have one spelling, in lower case, so
that no name can hide another. Nothing here decides what is in force.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from stat import S_ISDIR, S_ISLNK, S_ISREG

from ruleproof.core.ids import component, shown
from ruleproof.core.problems import Problem
from ruleproof.core.proposal import number_of, place_of
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
    """What one writer's folder gives: path -> sha to take, and the paths that are not as they should be."""

    accepted: Mapping[str, str] = field(default_factory=dict)
    disputed: tuple[str, ...] = ()
    """The pool offers another content than was first seen."""
    gone: tuple[str, ...] = ()
    """Taken before, and not in the pool any more."""
    foreign: tuple[str, ...] = ()
    """In this machine's own folder, and nothing that it wrote."""
    problems: tuple[Problem, ...] = ()
    """What was refused."""


def folders(pieces: Iterable[Piece], where: str) -> tuple[dict[str, str], tuple[Problem, ...]]:
    """name -> sha of the folders among `pieces` whose names a writer can have given, and the rest, named."""
    found, problems = _offered(where, pieces, folder=True)
    return found, tuple(problems)


def admit(where: str, pieces: Iterable[Piece], seen: Mapping[str, str], fits: Callable[[str], bool]) -> Admission:
    """The folder `where` (`rules/<project>/<harness>`) of another writer, as the pool offers it.

    `seen`: name -> sha of what was taken from it before. `fits`: whether the content named by a sha is small enough and
    there at all. A number belongs to the file that was seen first under it, for as long as the pool has that file.
    """
    accepted: dict[str, str] = {}
    disputed: list[str] = []
    offered, problems = _offered(where, pieces, folder=False)
    numbers = {number_of(name): name for name in seen if name in offered}
    for name, sha in offered.items():
        path, first = f"{where}/{name}", numbers.get(number_of(name), name)
        if seen.get(name) == sha:
            continue
        if name in seen:
            disputed.append(path)
            problems.append(_changed(path))
        elif first != name:
            problems.append(Problem("number-taken", f"its number is that of {first}, seen here before; refused", path))
        elif not fits(sha):
            problems.append(Problem("oversize-file", "too large for a rule file, or not sent at all; refused", path))
        else:
            accepted[path] = sha
    gone = tuple(f"{where}/{name}" for name in sorted(seen.keys() - offered.keys()))
    return Admission(accepted, tuple(disputed), gone, (), tuple(problems))


def admit_own(
    where: str, pieces: Iterable[Piece], seen: Mapping[str, str], wrote: Callable[[str, str], bool | None]
) -> Admission:
    """This machine's own folder: what it wrote itself is the truth, whatever the pool offers.

    `wrote(name, sha)`: whether the content named by `sha` is what this machine wrote under `name`; None where it wrote
    nothing of that name. Everybody who can push can put a file there: it is never taken for ours.
    """
    accepted: dict[str, str] = {}
    foreign: list[str] = []
    offered, problems = _offered(where, pieces, folder=False)
    for name, sha in offered.items():
        path, ours = f"{where}/{name}", wrote(name, sha)
        if ours is None:
            foreign.append(path)
        elif ours and seen.get(name) != sha:
            accepted[path] = sha
        elif not ours:
            problems.append(_own_changed(path) if name in seen else _collision(path))
    return Admission(accepted, (), (), tuple(foreign), tuple(problems))


def _offered(where: str, pieces: Iterable[Piece], *, folder: bool) -> tuple[dict[str, str], list[Problem]]:
    """name -> sha of the folders, or of the plain files with a rule file's name, sorted, and the rest, named."""
    found: dict[str, str] = {}
    problems: list[Problem] = []
    for piece in sorted(pieces, key=lambda piece: piece.name):
        problem = _foreign(piece, where, folder=folder)
        if problem is None:
            found[piece.name.decode()] = piece.sha
        else:
            problems.append(problem)
    return found, problems


def named_foreign(paths: Sequence[str]) -> tuple[Problem, ...]:
    """One complaint about all of them: a flood of planted files must not hide anything else."""
    if not paths:
        return ()
    many = len(paths) > 1
    it, they = ("they bear", "they are") if many else ("it bears", "it is")
    message = (
        f"{_few(paths)}: {it} this machine's id, and it never wrote {'them' if many else 'it'}; "
        f"{they} neither taken nor shown nor published"
    )
    hint = (
        "Somebody else put it under your name: find out who, and delete it (from the pool by an ordinary git push). "
        "Only if you wrote it and lost this machine's state: `ruleproof pool accept` with the path of it or its folder."
    )
    return (Problem("planted-file", message, paths[0].rpartition("/")[0], hint=hint),)


def named_gone(kept: Sequence[str], dropped: Sequence[str]) -> tuple[Problem, ...]:
    """One complaint about all that is kept, and one about all that was let go. `kept`: approved here."""
    problems: list[Problem] = []
    if kept:
        message = f"{_few(kept)}: gone from the pool, approved here, hence kept and in force"
        hint = "Revoke what should go too; the next sync then lets it go."
        problems.append(Problem("gone-from-pool", message, "", "warning", hint))
    if dropped:
        message = f"{_few(dropped)}: gone from the pool and not approved here, hence removed here as well"
        problems.append(Problem("dropped", message, "", "info", "Its author's next sync brings a rule back."))
    return tuple(problems)


def _few(paths: Sequence[str]) -> str:
    more = f" and {len(paths) - 3} more" if len(paths) > 3 else ""
    return f"{len(paths)} rule file{'s' if len(paths) > 1 else ''} ({', '.join(paths[:3])}{more})"


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
