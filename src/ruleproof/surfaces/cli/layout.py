"""Text for people: tables, facts and paragraphs that fit the terminal, measured in cells and not in characters.

Whatever stands in a cell is made one harmless line first. Layout is pure; `output.py` alone prints.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence

from ruleproof.core.text import one_line

WIDTH = 80
GAP = "  "
LEAST, MOST_OF_ID = 4, 34
"""No column is narrower than that; the ids of one column are not cut below this while others can give way."""
LONGEST = 100_000

_WORD = re.compile(r"(?:`[^`\s](?:[^`\n]{0,60}[^`\s])?`|\S)+")

Cell = str | int | float | None


def width(text: str) -> int:
    """Terminal cells that `text` takes at most."""
    return len(text) if text.isascii() else sum(map(_cells, text))


def _cells(char: str) -> int:
    if char == "\ufe0f":  # makes the character before it wide
        return 1
    if unicodedata.category(char) in ("Mn", "Me", "Cf"):
        return 0
    return 2 if unicodedata.east_asian_width(char) in "WF" else 1


def cut(text: str, room: int) -> str:
    """`text` in at most `room` cells; what is cut off is marked by an ellipsis."""
    if width(text) <= room:
        return text
    return _head(text, room - 1) + "…" if room > 0 else ""


def _head(text: str, room: int) -> str:
    taken = 0
    for place, char in enumerate(text):
        taken += _cells(char)
        if taken > room:
            return text[:place]
    return text


def wrap(text: str, room: int) -> list[str]:
    """`text` in lines of at most `room` cells (>= 2), broken at spaces; a longer word at a slash in it, else anywhere.

    What stands in backticks is one word, so that a command can be copied.
    """
    lines: list[str] = []
    line = ""
    for word in _WORD.findall(text):
        if line and width(line) + 1 + width(word) <= room:
            line = f"{line} {word}"
            continue
        if line:
            lines.append(line)
        while width(word) > room:
            head = _head(word, room)
            lines.append(head[: head.rfind("/") + 1] or head)
            word = word[len(lines[-1]) :]
        line = word
    return [*lines, line] if line or not lines else lines


def paragraph(text: str, *, indent: str = "", first: str = "", total: int = WIDTH) -> str:
    """One harmless paragraph, wrapped; `first` begins its first line, `indent` the others."""
    return _hanging(one_line(text, LONGEST), indent, first, total)


def heading(text: str) -> str:
    """A line across the terminal that opens a part."""
    return f"--- {text} {'-' * (WIDTH - width(text) - 5)}"


def facts(pairs: Iterable[tuple[str, Cell]], *, total: int = WIDTH) -> str:
    """`name  value` lines with the values in one column; what has no value is left out."""
    shown = [(name, shown_cell(value)) for name, value in pairs if value is not None]
    left = max((width(name) for name, _ in shown), default=0)
    return "\n".join(_hanging(value, " " * (left + 2), pad(name, left) + GAP, total) for name, value in shown)


def _hanging(text: str, indent: str, first: str, total: int) -> str:
    lines = wrap(text, total - max(width(indent), width(first)))
    return first + f"\n{indent}".join(lines)


def table(headers: Sequence[str], rows: Iterable[Sequence[Cell]], *, whole: int = 0, total: int = WIDTH) -> str:
    """A table of at most `total` cells a line. The widest column gives way first, heads and the ids of `whole` last.

    A column of numbers stands to the right.
    """
    kept = [list(row) for row in rows]
    cells = [[shown_cell(cell) for cell in row] for row in kept]
    right = [
        any(isinstance(row[i], (int, float)) for row in kept)
        and all(row[i] is None or isinstance(row[i], (int, float)) for row in kept)
        for i in range(len(headers))
    ]
    heads = [width(head) for head in headers]
    wide = [min(total, max([head, *(width(row[i]) for row in cells)])) for i, head in enumerate(heads)]
    room = total - len(GAP) * (len(headers) - 1)
    _shrink(wide, room, [max(head, MOST_OF_ID if i == whole else LEAST) for i, head in enumerate(heads)])
    _shrink(wide, room, [LEAST] * len(wide))
    return "\n".join(_line(row, wide, right) for row in [list(headers), *cells])


def shown_cell(value: Cell) -> str:
    """One cell as one harmless line: `-` for nothing, two decimals for a fraction."""
    if value is None:
        return "-"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, float):
        return f"{value:.2f}"
    return f"{value:,}" if isinstance(value, int) else one_line(value, LONGEST)


def pad(text: str, room: int, right: bool = False) -> str:
    """`text` filled up with spaces to `room` cells."""
    space = " " * (room - width(text))
    return space + text if right else text + space


def _shrink(wide: list[int], room: int, least: Sequence[int]) -> None:
    """Take cell after cell from whatever column is widest and may still give, until the line fits."""
    while sum(wide) > room:
        most = max((i for i in range(len(wide)) if wide[i] > least[i]), key=lambda i: wide[i], default=None)
        if most is None:
            return
        wide[most] -= 1


def _line(row: Sequence[str], wide: Sequence[int], right: Sequence[bool]) -> str:
    return GAP.join(_padded(row, wide, right)).rstrip()


def _padded(row: Sequence[str], wide: Sequence[int], right: Sequence[bool]) -> Iterator[str]:
    for text, room, at_right in zip(row, wide, right, strict=True):
        yield pad(cut(text, room), room, at_right)
