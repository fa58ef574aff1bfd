"""An append-only file of lines, read from where we last stopped.

A reader takes no lock. It reads what was appended since its last look; a file that shrank or was replaced is read anew.
A last line without its newline is shown only if it is whole JSON; otherwise it is left for the next look, because its
writer may still be writing.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path

from ruleproof.edge import fs

_TAIL = 64


@dataclass(frozen=True, slots=True)
class Batch:
    """Lines that are new since the last look. `fresh`: the file was read from its start, so forget what came before."""

    lines: tuple[tuple[int, bytes], ...]
    fresh: bool


class FileLog:
    """The port `engine.ports.Log` on a file."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._key: tuple[int, int, int] | None = None
        self._offset = 0
        self._line = 0
        self._seam = b""
        self._open_tail = False
        self.torn = False
        """Whether the last look saw a broken last line."""

    def read(self) -> Batch:
        """What was appended since the last call; on the first call everything."""
        key = fs.stat_key(self.path)
        if key is None:
            fresh = self._key is not None or self._offset > 0
            self._restart()
            return Batch((), fresh)
        if key == self._key:
            return Batch((), False)
        fresh = self._key is None or key[0] != self._key[0] or key[1] < self._offset
        fresh = fresh or (
            self._key is not None and key[1] == self._key[1]
        )  # written to, and no longer: edited in place
        data = b"" if fresh else self._since()
        if fresh or data is None:
            fresh = True
            self._restart()
            data = fs.read_bytes(self.path) or b""
        self._key = key
        return Batch(self._take(data), fresh)

    def _since(self) -> bytes | None:
        """Bytes after the offset; None where the bytes before it are no longer those that we read."""
        data = fs.read_from(self.path, self._offset - len(self._seam)) or b""
        if not data.startswith(self._seam):
            return None
        data = data[len(self._seam) :]
        if self._open_tail and data:
            if not data.startswith(b"\n"):
                return None
            self._offset += 1
            self._seam = (self._seam + b"\n")[-_TAIL:]
            data = data[1:]
            self._open_tail = False
        return data

    def _take(self, data: bytes) -> tuple[tuple[int, bytes], ...]:
        cut = data.rfind(b"\n") + 1
        whole, tail = data[:cut], data[cut:]
        lines = list(enumerate(whole.split(b"\n"), self._line + 1))[:-1]
        self._line += len(lines)
        taken = cut
        self.torn = bool(tail)
        if tail and _is_object(tail):
            self._line += 1
            lines.append((self._line, tail))
            taken = len(data)
            self._open_tail, self.torn = True, False
        self._offset += taken
        if taken:
            self._seam = (self._seam + data[max(0, taken - _TAIL) : taken])[-_TAIL:]
        return tuple(lines)

    def _restart(self) -> None:
        self._key, self._offset, self._line, self._seam, self._open_tail = None, 0, 0, b"", False
        self.torn = False

    def append(self, data: bytes, *, sync: bool = True) -> None:
        """Append whole lines in one write (`edge.fs.append`)."""
        fs.append(self.path, data, sync=sync)

    def sync(self) -> None:
        """Flush lines that were appended without a sync."""
        if fs.stat_key(self.path) is not None:
            fs.sync_file(self.path)

    def replace(self, data: bytes) -> None:
        """Replace the whole file (`forget` and `doctor --repair` alone do this)."""
        fs.write_atomic(self.path, data)

    def content(self) -> bytes:
        """The whole file, empty where it is missing."""
        return fs.read_bytes(self.path) or b""

    def tail(self, before: int | None, count: int) -> tuple[bytes, int]:
        """Up to `count` bytes that end at `before` (None: the end of the file), and the offset where they begin."""
        end = before
        if end is None:
            key = fs.stat_key(self.path)
            end = key[1] if key else 0
        start = max(0, end - count)
        return (fs.read_from(self.path, start, end - start) or b""), start


def _is_object(tail: bytes) -> bool:
    if not tail.rstrip().endswith(b"}"):
        return False
    try:
        return isinstance(json.loads(tail), dict)
    except (ValueError, RecursionError):
        return False
