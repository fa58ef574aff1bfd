"""This user's state on this machine: where approvals, tokens and the harness id lie, and whether it can be trusted.

The folder is found through the system's password database, so that no environment variable moves it; it belongs to this
user, nobody else writes to it (folders 0700, files 0600), and it has to outlive the process. A test gives its own base.
"""

from __future__ import annotations

import os
import re
import stat
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

from ruleproof.core.ids import canonical, component
from ruleproof.edge import fs
from ruleproof.errors import Refused, StoreError

MOUNTED = Path("/etc/ruleproof/approvals")
"""Where another user's approvals lie: one `<project key>.jsonl` a project. No setting and no variable moves it."""

_PASSING = frozenset(["aufs", "overlay", "fuse-overlayfs", "ramfs", "tmpfs"])
_OUTSIDE_PREFIX = re.compile(r"[^a-z0-9]+")
_INTERPRETERS = ("node", "bun", "deno", "python")
MAX_ANCESTORS = 64


def home() -> Path | None:
    """The home of the user whom the system says we are; None where it says none. No environment variable moves it."""
    if sys.platform == "win32":
        return Path.home()
    import pwd

    try:
        return Path(pwd.getpwuid(os.getuid()).pw_dir)
    except KeyError:
        return None


def default_base() -> Path:
    """The state folder of the user whom the system says we are; raises StoreError where it says none."""
    if sys.platform == "win32":
        from platformdirs import user_state_path

        return user_state_path("ruleproof", appauthor=False)
    place = home()
    if place is None:
        raise StoreError(
            f"User {os.getuid()} has no entry in the password database, hence no place for approvals.",
            hint="Add the user to it; a volume at its home keeps what is decided.",
        )
    if sys.platform == "darwin":
        return place / "Library" / "Application Support" / "ruleproof"
    return place / ".local" / "state" / "ruleproof"


class UserState:
    """The folder `base` and what lies in it. Nothing is made before something is written."""

    def __init__(self, base: Path) -> None:
        self.base = base
        self._id = base / "harness-id"

    def folder(self, name: str = "") -> Path:
        """The folder `name` below the base, made where missing (0700) and checked; raises Refused when unsafe."""
        path = self.base / component(name) if name else self.base
        fs.mkdir(self.base)
        fs.mkdir(path)
        require_private(self.base)
        require_private(path)
        return path

    def harness_id(self) -> str | None:
        """The id that `make_harness_id` stored; None before. Raises StoreError where the file holds no id."""
        data = fs.read_bytes(self._id)
        if data is None:
            return None
        require_private(self._id)
        try:
            return canonical(data.decode("utf-8", "replace").strip(), "harness")
        except Refused as error:
            raise StoreError(
                f"{self._id} holds no harness id.",
                hint="Restore it from a backup; a new id would orphan this machine's rules and approvals.",
            ) from error

    def make_harness_id(self, name: str, random: Callable[[int], str]) -> str:
        """This machine's id, made on the first call and the same for ever: a readable prefix, a hyphen, 8 hex digits.

        `name`: what the prefix is made of, such as the host's name; `random`: n -> n random hex digits.
        """
        found = self.harness_id()
        if found is not None:
            return found
        prefix = _OUTSIDE_PREFIX.sub("-", name.lower()).strip("-")[:20].strip("-") or "machine"
        self.folder()
        try:
            made = component(f"{prefix}-{random(8)}", "harness")
            fs.create_exclusive(self._id, made.encode() + b"\n")
        except FileExistsError:
            return self.make_harness_id(name, random)
        return made


def require_private(path: Path) -> None:
    """Raises Refused unless `path` is a real file or folder of this user's that nobody else can write."""
    found = os.lstat(path)
    if sys.platform == "win32":
        return
    if stat.S_ISLNK(found.st_mode):
        raise Refused(f"{path} is a link.", hint="State is kept in a real folder; nothing was read or written.")
    if found.st_uid != os.geteuid():
        raise Refused(f"{path} belongs to user {found.st_uid}, not to {os.geteuid()}.", hint="Make it this user's own.")
    if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH):
        raise Refused(
            f"{path} can be written by others (mode {stat.S_IMODE(found.st_mode):04o}).",
            hint=f"Look who wrote to it, then run chmod go-w {path}.",
        )


