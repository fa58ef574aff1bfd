"""Letters and signs that look like others: folded to find disguised markers, and to compare rules.

`plain_view` is for finding: one character for one, so that a position in it is a position in the text. `unmixed` and
`skeleton` are for comparing: they fold only words that mix Latin with a script of lookalikes (Cyrillic, Greek,
Armenian, Cherokee), and words of lookalikes alone; letter for letter, so two words of one script never become one.
"""

from __future__ import annotations

import re
import unicodedata
from functools import cache

_CAPITALS = (
    ("АВЕЅЈКМНОРСТХУІԌԚԜԀӀҮ", "ABESJKMHOPCTXYIGQWDIY"),
    ("ΑΒΕΖΗΙΚΜΝΟΡΤΥΧ", "ABEZHIKMNOPTYX"),
    ("ՏՍՕԼ", "SUOL"),
    ("ᎪᏴᏟᎠᎬᎫᎻᎥᎫᏦᏞᎷᏢᎡᏚᎢᏙᎳᏃ", "ABCDEJHIJKLMPRSTVWZ"),
)
_SMALL = (("аеѕјорсхуіԍԛԝԁӏһү", "aesjopcxyigqwdlhy"), ("αικνορυχγ", "aikvopuxy"), ("օսոհցյ", "ounhgj"), ("ɑɡ", "ag"))
_BOTH_CASES = (("авекмнорстухіјѕԁԛԝӏ", "abekmhopctyxijsdqwl"), ("αβεζηικμνορτυχ", "abezhikmnoptyx"))

_QUOTES_AND_DASHES = str.maketrans(
    {
        **dict.fromkeys("‘’‚‛′`´ʼ\u02bb", "'"),
        **dict.fromkeys("“”„‟″«»", '"'),
        **dict.fromkeys("‐‑‒–—―−", "-"),
    }
)
_SIGNS = (
    ("‹〈⟨˂ᐸ❮❬⧼≺", "<<<<<<<<<"),
    ("›〉⟩˃ᐳ❯❭⧽≻", ">>>>>>>>>"),
    ("‐‑‒–−⁃˗", "-------"),
    ("ǃ❗", "!!"),
    ("∣｜│❘ǀ", "|||||"),
    ("ˋ", "`"),
    ("∼˜", "~~"),
    ("：∶ː˸꞉", ":::::"),
    ("⁎∗✱", "***"),
    ("▁ıİſ", "_iIs"),
    ("ᴀʙᴄᴅᴇꜰɢʜɪᴊᴋʟᴍɴᴏᴘʀꜱᴛᴜᴠᴡʏᴢ", "abcdefghijklmnoprstuvwyz"),
    ("⟦【〔", "[[["),
    ("⟧】〕", "]]]"),
)
_COMPATIBLE = ((0xA0, 0x100), (0x2B0, 0x300), (0x1D00, 0x1DC0), (0x2000, 0x2500), (0x3000, 0x3001), (0xFE10, 0xFF5F))
_COMPATIBLE_ASTRAL = ((0x1D400, 0x1D800), (0x1F100, 0x1F200))


@cache
def _one_for_one() -> dict[int, str]:
    table: dict[int, str] = {}
    for low, high in _COMPATIBLE + _COMPATIBLE_ASTRAL:
        for code in range(low, high):
            plain = unicodedata.normalize("NFKC", chr(code))
            if len(plain) == 1 and plain < "\x7f" and code > 0x7F:
                table[code] = plain
    for group in (_CAPITALS, _SMALL, _SIGNS):
        for foreign, latin in group:
            table.update({ord(char): sign for char, sign in zip(foreign, latin, strict=True)})
    return table


_SEEN = str.maketrans("".join(a for a, _ in _CAPITALS + _SMALL), "".join(b for _, b in _CAPITALS + _SMALL))
_FOLDED = [str.maketrans(foreign, latin) for foreign, latin in _BOTH_CASES]
_WHOLLY = [re.compile(f"[{foreign}\u0300-\u036f]+") for foreign, _ in _BOTH_CASES]
_WORD = re.compile(r"(?:[^\W\d_][\u0300-\u036f]*)+")
_LATIN = re.compile(r"[A-Za-zɑɡ\u00c0-\u024f]")
_BESIDE_LATIN = re.compile("[\u0370-\u03ff\u0400-\u052f\u0530-\u058f\u13a0-\u13ff\uab70-\uabbfɑɡ]")


def plain_view(text: str) -> str:
    """`text` with every sign or letter that looks like an ASCII one replaced by it. Same length, same positions."""
    return text if text.isascii() else text.translate(_one_for_one())


def unmixed(text: str) -> str:
    """`text` with ASCII quotes and dashes, and with words that mix Latin with a script of lookalikes in Latin."""
    return text if text.isascii() else _WORD.sub(_unmix, text.translate(_QUOTES_AND_DASHES))


def skeleton(folded: str) -> str:
    """A case-folded text with disguised words in Latin: mixed ones, and those that hold nothing but lookalikes."""
    return folded if folded.isascii() else _WORD.sub(lambda word: _fold_whole(_unmix(word)), folded)


def _unmix(word: re.Match[str]) -> str:
    """A word that mixes Latin with a script of lookalikes, in Latin as far as it goes."""
    text = word[0]
    if text.isascii() or not (_BESIDE_LATIN.search(text) and _LATIN.search(text)):
        return text
    return text.translate(_SEEN)


def _fold_whole(word: str) -> str:
    """A lower-case word of lookalikes alone, in Latin: one letter for one, so no two words of one script meet."""
    for alike, table in zip(_WHOLLY, _FOLDED, strict=True):
        if alike.fullmatch(word):
            return word.translate(table)
    return word
