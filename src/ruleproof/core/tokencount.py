"""How many tokens a text costs, estimated from above: budgets that hold by the estimate hold by the real count.

Both vocabularies (cl100k and o200k) split a text into pieces before they merge bytes; so does this module, and gives
each piece the most that it was seen or can be shown to cost. `edge.tokens.exact_counter` counts exactly.
"""

from __future__ import annotations

import re

from ruleproof.core.commonpieces import COMMON_CHARACTERS, COMMON_WORDS

_PIECE = re.compile(r"[^\W\d_]+|[0-9]+| +|([!-/:-@\[-`{-~\t\n])\1*|.", re.DOTALL)
_WORD_IN_CAMEL = re.compile(r"[A-Z]?[a-z]+|[A-Z]+")
_PAIR_NO_TOKEN = re.compile(
    r"bq|f[jz]|g[jkq]|hj|j[gvwxyz]|k[qxz]|lq|mz|nq|oq|q[fgjkovyz]|rj|t[jq]|uq|v[qz]|w[qvz]|x[ghjkquvw]|y[fjqv]|z[gjqrv]"
)
_PRONOUNCEABLE = re.compile(r"(?:[b-df-hj-np-tv-xz]{0,3}+[aeiouy]{1,3}+)+[b-df-hj-np-tv-xz]{0,3}")
_SYLLABLES = re.compile(
    r"(?:(?:[bcdfgpt][lr]|s[ptckhl]|[ctps]h|[lmnrs][bcdfgklmnpst]|[bcdfghklmnprstvwyz])?[aeiou]{1,2})+"
    r"[bcdfghklmnprstvwz]{0,2}"
)
_RUNS_WITH_TOKENS = frozenset("-=*#_.~\t\n")
_TWO_TOKENS = (
    (0x0900, 0x0B00),
    (0x0B80, 0x0EC0),
    (0x1780, 0x1800),
    (0x2000, 0x20C0),
    (0x3000, 0x3100),
    (0xFF00, 0x10000),
)
_THREE_TOKENS = ((0x0800, 0x10000), (0x1F300, 0x1F700), (0x1F900, 0x1FA00))
_ENGLISH_WORDS, _ENGLISH_SHARE, _ENGLISH_SLACK = 3, 0.4, 3


def estimate_tokens(text: str) -> int:
    """An upper estimate of the tokens of `text` in cl100k and o200k, >= 0; 0 for the empty text.

    Where at least 3 words and two fifths of all are common English ones, an uncommon pronounceable word counts as in
    English (a third of its letters); elsewhere as a foreign one (half of them, or the bound of `_letters`). Linear.
    """
    english = foreign = common = words = 0
    for match in _PIECE.finditer(text):
        piece = match[0]
        if piece[0] < "\x80" and piece.isalpha() and piece.isascii():
            as_english, as_foreign = _word(piece)
            if len(piece) > 1:
                words += 1
                common += as_foreign == 1
        else:
            as_english = as_foreign = _other(piece, text[match.end() : match.end() + 2])
        english += as_english
        foreign += as_foreign
    if common >= _ENGLISH_WORDS and common >= _ENGLISH_SHARE * words:
        return min(english + _ENGLISH_SLACK, foreign)
    return foreign


def _word(word: str) -> tuple[int, int]:
    """Tokens of a run of ASCII letters: read as English, and as anything else."""
    size = len(word)
    lower = word.lower()
    if size == 1:
        return 1, 1
    if word != lower and not word[1:].islower():
        if word.isupper():
            return size, size
        return sum(_word(part)[0] for part in _WORD_IN_CAMEL.findall(word)), size
    if lower in COMMON_WORDS:
        return 1, 1
    bound = _letters(lower, capital=word != lower)
    english = min(bound, max(2, -(-size // 3))) if _PRONOUNCEABLE.fullmatch(lower) else bound
    foreign = min(bound, size // 2 + 1 + (word != lower)) if _SYLLABLES.fullmatch(lower) else bound
    return english, max(2, foreign)


def _letters(word: str, *, capital: bool) -> int:
    """The most tokens that lower-case letters, with a space before them, can become.

    Every pair of letters outside `_PAIR_NO_TOKEN` is a token of both vocabularies, as is a space with any letter; so
    no two single letters stay side by side, and of n symbols at most (2n + 1) // 3 tokens are left.
    """
    if _PAIR_NO_TOKEN.search(word):
        return len(word)
    return min(len(word), (2 * len(word) + 3) // 3 + capital)


def _other(piece: str, ahead: str) -> int:
    """Tokens of a piece that is no run of ASCII letters; `ahead` is up to two characters after it."""
    first, size, following = piece[0], len(piece), ahead[:1]
    if first == " ":
        joins_nothing = following.isdigit() or following > "~"
        if size > 1:
            return 1 + size // 40 + joins_nothing + (following in COMMON_CHARACTERS)
        return (joins_nothing or following <= " ") + (following >= "\u0800" and following in COMMON_CHARACTERS)
    if first in "0123456789":
        return -(-size // 3)
    if piece.isascii():
        if first == "\t":
            return 1 + size // 4 + (size > 1 or following.isalpha())
        if piece == "'" and ahead.isalpha() and len(ahead) == 2:  # cl100k cuts 'default' into 'd and efault'
            return 2
        if size < 4 or first not in _RUNS_WITH_TOKENS:
            return -(-size // 2)
        return 1 + size // 4 + (first == "\n")
    return sum(map(_character, piece))


def _character(char: str) -> int:
    """Tokens of one character, never more than its UTF-8 bytes; one more for a digit, which can shift its group."""
    code = ord(char)
    if code < 0x80 or char in COMMON_CHARACTERS:
        cost = 1
    elif code < 0x800 or any(low <= code < high for low, high in _TWO_TOKENS):
        cost = 2
    else:
        cost = 3 if any(low <= code < high for low, high in _THREE_TOKENS) else 4
    return cost + char.isnumeric()
