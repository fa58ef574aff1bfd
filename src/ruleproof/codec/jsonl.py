"""One JSON object a line, UTF-8. Writing is canonical; reading is total: a bad line is a Problem that names its number.

Written text stays readable in any script, but no character that some reader takes for a line break, that a terminal
obeys or that UTF-8 cannot carry stands raw in a line: those are escaped.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from math import isfinite

from ruleproof.core.problems import Problem
from ruleproof.errors import Refused

_RAW = re.compile(r"[\x7f-\x9f\u00ad\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ud800-\udfff\U000e0000-\U000e007f]")
_MARKERS = (b"<<<<<<< ", b"=======", b">>>>>>> ", b"||||||| ")
MAX_LINE = 8 << 20


def encode_line(record: Mapping[str, object]) -> bytes:
    """One line with sorted keys and its newline. Raises Refused for NaN, infinities and what JSON cannot hold."""
    try:
        text = json.dumps(record, ensure_ascii=False, sort_keys=True, separators=(", ", ": "), allow_nan=False)
    except (TypeError, ValueError) as error:
        raise Refused(
            f"The record cannot be written as JSON: {error}.", hint="Use finite numbers and plain values."
        ) from (error)
    if not text.isascii() or "\x7f" in text:
        text = _RAW.sub(_escaped, text)
    return text.encode() + b"\n"


def _escaped(match: re.Match[str]) -> str:
    return "".join(f"\\u{unit:04x}" for unit in _utf16(match.group()))


def _utf16(character: str) -> tuple[int, ...]:
    data = character.encode("utf-16-be", "surrogatepass")
    return tuple(int.from_bytes(data[i : i + 2]) for i in range(0, len(data), 2))


def decode_line(raw: bytes, where: str) -> dict[str, object] | Problem | None:
    """The object of one line; None for a blank line; a Problem naming `where` for anything else."""
    line = raw.strip()
    if line.startswith(b"\xef\xbb\xbf"):
        line = line[3:].lstrip()
    if not line:
        return None
    if len(line) > MAX_LINE:
        return Problem("oversize-line", f"{len(line)} bytes in one line; at most {MAX_LINE} are read", where)
    try:
        found = line.decode("utf-8", "surrogatepass")
        value, end = _decode(found)
        if end != len(found):
            return Problem(*_broken(line), where)
    except UnicodeDecodeError as error:
        return Problem("bad-encoding", f"not UTF-8 (byte {error.start}); the line is skipped", where)
    except (ValueError, RecursionError):
        return Problem(*_broken(line), where)
    if not isinstance(value, dict):
        return Problem("wrong-type", f"{type(value).__name__} where an object belongs; the line is skipped", where)
    return value


def _broken(line: bytes) -> tuple[str, str]:
    if line.startswith(_MARKERS):
        return "conflict-marker", "a merge conflict marker; the line is skipped"
    return "broken-line", "not a JSON object (torn or foreign); the line is skipped"


def _constant(name: str) -> float:
    raise ValueError(name)


def _finite(text: str) -> float:
    value = float(text)
    if not isfinite(value):
        raise ValueError(text)
    return value


_decode = json.JSONDecoder(parse_constant=_constant, parse_float=_finite).raw_decode
"""Made once, and without a search for white space around the value: a stripped line has none."""
