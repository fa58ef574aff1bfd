"""The workspace folder as it is: every file in it, also what nobody knows and what a killed writer left behind."""

from __future__ import annotations

import os
import stat
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Entry:
    """`name`: path below the root, with `/`. `changed`: seconds since 1970. `regular`: a file, no link, no device."""

    name: str
    changed: float
    regular: bool


class Housekeeping:
    """The port `engine.doctor.Folder` on the folder `root`."""

    def __init__(self, root: Path) -> None:
        self.root = root

    def walk(self) -> list[Entry]:
        """Everything below the root that is no folder, and folders that cannot be listed, by name. Follows no link."""
        found: list[Entry] = []

        def unreadable(error: OSError) -> None:
            found.append(self._entry(Path(os.fsdecode(error.filename or self.root))))

        for folder, folders, names in os.walk(self.root, onerror=unreadable):
            links = [name for name in folders if os.path.islink(os.path.join(folder, name))]
            found += [self._entry(Path(folder, name)) for name in (*names, *links)]
        return sorted(found, key=lambda entry: entry.name)

    def _entry(self, path: Path) -> Entry:
        name = path.relative_to(self.root).as_posix()
        try:
            status = path.lstat()
        except OSError:
            return Entry(name, 0.0, False)
        return Entry(name, status.st_mtime, stat.S_ISREG(status.st_mode))
