"""A log read from its end: what is asked for are its newest records, so the cost follows the answer, not the file.

A record that is wanted for a word in it is decoded only where the word stands in its bytes.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import TypeVar

from ruleproof.codec.jsonl import decode_line
from ruleproof.core.problems import Problem
from ruleproof.engine.ports import Log

T = TypeVar("T")
_PLAIN = re.compile(r"[A-Za-z0-9_.: -]+")
BLOCK, LARGEST_BLOCK = 1 << 16, 1 << 22
MOST = 32 << 20
"""Bytes that one question may read."""


class Backwards:
    """The objects of a log, newest first. Broken lines are passed over; `doctor` names them.

    `words`: only objects that hold one of these as a whole JSON text are wanted, though others may come; None: all.
    """

    def __init__(self, log: Log, words: Iterable[str] | None = None) -> None:
        self._log = log
        self._quoted = None if words is None else _quoted(words)
        self.searched = 0
        """Bytes read so far."""
        self.gave_up = False
        """Whether it stopped at the limit, with older records unread."""

    def __iter__(self) -> Iterator[Mapping[str, object]]:
        for raw in self._lines():
            if self._quoted is None or any(quoted in raw for quoted in self._quoted):
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


def _quoted(words: Iterable[str]) -> list[bytes] | None:
    """The words as they stand in a line; None where one of them can be written in several ways."""
    words = list(words)
    return [f'"{word}"'.encode() for word in words] if all(map(_PLAIN.fullmatch, words)) else None


def newest(
    log: Log, wanted: Callable[[Mapping[str, object]], T | None], limit: int, words: Iterable[str] | None = None
) -> tuple[list[T], str | None]:
    """(what `wanted` made of the newest `limit` records, oldest first; how far the search went where it gave up).

    `words`: `wanted` wants only records that hold one of these as a whole JSON text.
    """
    back = Backwards(log, words)
    found: list[T] = []
    for value in back if limit > 0 else ():
        made = wanted(value)
        if made is not None:
            found.append(made)
            if len(found) == limit:
                break
    note = f"only the newest {back.searched} bytes were searched" if back.gave_up else None
    return found[::-1], note
