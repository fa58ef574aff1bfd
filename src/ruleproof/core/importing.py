"""Instruction files of other systems, cut into texts that can be proposed one by one; nothing is left out.

A file that fits stays whole. A larger one is cut at its headings, then at blank lines, never inside a code fence; a
piece that is still too large stays whole, so that the check refuses it with its figures.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable

_HEADING = re.compile(r"#{1,6}\s")
_FENCE = re.compile(r"\s{0,3}(```+|~~~+)")


def split_text(text: str, fits: Callable[[str], bool]) -> tuple[str, ...]:
    """The pieces of `text`, in its order, each as large as `fits` allows; their words together are those of `text`."""
    body = text.strip()
    if not body or fits(body):
        return (body,) if body else ()
    sections = _joined(_at_headings(body), fits)
    return tuple(
        piece
        for section in sections
        for piece in ([section] if fits(section) else _joined(_at_blank_lines(section), fits))
    )


def _at_headings(text: str) -> list[str]:
    return _cut(text, lambda line, before: bool(_HEADING.match(line)))


def _at_blank_lines(text: str) -> list[str]:
    return _cut(text, lambda line, before: not before.strip())


def _cut(text: str, starts: Callable[[str, str], bool]) -> list[str]:
    """`text` cut before every line outside of a fence that `starts` a part; empty parts dropped."""
    parts: list[list[str]] = [[]]
    fence = before = ""
    for line in text.split("\n"):
        if not fence and parts[-1] and starts(line, before):
            parts.append([])
        found = _FENCE.match(line)
        if found and not fence:
            fence = found.group(1)
        elif found and found.group(1).startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
        parts[-1].append(line)
        before = line
    return [part for lines in parts if (part := "\n".join(lines).strip())]


def _joined(parts: Iterable[str], fits: Callable[[str], bool]) -> list[str]:
    """Neighbours put together again while they fit; what follows a heading on its own stays with it."""
    joined: list[str] = []
    for part in parts:
        lonely = bool(joined) and "\n" not in joined[-1] and _HEADING.match(joined[-1])
        if joined and (lonely or fits(f"{joined[-1]}\n\n{part}")):
            joined[-1] = f"{joined[-1]}\n\n{part}"
        else:
            joined.append(part)
    return joined
