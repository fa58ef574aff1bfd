"""Changes inside a JSON text that leave every other byte as it is: a part is put in behind the last one, or cut out.

What is put into an empty object or list follows the opening bracket at once; what this project lays out by itself has
white space there. So taking the parts out again tells whether the emptied object or list was made with them.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass

_SPACE = re.compile(r"[ \t\r\n]*")
_DECODER = json.JSONDecoder()


@dataclass(frozen=True, slots=True)
class Part:
    """A member of an object or an element of a list: `start` of its key (or value), `at` and `end` of its value."""

    key: str
    start: int
    at: int
    end: int


def skip_space(text: str, at: int) -> int:
    """Where the white space that begins at `at` ends."""
    found = _SPACE.match(text, at)
    return found.end() if found else at


def parts(text: str, at: int) -> list[Part]:
    """What stands in the object or list that opens at `text[at]`. The whole text was found to be JSON before."""
    found: list[Part] = []
    place = skip_space(text, at + 1)
    while text[place] not in "]}":
        start, key = place, ""
        if text[at] == "{":
            key, place = _DECODER.raw_decode(text, place)
            place = skip_space(text, skip_space(text, place) + 1)
        end = _DECODER.raw_decode(text, place)[1]
        found.append(Part(key, start, place, end))
        place = skip_space(text, end)
        if text[place] == ",":
            place = skip_space(text, place + 1)
    return found


def put(text: str, at: int, piece: str) -> str:
    """`text` with `piece` as the last part of what opens at `at`, set off like the part before it."""
    held = parts(text, at)
    if not held:
        return f"{text[: at + 1]}{piece}{text[at + 1 :]}"
    gap = _gap(text, held[-1].start) or " "
    return f"{text[: held[-1].end]},{gap}{piece}{text[held[-1].end :]}"


def cut(text: str, at: int, index: int) -> str:
    """`text` without one part of what opens at `at`: with the comma before it, or else the one behind it."""
    held = parts(text, at)
    start = held[index - 1].end if index else held[0].start
    end = held[1].start if not index and len(held) > 1 else held[index].end
    return text[:start] + text[end:]


def laid_out(text: str, at: int) -> bool:
    """Whether white space follows the bracket at `at`."""
    return skip_space(text, at + 1) > at + 1


def member(text: str, at: int, key: str, value: object) -> str:
    """`"key": value` laid out in lines, to be put into the object that opens at `at`."""
    held = parts(text, at)
    indent = _gap(text, held[0].start).rpartition("\n")[2] if held else "  "
    lines = f"{json.dumps(key)}: {json.dumps(value, indent=2, ensure_ascii=False)}".split("\n")
    return f"\n{indent}".join(lines)


def _gap(text: str, at: int) -> str:
    """The white space before `at`."""
    before = text[:at]
    return before[len(before.rstrip(" \t\r\n")) :]
