"""Text to search tokens, in every script. ASCII goes a fast way; both ways agree on ASCII text.

A token is a run of two or more letters, marks, digits and underscores. Where a script writes no spaces (Han, Kana,
Thai, Lao, Khmer, Myanmar), a run becomes its overlapping pairs of characters, marks staying with their letter; one
character alone is a token there. A Hangul word is a token from one syllable on, and from three on its pairs are tokens
too, because particles are glued to words.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache
from itertools import pairwise

from ruleproof.core.invisible import drop_invisible

_ASCII_TOKEN = re.compile(r"[a-z0-9_]{2,}")
_HAN = (
    "\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3038-\u303b\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff\U00020000-\U0003ffff"
)
_KANA = "\u3041-\u3096\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u31f0-\u31ff\U0001b000-\U0001b16f"
_THAI, _LAO = "\u0e01-\u0e3a\u0e40-\u0e4e\u0e50-\u0e59", "\u0e81-\u0edf"
_KHMER, _MYANMAR = (
    "\u1780-\u17d3\u17d7\u17dc\u17dd\u17e0-\u17e9",
    "\u1000-\u1049\u1050-\u109f\ua9e0-\ua9fe\uaa60-\uaa7f",
)
_UNSPACED = (_HAN, _KANA, _THAI, _LAO, _KHMER, _MYANMAR)
_HANGUL = re.compile("[\u1100-\u11ff\u3131-\u318e\ua960-\ua97c\uac00-\ud7fb]+")
_LAST_MARK = 0x1E94B


def tokenise(text: str) -> tuple[str, ...]:
    """The tokens of `text`, in order, with repeats. Never raises; the same for any case and any compatible form."""
    if text.isascii():
        return tuple(_ASCII_TOKEN.findall(text.lower()))
    folded = folded_form(text)
    if folded.isascii():
        return tuple(_ASCII_TOKEN.findall(folded))
    tokens: list[str] = []
    piece, letter = _patterns()
    for match in piece.finditer(folded):
        run = match[0]
        if match[1] is None:
            if len(run) > 1:
                tokens.append(run)
                if len(run) > 2 and _HANGUL.fullmatch(run):
                    tokens += map("".join, pairwise(run))
            elif _HANGUL.match(run):
                tokens.append(run)
            continue
        letters = letter.findall(run)
        tokens += map("".join, pairwise(letters)) if len(letters) > 1 else letters
    return tuple(tokens)


def folded_form(text: str) -> str:
    """Caseless, compatible form (Unicode 3.13, D147): equal for texts that differ in case, width or invisible signs."""
    plain = unicodedata.normalize("NFD", drop_invisible(text)).casefold()
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKC", plain).casefold())


@cache
def _patterns() -> tuple[re.Pattern[str], re.Pattern[str]]:
    """One run of one kind (group 1: of a script without spaces); one letter with its marks. Built on first use."""
    marks = _ranges([code for code in range(0x300, _LAST_MARK) if unicodedata.category(chr(code))[0] == "M"])
    unspaced = "".join(_UNSPACED)
    runs = "|".join(f"[{script}](?:[{script}]|[{marks}])*" for script in _UNSPACED)
    word = f"[^\\W{unspaced}](?:[^\\W{unspaced}]|[{marks}])*"
    return re.compile(f"({runs})|{word}"), re.compile(f"[^{marks}][{marks}]*|[{marks}]+")


def _ranges(codes: list[int]) -> str:
    """Sorted code points as the inside of a character class."""
    spans: list[list[int]] = []
    for code in codes:
        if spans and spans[-1][1] == code - 1:
            spans[-1][1] = code
        else:
            spans.append([code, code])
    return "".join(f"{chr(low)}-{chr(high)}" for low, high in spans)
