"""Find the copies of a text, in whatever form other writers put them, and take them out.

A copy is the text itself, cleaned, on one line, or escaped once or twice as JSON; of a text that is given as precious
also every run of 32 characters or more of it (a summary that quotes, a message that was cut). A text of fewer than 8
characters is only found where it is a whole string: it would be found everywhere.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator

from ruleproof.core.text import one_line, sanitize_text

MARK = "[forgotten]"
LEAST, PART = 8, 32
_BLOCK = PART // 2
"""Any run of 32 characters of a text holds a whole block of 16 that starts at a multiple of 16."""
_PLACES = 4
"""How many places of one block in the text are tried; a text that repeats itself more often is all alike."""


class Scrubber:
    """Takes copies of `whole` texts, and copies and pieces of `precious` texts, out of strings and bytes."""

    def __init__(self, precious: Iterable[str] = (), whole: Iterable[str] = ()) -> None:
        given, parted = list(whole), list(precious)
        forms = dict.fromkeys(form for text in (*parted, *given) for form in _forms(text))
        self._short = frozenset(form for form in forms if len(form) < LEAST)
        self._whole = sorted((form for form in forms if len(form) >= LEAST), key=len, reverse=True)
        self._blocks: dict[str, list[tuple[str, int]]] = {}
        for form in dict.fromkeys(form for text in parted for form in _forms(text) if len(form) >= PART):
            for offset in range(0, len(form) - _BLOCK + 1, _BLOCK):
                places = self._blocks.setdefault(form[offset : offset + _BLOCK], [])
                if len(places) < _PLACES:
                    places.append((form, offset))

    def text(self, text: str) -> str:
        """`text` with a mark in the place of every copy; the same object where there is none."""
        if text in self._short:
            return MARK
        spans = sorted(self._spans(text))
        if not spans:
            return text
        parts: list[str] = []
        at = 0
        for start, end in spans:
            if start >= at:
                parts += [text[at:start], MARK]
            at = max(at, end)
        return "".join([*parts, text[at:]])

    def value(self, value: object) -> object:
        """A JSON value with its texts scrubbed, keys apart; the same object where nothing had to be."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            made: dict[str, object] = {key: self.value(item) for key, item in value.items()}
            return value if all(made[key] is value[key] for key in made) else made
        if isinstance(value, list):
            items = [self.value(item) for item in value]
            return value if all(new is old for new, old in zip(items, value, strict=True)) else items
        return value

    def data(self, data: bytes) -> bytes:
        """Bytes of whatever format, scrubbed as text; the same object where there is no copy."""
        text = data.decode("utf-8", "surrogateescape")
        clean = self.text(text)
        return data if clean is text else clean.encode("utf-8", "surrogateescape")

    def holds(self, text: str) -> bool:
        """Whether there is a copy in `text`."""
        return text in self._short or next(self._spans(text), None) is not None

    def _spans(self, text: str) -> Iterator[tuple[int, int]]:
        for form in self._whole:
            at = text.find(form)
            while at >= 0:
                yield at, at + len(form)
                at = text.find(form, at + len(form))
        for block, places in self._blocks.items():
            at = text.find(block)
            while at >= 0:
                start, end = max((_extended(form, offset, text, at) for form, offset in places), key=_length)
                if end - start >= PART:
                    yield start, end
                    at = end - _BLOCK
                at = text.find(block, at + 1)


def _forms(text: str) -> Iterator[str]:
    """`text` as it may stand elsewhere."""
    for plain in dict.fromkeys((text.strip(), sanitize_text(text, 0).strip(), one_line(text, 0))):
        if plain:
            yield plain
            for ascii_only in (True, False):
                once = json.dumps(plain, ensure_ascii=ascii_only)[1:-1]
                yield once
                yield json.dumps(once, ensure_ascii=ascii_only)[1:-1]


def _length(span: tuple[int, int]) -> int:
    return span[1] - span[0]


def _extended(form: str, offset: int, text: str, at: int) -> tuple[int, int]:
    """The longest run around the block that both have."""
    start, left = at, offset
    while start and left and text[start - 1] == form[left - 1]:
        start, left = start - 1, left - 1
    end, right = at + _BLOCK, offset + _BLOCK
    while end < len(text) and right < len(form) and text[end] == form[right]:
        end, right = end + 1, right + 1
    return start, end