def read_mounted(project: str, folder: Path = MOUNTED) -> bytes | None:
    """What another user approved for `project`; b"" where that user decides and approved nothing; None where none does.

    The folder is the switch, not the bundle: a key that somebody sets for a project leads to no ledger of this user's.
    A folder of this user's own switches nothing. Raises Refused for a bundle that this user could have changed.
    """
    file = folder / f"{component(project, 'project')}.jsonl"
    data = fs.read_bytes(file)
    if data is None:
        return b"" if folder.is_dir() and not _changeable(folder, folder) else None
    if not _changeable(file, folder):
        return data
    if os.lstat(folder).st_uid == os.geteuid() != 0:
        return None
    raise Refused(
        f"{file} could be changed by this user, so it approves nothing.",
        hint="Mount it read-only, or make it and every folder above it writable by another user only.",
    )


def _changeable(path: Path, folder: Path) -> bool:
    """Whether this user may write `path`, or put something else in its place."""
    if sys.platform == "win32":
        return True
    if os.statvfs(path).f_flag & os.ST_RDONLY:
        return False
    real = Path(os.path.realpath(path))
    links = any(os.path.islink(part) for part in (path, folder, folder.parent))
    return links or any(map(_can_change, {path.absolute(), *path.absolute().parents, real, *real.parents}))


def _can_change(path: Path) -> bool:
    """Whether this user may write `path` or, in a folder, replace another user's entries."""
    found = os.lstat(path)
    if os.geteuid() in (0, found.st_uid):
        return True
    sticky = stat.S_ISDIR(found.st_mode) and found.st_mode & stat.S_ISVTX
    return os.access(path, os.W_OK) and not sticky


def passing(base: Path, mountinfo: str | None = None) -> str:
    """Why `base` will not outlive this container, in words; empty where nothing says so.

    `mountinfo`: text in the form of Linux's /proc/self/mountinfo; None: this machine's.
    """
    if mountinfo is None:
        try:
            mountinfo = Path("/proc/self/mountinfo").read_text("utf-8", "replace")
        except OSError:
            return ""
    path = base.resolve()
    best, kind = -1, ""
    for line in mountinfo.splitlines():
        fields, _, tail = line.partition(" - ")
        words = fields.split(" ")
        if len(words) < 5 or not tail:
            continue
        point = Path(re.sub(r"\\([0-7]{3})", lambda found: chr(int(found.group(1), 8)), words[4]))
        if path.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), tail.split(" ")[0]
    if kind in _PASSING:
        return f"{path} lies on {kind}, which is gone when this container or session ends"
    return ""


def require_lasting(base: Path, mountinfo: str | None = None) -> None:
    """Raises Refused where an approval would not outlive this container, with the way out."""
    reason = passing(base, mountinfo)
    if reason:
        raise Refused(
            f"An approval made here would not last: {reason}.",
            hint=(
                "Mount a volume there, or approve on a machine that lasts, run `ruleproof approvals export` and have "
                f"an operator mount the file read-only below {MOUNTED}."
            ),
        )


def ancestors() -> tuple[str, ...]:
    """Base names of the programs above this process, nearest first; empty where the system does not say."""
    if sys.platform == "win32":
        return ()
    names: list[str] = []
    parent = os.getppid()
    while parent > 0 and len(names) < MAX_ANCESTORS:
        found = _process(parent)
        if found is None:
            break
        parent, words = found
        names += [Path(word).name for word in words if word]
    return tuple(dict.fromkeys(names))


def _process(pid: int) -> tuple[int, list[str]] | None:
    """(parent, names of the program) of a process; of an interpreter also that of its script."""
    folder = Path("/proc") / str(pid)
    try:
        status = (folder / "stat").read_text("utf-8", "replace")
        line = (folder / "cmdline").read_bytes().decode("utf-8", "replace").split("\0")
        name = status[status.index("(") + 1 : status.rindex(")")]
        return int(status[status.rindex(")") + 2 :].split(" ")[1]), [name, *_program(line)]
    except (OSError, ValueError, IndexError):
        return None if folder.parent.joinpath("self").exists() else _process_by_ps(pid)


def _program(arguments: list[str]) -> list[str]:
    head = arguments[:1]
    script = head and Path(head[0]).name.startswith(_INTERPRETERS)
    return arguments[:2] if script else head


def _process_by_ps(pid: int) -> tuple[int, list[str]] | None:
    try:
        command = ["/bin/ps", "-o", "ppid=,command=", "-p", str(pid)]
        line = subprocess.run(command, capture_output=True, text=True, timeout=5, check=True).stdout.split()
        return int(line[0]), _program(line[1:])
    except (OSError, ValueError, IndexError, subprocess.SubprocessError):
        return None
