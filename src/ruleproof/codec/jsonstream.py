"""Splits a stream of bytes into JSON values, one at a time: elements of an array, JSON Lines, or values in a row.

Total: what cannot be read comes out as a `Problem` in its place, and reading resumes at the next record where one can
be told. The result does not depend on how the bytes are cut into chunks. Memory is bounded by the largest record or by
`max_bytes`, not by the file; time is linear: an incomplete record is tried again only once twice as much of it is here.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import replace

from ruleproof.codec.textstream import MAX_BYTES, STEP, Item, Window, raw_lines, repaired, size_of, sound, too_large
from ruleproof.core.problems import Problem

_MAX_DEPTH = 1000  # deeper is refused by the JSON decoder anyway
_SPACE = re.compile("[ \\t\\r\\n\ufeff]*")  # a mark in the middle comes from files set one after another
_SEPARATOR = re.compile("[ \\t\\r\\n\ufeff,]*")
_TOP_LEVEL = re.compile(r"\n[{\[]")
_TOKEN = re.compile(r'\\["\\]?|["{}\[\],\n]')


def values(chunks: Iterable[bytes], *, max_bytes: int = MAX_BYTES) -> Iterator[Item]:
    """Every JSON value of the stream, in order, with a Problem in the place of each that cannot be read.

    A top-level array gives its elements, each as soon as it is complete. Once a value has stood alone on its line the
    rest is taken as JSON Lines: a cut line never swallows the next one. A record above `max_bytes` is a Problem.
    """
    return _Splitter(Window(chunks), max_bytes).run()


class _Unread(Exception):
    """A record did not decode. `complete`: more text would not help; `astray`: it ran on far beyond its own end."""

    def __init__(self, reason: str, complete: bool, astray: bool = False) -> None:
        super().__init__(reason)
        self.reason, self.complete, self.astray = reason, complete, astray or not complete

    def problem(self, where: str) -> Problem:
        if self.complete:
            return Problem("bad-json", f"Not JSON: {self.reason}.", where)
        return Problem("cut", f"The record is not closed: {self.reason}.", where)


class _Decoder:
    """JSON as RFC 8259 has it: the tokens NaN and Infinity, which the standard library takes, are reported."""

    def __init__(self) -> None:
        self._constants: list[str] = []
        self._json = json.JSONDecoder(parse_constant=self._constants.append)

    def at(self, text: str, pos: int) -> tuple[object, int, str]:
        """(value, end, a note or a Problem's message). Raises _Unread."""
        self._constants.clear()
        try:
            value, end = self._json.raw_decode(text, pos)
        except json.JSONDecodeError as error:
            open_ended = error.msg.startswith("Unterminated string") or error.pos >= len(text) - 8
            raise _Unread(f"{error.msg} (character {error.pos - pos + 1})", not open_ended) from None
        except RecursionError:
            raise _Unread("nested too deeply", True, astray=True) from None
        except ValueError as error:  # an integer of more than 4,300 digits
            raise _Unread(str(error).split(";")[0], True) from None
        if self._constants:
            name = self._constants[0]
            return Problem("not-a-number", f"{name} is not JSON: a number must be finite."), end, ""
        raw = text[pos:end]
        if not sound(raw):
            mended, note = repaired(raw)
            if note:
                return self._json.raw_decode(mended)[0], end, note
        return value, end, ""


def _located(item: Item) -> Item:
    """`item`, its Problem, if it is one, knowing where it is."""
    if not isinstance(item.value, Problem):
        return item
    return Item(replace(item.value, where=item.where), item.where, item.line, item.offset, "", item.group)


class _Splitter:
    """Walks the window. Outside an array a record starts a line; inside one it ends at a comma or the bracket."""

    def __init__(self, window: Window, max_bytes: int) -> None:
        self._window, self._max_bytes, self._decoder = window, max_bytes, _Decoder()
        self._group = self._element = 0
        self._mark: re.Pattern[str] | None = None  # what the start of the next record looks like, line break included
        self._reach = 2  # and how long that is
        self._bounded = False  # an unclosed record was met: the next ones end at the next mark

    def run(self) -> Iterator[Item]:
        window = self._window
        if window.foreign:
            yield Item(window.foreign)
            return
        while True:
            window.blank(_SPACE)
            if window.pos >= len(window.text):
                return
            if window.text[window.pos] == "[":
                yield from self._array()
                continue
            self._element, self._mark, self._reach, start = 0, _TOP_LEVEL, 2, window.line
            item = self._record()
            yield item
            if not isinstance(item.value, Problem) and window.line == start and self._at_line_end():
                yield from self._json_lines()
                return

    def _at_line_end(self) -> bool:
        passed = self._window.blank(_SPACE)
        return "\n" in passed or self._window.pos >= len(self._window.text)

    def _json_lines(self) -> Iterator[Item]:
        for line in raw_lines(self._window, self._max_bytes):
            text, pos, offset = line.text.rstrip(" \t\r"), 0, line.offset
            if isinstance(line.value, Problem):
                yield line
            while match := _SPACE.match(text, pos):
                offset += size_of(match[0])
                if (pos := match.end()) >= len(text):
                    break
                try:
                    value, end, note = self._decoder.at(text, pos)
                except _Unread as error:
                    yield Item(error.problem(line.where), line.where, line.line, offset)
                    break
                yield _located(Item(value, line.where, line.line, offset, text[pos:end], 0, note))
                offset, pos = offset + size_of(text[pos:end]), end

    def _array(self) -> Iterator[Item]:
        window, opened = self._window, f"line {self._window.line}"
        window.move(window.pos + 1)
        self._group, self._element, self._bounded = self._group + 1, 0, False
        last: Item | None = None
        while True:
            passed = window.blank(_SEPARATOR)
            if window.pos >= len(window.text):
                if not (last and isinstance(last.value, Problem) and last.value.code == "cut"):  # said already
                    said = f"The array is not closed: the file ends after element {self._element}."
                    yield Item(Problem("cut", said, opened), opened, group=self._group)
                return
            first = window.text[window.pos]
            if first == "]":
                window.move(window.pos + 1)
                self._bounded = False
                return
            self._element += 1
            # An array laid out in lines shows where its next element starts, should this one be broken.
            laid_out = passed.startswith("\n") and first in "{["
            self._mark, self._reach = (
                re.compile(re.escape(passed + first)) if laid_out else None,
                max(2, len(passed) + 1),
            )
            last = self._record(self._group)
            yield last

    def _record(self, group: int = 0) -> Item:
        """The record at the window, which is moved past it, or past as much of it as is certainly broken."""
        window = self._window
        window.rebase()  # an error of the decoder costs the length of the text before it
        line, offset = window.line, window.offset
        where = f"line {line}, element {self._element}" if group else f"line {line}"
        try:
            value, end, note = self._decoded()
        except _Unread as error:
            self._bounded = self._bounded or error.astray
            over = not error.complete and window.bytes_ahead > self._max_bytes
            self._skip(in_array=bool(group))
            problem = too_large(self._max_bytes, where) if over else error.problem(where)
            return Item(problem, where, line, offset, group=group)
        text = window.move(end)
        if size_of(text) > self._max_bytes:
            return Item(too_large(self._max_bytes, where), where, line, offset, group=group)
        return _located(Item(value, where, line, offset, text, group, note))

    def _decoded(self) -> tuple[object, int, str]:
        window = self._window
        while True:
            stop = self._next_mark() if self._bounded else -1
            text = window.text[window.pos : stop] if stop >= 0 else window.text
            pos = 0 if stop >= 0 else window.pos
            try:
                value, end, note = self._decoder.at(text, pos)
            except _Unread as error:
                if stop >= 0:
                    raise _Unread(error.reason, True) from None
                if error.complete or window.bytes_ahead > self._max_bytes or not window.double():
                    raise
                continue
            end += window.pos - pos
            # A number at the end of the window may go on in the next chunk, as in 1 e-5.
            if end < len(window.text) - 2 or window.text[end - 1] in '}]"' or not window.double():
                return value, end, note

    def _next_mark(self) -> int:
        """Where the next record seems to start, or -1."""
        window, looked = self._window, 1
        while self._mark:
            if found := self._mark.search(window.text, window.pos + looked):
                return found.start()
            looked = max(1, len(window.text) - window.pos - self._reach)
            if window.bytes_ahead > self._max_bytes or not window.double():
                break
        return -1

    def _skip(self, in_array: bool) -> None:
        """Moves past a broken record by its brackets, or to the line that looks like the start of the next record.

        A closing bracket closes its own opener and everything that was left open inside; one without an opener closes
        the innermost. Nothing that was passed is kept.
        """
        window, stack, quoted = self._window, "", False
        while match := self._token():
            token, start = match[0], match.start()
            if token == "\n":
                # Also inside a string, where JSON has no line break: a quote that was lost ends here at the latest.
                if (self._mark and self._mark.match(window.text, start)) or (not in_array and not stack):
                    window.move(start)
                    return
            elif token == '"':
                quoted = not quoted
            elif quoted:
                pass
            elif token in "{[":
                stack += token if len(stack) < _MAX_DEPTH else ""
            elif token in "}]" and stack:
                opener = stack.rfind("{" if token == "}" else "[")
                stack = stack[: opener if opener >= 0 else -1]
            elif token in ",]" and in_array and not stack:
                window.move(start)
                return
            window.move(match.end())
        window.move(len(window.text))

    def _token(self) -> re.Match[str] | None:
        """The next token, with enough text behind it to compare it with the mark."""
        window = self._window
        while True:
            match = _TOKEN.search(window.text, window.pos)
            if window.ended or (match and len(window.text) - match.start() >= self._reach):
                return match
            window.move(match.start() if match else len(window.text))
            window.grow(max(STEP, self._reach))
