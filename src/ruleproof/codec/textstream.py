"""A stream of bytes as text: a window that moves over it, its lines, and what was repaired on the way.

Bytes that are not UTF-8 travel as lone surrogates until their record is known, and are replaced and noted there. Only
LF ends a line. Memory is what lies ahead in the window; nothing that was passed is kept.
"""

from __future__ import annotations

import codecs
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from hashlib import sha256

from ruleproof.core.problems import Problem

MAX_BYTES = 64 << 20
STEP = 1 << 14
_PIECE = 1 << 16
_REBASE = 1 << 12
_BLANK, _BLANK_MAX = b" \t\r\n\xef\xbb\xbf", 1 << 20
_FOREIGN = re.compile("[\udc80-\udcff]+")
# A quick look (it may cry wolf on an escaped backslash), then the exact pass over every escape.
_LONE_HINT = re.compile(
    r"\\u[dD](?:[89abAB][0-9a-fA-F]{2}(?!\\u[dD][c-fC-F])|(?<!\\u[dD][89abAB][0-9a-fA-F]{2}\\u[dD])[c-fC-F])"
)
_ESCAPE = re.compile(
    r"\\(?:u[dD][89abAB][0-9a-fA-F]{2}\\u[dD][c-fC-F][0-9a-fA-F]{2}|(u[dD][89a-fA-F][0-9a-fA-F]{2})|.)", re.DOTALL
)


@dataclass(frozen=True, slots=True)
class Item:
    """One record of a stream: its value, or the Problem that stands in its place.

    `where` names it for a person; `line` counts from 1; `offset` is in bytes from the start of the stream; `text` is
    the record as it stood (bytes that were not UTF-8 as lone surrogates; empty for a Problem); `group` numbers the
    top-level array that held it, 0 outside one; `note` says what was repaired, empty if nothing.
    """

    value: object
    where: str = ""
    line: int = 0
    offset: int = 0
    text: str = ""
    group: int = 0
    note: str = ""

    @property
    def digest(self) -> str:
        """SHA-256 of the record's bytes, 64 hex digits."""
        return sha256(self.text.encode("utf-8", "surrogateescape")).hexdigest()


def lines(chunks: Iterable[bytes], *, max_bytes: int = MAX_BYTES) -> Iterator[Item]:
    """Every line of the stream as text, without its LF or CRLF. Only LF ends a line; empty lines are left out."""
    window = Window(chunks)
    if window.foreign:
        yield Item(window.foreign)
        return
    for line in raw_lines(window, max_bytes):
        raw = line.text.removesuffix("\r")
        if isinstance(line.value, Problem):
            yield line
        elif raw.strip():
            yield Item(_FOREIGN.sub("\ufffd", raw), line.where, line.line, line.offset, raw)


def head(chunks: Iterable[bytes], size: int = 4096) -> tuple[str, Iterator[bytes]]:
    """The first line that is not blank (at most about `size` bytes of it) and the whole stream, nothing of it consumed.

    Empty where the stream is, or where it begins with more than a mebibyte of blanks.
    """
    stream = iter(chunks)
    taken, held = b"", 0
    parts: list[bytes] = []
    for chunk in stream:
        parts.append(chunk)
        held += len(chunk)
        taken += (chunk if taken else chunk.lstrip(_BLANK))[: size - len(taken)]
        if len(taken) >= size or b"\n" in taken or (not taken and held > _BLANK_MAX):
            break

    def again() -> Iterator[bytes]:
        yield from parts
        parts.clear()
        yield from stream

    return taken.decode("utf-8", "replace").split("\n", 1)[0].rstrip("\r"), again()


