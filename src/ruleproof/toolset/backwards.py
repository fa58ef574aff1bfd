"""A log read from its end: what is asked for are its newest records, so the cost follows the answer, not the file."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from typing import TypeVar

from ruleproof.codec.jsonl import decode_line
from ruleproof.core.problems import Problem
from ruleproof.engine.ports import Log

T = TypeVar("T")
BLOCK, LARGEST_BLOCK = 1 << 16, 1 << 22
MOST = 32 << 20
"""Bytes that one question may read."""


class Backwards:
    """The objects of a log, newest first. Broken lines are passed over; `doctor` names them."""

    def __init__(self, log: Log) -> None:
        self._log = log
        self.searched = 0
        """Bytes read so far."""
        self.gave_up = False
        """Whether it stopped at the limit, with older records unread."""

    def __iter__(self) -> Iterator[Mapping[str, object]]:
        for raw in self._lines():
            value = decode_line(raw, "log")
            if value is not None and not isinstance(value, Problem):
                yield value

    def _lines(self) -> Iterator[bytes]:
        rest: list[bytes] = []
        """The end of a line that began before what was read, last part first."""
        before: int | None = None
        block = BLOCK
        while before != 0:
            if self.searched >= MOST:
                self.gave_up = True
                return
            data, before = self._log.tail(before, block)
            self.searched += len(data)
            block = min(2 * block, LARGEST_BLOCK)
            first, *lines = data.split(b"\n")
            if lines:
                yield b"".join([lines[-1], *reversed(rest)])
                yield from reversed(lines[:-1])
                rest = []
            rest.append(first)
            if not data:
                break
        yield b"".join(reversed(rest))


def newest(log: Log, wanted: Callable[[Mapping[str, object]], T | None], limit: int) -> tuple[list[T], str | None]:
    """(what `wanted` made of the newest `limit` records, oldest first; how far the search went where it gave up)."""
    back = Backwards(log)
    found: list[T] = []
    for value in back if limit > 0 else ():
        made = wanted(value)
        if made is not None:
            found.append(made)
            if len(found) == limit:
                break
    note = f"only the newest {back.searched} bytes were searched" if back.gave_up else None
    return found[::-1], note
