"""A workspace as a folder: its files, and the marks that keep it out of git. No link inside it is followed."""

from __future__ import annotations

from pathlib import Path, PurePosixPath

from ruleproof.edge import fs
from ruleproof.errors import Refused

FOLDERS = ("mailbox/pending", "mailbox/processed", "traces", "evalset")
LOCK = ".lock"
_RECORDS = ("rules.jsonl", "journal.jsonl", "sessions.jsonl")
PROJECTION = "harness_rules.md"


class WorkspaceDir:
    """The port `engine.ports.Files` on the folder `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self._kept_out = False

    def provision(self) -> bool:
        """Make the folders and the file that keeps them out of git. True where there was no workspace before.

        Where records stand already, whoever made it, nothing is made: looking at a workspace leaves it as it is.
        """
        new = not self.root.exists()
        if any(fs.stat_key(self.root / name) is not None for name in _RECORDS):
            return False
        for folder in FOLDERS:
            path = self.root / folder
            if not any(fs.is_link(one) for one in (path, path.parent) if one != self.root):  # else its user will say so
                fs.mkdir(path)
        self.keep_out()
        return new

    def keep_out(self) -> None:
        """Keep the workspace out of git, where nothing says yet what git is to do."""
        ignore = self.root / ".gitignore"
        if not self._kept_out and fs.stat_key(ignore) is None:
            fs.write_atomic(ignore, b"# written by ruleproof: what is learned here stays on this machine\n*\n")
        self._kept_out = True

    def untouched(self) -> bool:
        """Whether it holds nothing yet, no word of trust either: made just now, or by somebody who was killed."""
        return fs.listdir(self.root) == sorted(
            (".gitignore", *{folder.split("/")[0] for folder in FOLDERS})
        ) and not any(fs.listdir(self.root / folder) for folder in FOLDERS)

    def write(self, name: str, data: bytes, *, sync: bool = True) -> None:
        """Replace a file whole."""
        self.keep_out()
        fs.write_atomic(self._path(name), data, sync=sync)

    def read(self, name: str) -> bytes | None:
        """A file's content; None where it is missing."""
        return fs.read_bytes(self._path(name))

    def names(self, folder: str) -> list[str]:
        """The files of a folder, sorted."""
        path = self._path(folder)
        fs.refuse_links(path)
        return fs.listdir(path)

    def remove(self, name: str) -> None:
        """Remove a file."""
        fs.unlink(self._path(name))

    def _path(self, name: str) -> Path:
        parts = PurePosixPath(name).parts
        if not parts or any(part in ("..", "/") or "\\" in part or ":" in part for part in parts):
            raise Refused(f"{name!r} is not a path inside the workspace.")
        path = self.root.joinpath(*parts)
        fs.refuse_links(*path.parents[: len(parts) - 1])
        return path
