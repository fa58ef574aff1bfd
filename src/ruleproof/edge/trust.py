"""Which workspaces this user trusts. A workspace that came with a clone is not one of them.

Trust is a random token that stands both in the workspace and in the user's own registry under the workspace's path: a
copy elsewhere, or another folder at the same path, has the wrong token or none. A workspace that git tracks needs a
person's word even then, because a pull can change it.
"""

from __future__ import annotations

import hmac
import json
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ruleproof.edge import fs

TOKEN = ".trust"
TRACKED = (b"rules.jsonl\x00", b"trials.jsonl\x00", b"evalset/", b"mailbox/")
"""What a pull may not change unasked: rules, their evidence, and what replays and agents are given."""


@dataclass(frozen=True, slots=True)
class Trust:
    """Whether what the workspace holds may be in force, and if not why."""

    trusted: bool
    reason: str = ""
    tracked: bool = False


class TrustRegistry:
    """The registry `trusted.json` in the user's state folder."""

    def __init__(self, state_dir: Path) -> None:
        self._file = state_dir / "trusted.json"
        self._lock = state_dir / ".lock"

    def check(self, root: Path) -> Trust:
        """Whether `root` is trusted, by its real path and its token."""
        tracked = git_tracks(root)
        entry = self._entries().get(_key(root))
        token = (fs.read_bytes(root / TOKEN) or b"").decode("ascii", "replace").strip()
        known = entry.get("token") if isinstance(entry, dict) else None
        if not isinstance(known, str) or not token or not hmac.compare_digest(known, token):
            return Trust(False, "it was not made on this machine, or was moved", tracked)
        if tracked and not (isinstance(entry, dict) and entry.get("tracked") is True):
            return Trust(False, "git tracks it, so a pull can change what is in force", tracked)
        return Trust(True, tracked=tracked)

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold the registry's second lock while a workspace is made and trusted as one step."""
        fs.mkdir(self._file.parent)
        with fs.lock(self._file.with_name(".making")):
            yield

    def trust(self, root: Path, *, at: str, token: str, tracked: bool) -> None:
        """Trust `root` from now on; `tracked` accepts that git may change it."""
        fs.mkdir(self._file.parent)
        with fs.lock(self._lock):
            entries = self._entries()
            entries[_key(root)] = {"token": token, "at": at, "tracked": tracked}
            fs.write_atomic(root / TOKEN, token.encode() + b"\n")
            fs.write_atomic(self._file, json.dumps(entries, indent=2, sort_keys=True).encode() + b"\n")

    def withdraw(self, root: Path) -> bool:
        """Trust `root` no longer. False where it was not trusted."""
        fs.mkdir(self._file.parent)
        with fs.lock(self._lock):
            entries = self._entries()
            if entries.pop(_key(root), None) is None:
                return False
            fs.write_atomic(self._file, json.dumps(entries, indent=2, sort_keys=True).encode() + b"\n")
            return True

    def _entries(self) -> dict[str, object]:
        try:
            value = json.loads(fs.read_bytes(self._file) or b"{}")
        except ValueError:
            return {}
        return value if isinstance(value, dict) else {}


def git_tracks(root: Path) -> bool:
    """Whether the index of a git checkout around `root` names a rule file in it. Errs on the side of yes."""
    real = Path(os.path.realpath(root))
    for top in (real, *real.parents):
        index = _index_of(top / ".git")
        if index is None:
            continue
        data = index if isinstance(index, bytes) else b""
        inside = real.relative_to(top).as_posix().encode()
        if data[4:8] == b"\x00\x00\x00\x04":
            return any(name in data for name in TRACKED)
        return any(inside + b"/" + name in data for name in TRACKED)
    return False


def _index_of(git: Path) -> bytes | None:
    """The index of the checkout whose `.git` this is; None where it is none."""
    if git.is_dir():
        return fs.read_bytes(git / "index") or b""
    if git.is_file():
        text = (fs.read_bytes(git) or b"").decode("utf-8", "replace").strip()
        if text.startswith("gitdir:"):
            return fs.read_bytes((git.parent / text[7:].strip()) / "index") or b""
    return None


def _key(root: Path) -> str:
    return os.path.realpath(root)
