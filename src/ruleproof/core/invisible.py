"""Code points that a person cannot see, and the few places where they belong.

Invisible is what Unicode calls default ignorable (bidi controls, zero-width, tags, variation selectors, fillers), and
blanks and non-characters that print nothing. Allowed: ZWJ and ZWNJ between letters of a script that joins, or after
its virama; ZWJ and U+FE0F inside emoji. Everything else is dropped when text is cleaned and named when it is refused.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

JOINERS = "\u200c\u200d"
_INVISIBLE = (
    "\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180b-\u180f\u200b-\u200f\u202a-\u202e\u2060-\u206f\u2800\u3164"
    "\ufe00-\ufe0f\ufeff\uffa0\ufdd0-\ufdef\ufff0-\ufffb\ufffe\uffff\U00013441\U00013442\U00016fe4\U0001bca0-\U0001bca3"
    "\U0001d159\U0001d173-\U0001d17a\U000e0000-\U000e0fff"
    + "".join(f"{chr(plane + 0xFFFE)}{chr(plane + 0xFFFF)}" for plane in range(0x10000, 0x110000, 0x10000))
)
_EMOJI = (
    "\u00a9\u00ae\u203c\u2049\u2122\u2139\u2190-\u21ff\u2300-\u23ff\u24c2\u25a0-\u27bf\u2900-\u297f\u2b00-\u2bff"
    "\u3030\u303d\u3297\u3299\U0001f000-\U0001f1e5\U0001f200-\U0001faff"
)
_JOINING = (
    "\u0620-\u065f\u066e-\u06d3\u06d5-\u06ef\u06fa-\u06ff\u0710-\u074a\u0750-\u077f\u07ca-\u07f5\u0840-\u085b\u0860-\u088e"
    "\u0898-\u08e1\u08e3-\u0963\u0971-\u0df3\u0f40-\u0fbc\u1000-\u1049\u1050-\u109f\u1780-\u17b3\u17b6-\u17d3\u1820-\u18aa"
    "\u1b00-\u1b4b\ua840-\ua871\ua980-\ua9c0\ufb50-\ufdcf\ufdf0-\ufdfb\ufe70-\ufefc"
    "\U00010d00-\U00010d27\U00011000-\U00011046\U00011080-\U000110ba\U00011100-\U000114c5\U0001e900-\U0001e94b"
)
_VIRAMA = "\u094d\u09cd\u0a4d\u0acd\u0b4d\u0bcd\u0c4d\u0ccd\u0d4d\u0dca\u1039\u17d2"

_ONE = re.compile(f"[{_INVISIBLE}]")
_MISPLACED = re.compile(
    f"(?:(?<=[{_JOINING}])[{JOINERS}](?=[{_JOINING}])"
    f"|(?<=[{_VIRAMA}])[{JOINERS}]"
    f"|(?:(?<=[{_EMOJI}])|(?<=[{_EMOJI}]\ufe0f))\u200d(?=[{_EMOJI}])"
    f"|(?<=[{_EMOJI}])\ufe0f"
    f"|(?<=[0-9#*])\ufe0f(?=\u20e3))"
    f"|([{_INVISIBLE}])"
)
_SHOWN = 8


def drop_misplaced(text: str) -> str:
    """`text` without the invisible code points that stand where they do not belong. Idempotent."""
    if text.isascii() or not _ONE.search(text):
        return text
    return _MISPLACED.sub(lambda found: "" if found[1] else found[0], text)


def drop_invisible(text: str) -> str:
    """`text` without any invisible code point, allowed or not: for comparing and searching."""
    return text if text.isascii() else _ONE.sub("", text)


def hidden_code_points(text: str) -> tuple[str, ...]:
    """Each misplaced invisible code point, named, with its position (0 = first): `U+202E RIGHT-TO-LEFT OVERRIDE at 12`.

    The first 8, then one entry `... and N more`. Empty where there is none.
    """
    if text.isascii():
        return ()
    found = list(_hidden(text))
    named = [f"U+{ord(char):04X} {_name(char)} at {index}" for index, char in found[:_SHOWN]]
    if len(found) > _SHOWN:
        named.append(f"... and {len(found) - _SHOWN} more")
    return tuple(named)


def _hidden(text: str) -> Iterator[tuple[int, str]]:
    return ((match.start(), match[1]) for match in _MISPLACED.finditer(text) if match[1])


def _name(char: str) -> str:
    return unicodedata.name(char, "TAG" if "\U000e0000" <= char <= "\U000e007f" else "UNNAMED INVISIBLE CODE POINT")