class Window:
    """The decoded text ahead of the reader. `text[pos:]` is unread; `line` and `offset` say where `pos` lies."""

    def __init__(self, chunks: Iterable[bytes]) -> None:
        self._pieces = (chunk[at : at + _PIECE] for chunk in chunks for at in range(0, len(chunk), _PIECE))
        self._decoder = codecs.getincrementaldecoder("utf-8")("surrogateescape")
        self._read = 0
        self.text, self.pos, self.line, self.offset, self.ended = "", 0, 1, 0, False
        self.grow(4)
        self.foreign: Problem | None = None
        if self.text[:2] in ("\udcff\udcfe", "\udcfe\udcff"):
            self.foreign = Problem("not-utf-8", "The file is UTF-16, not UTF-8.", hint="Save it as UTF-8.")
        if self.text.startswith("\ufeff"):
            self.move(1)

    @property
    def bytes_ahead(self) -> int:
        return self._read - self.offset

    def grow(self, wanted: int) -> bool:
        """Reads until `wanted` characters lie ahead. False if the stream had ended before."""
        if self.ended:
            return False
        parts = [self.text[self.pos :]]
        have = len(parts[0])
        while have < wanted and not self.ended:
            piece = next(self._pieces, b"")
            self.ended = not piece
            self._read += len(piece)
            parts.append(self._decoder.decode(piece, self.ended))
            have += len(parts[-1])
        self.text, self.pos = "".join(parts), 0
        return True

    def double(self) -> bool:
        """Reads until twice as much lies ahead: what makes repeated attempts linear in total."""
        return self.grow(max(STEP, 2 * (len(self.text) - self.pos)))

    def rebase(self) -> None:
        """Lets go of what was passed, once it is worth it. Indices into `text` change."""
        if self.pos > max(_REBASE, len(self.text) >> 4):
            self.text, self.pos = self.text[self.pos :], 0

    def move(self, end: int) -> str:
        """Steps to `end` and gives what was passed."""
        taken = self.text[self.pos : end]
        self.line += taken.count("\n")
        self.offset += size_of(taken)
        self.pos = end
        return taken

    def blank(self, pattern: re.Pattern[str]) -> str:
        """Steps over whitespace (and commas, if the pattern has them); gives what was passed since the last LF."""
        passed = ""
        while True:
            match = pattern.match(self.text, self.pos)
            taken = self.move(match.end()) if match else ""
            passed = (taken[taken.rfind("\n") :] if "\n" in taken else passed + taken)[:1000]
            if self.pos < len(self.text) or not self.grow(STEP):
                return passed


def size_of(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-8", "surrogateescape"))


def sound(raw: str) -> bool:
    """Whether `raw` certainly needs no repair; False may be a false alarm."""
    return not _LONE_HINT.search(raw) and (raw.isascii() or not _FOREIGN.search(raw))


def repaired(raw: str) -> tuple[str, str]:
    """`raw` with U+FFFD for bytes that are not UTF-8 and for escaped lone surrogates, and a note of how many."""
    text, foreign = _FOREIGN.subn("\ufffd", raw)
    lone = 0

    def mend(match: re.Match[str]) -> str:
        nonlocal lone
        if match[1] is None:
            return match[0]
        lone += 1
        return "\\ufffd"

    if _LONE_HINT.search(text):
        text = _ESCAPE.sub(mend, text)
    said = [f"{foreign} stretches of bytes that are not UTF-8"] if foreign else []
    said += [f"{lone} lone surrogates"] if lone else []
    return text, " and ".join(said) + " replaced" if said else ""


def too_large(max_bytes: int, where: str) -> Problem:
    return Problem("too-large", f"The record is larger than {max_bytes} bytes and was skipped.", where)


def raw_lines(window: Window, max_bytes: int) -> Iterator[Item]:
    """Raw lines to the end of the stream; of a line above the limit only the Problem is kept."""
    while window.pos < len(window.text) or window.grow(STEP):
        line, offset, where = window.line, window.offset, f"line {window.line}"
        looked, over = window.pos, False
        while (end := window.text.find("\n", looked)) < 0:
            looked = len(window.text) - window.pos  # grow() moves the window to 0
            if over := over or window.bytes_ahead > max_bytes:
                window.move(len(window.text))
                looked = 0
            if not window.double():
                end = len(window.text)
                break
        text = window.move(end)
        if window.pos < len(window.text):
            window.move(end + 1)
        if over or size_of(text) > max_bytes:
            yield Item(too_large(max_bytes, where), where, line, offset)
        else:
            yield Item(None, where, line, offset, text)
