"""How many tokens a text costs, estimated from above: budgets that hold by the estimate hold by the real count.

Both vocabularies (cl100k and o200k) split a text into pieces before they merge bytes; so does this module, and gives
each piece the most that it was seen or can be shown to cost. `edge.tokens.exact_counter` counts exactly.
"""

from __future__ import annotations

import re
from collections import Counter
from functools import lru_cache
from typing import NamedTuple

from ruleproof.core.commonpieces import COMMON_CHARACTERS, COMMON_WORDS, WORDS_AFTER_A_SPACE

_PIECE = re.compile(
    r" ?[^\W\d_]+"  # letters, with the space before them
    r"|'[^\W\d_]{2,}"  # cl100k makes 'd and efault of 'default
    r"|[0-9]+"
    r"| +(?= )"  # all spaces but the last, which may join what follows
    r"| [^\x00-\x7e\s]|\t+|\n+"
    r"| ?[!-/:-@\[-`{-~]+"
    r"|.",
    re.DOTALL,
)
_RUN = re.compile(r"(.)\1*", re.DOTALL)
_CONTRACTED = ("'s", "'d", "'m", "'t", "'ll", "'ve", "'re")
_LONGEST_KEPT = 40
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
    for piece, times in Counter(_PIECE.findall(text)).items():
        cost = _kept(piece) if len(piece) <= _LONGEST_KEPT else _cost(piece)
        english += times * cost.english
        foreign += times * cost.foreign
        if cost.is_word:
            words += times
            common += times * (cost.foreign == 1)
    if common >= _ENGLISH_WORDS and common >= _ENGLISH_SHARE * words:
        return min(english + _ENGLISH_SLACK, foreign)
    return foreign


class _Cost(NamedTuple):
    """Tokens of a piece, read as English and as anything else; whether it is a word of two ASCII letters or more."""

    english: int
    foreign: int
    is_word: bool = False


def _cost(piece: str) -> _Cost:
    """What one piece costs at most."""
    word = piece.removeprefix(" ")
    if word.isascii():
        if word.isalpha():
            return _Cost(1, 1, True) if piece != word and word in WORDS_AFTER_A_SPACE else _word(word)
        if word[:1] == "'" and word[1:].isalpha():
            english, foreign, _ = _word(word[1:])
            sign = 1 + word.lower().startswith(_CONTRACTED)
            return _Cost(english + sign, foreign + sign)
        tokens = _other(piece)
    else:
        tokens = sum(map(_character, word))
        if piece != word:
            tokens += 1 + (word[0] >= "\u0800" and word[0] in COMMON_CHARACTERS)
    return _Cost(tokens, tokens)


_kept = lru_cache(maxsize=16_384)(_cost)


def _word(word: str) -> _Cost:
    """A run of ASCII letters."""
    size = len(word)
    lower = word.lower()
    if size == 1:
        return _Cost(1, 1)
    if lower in COMMON_WORDS and (word == lower or word[1:].islower()):
        return _Cost(1, 1, True)
    if word != lower and not word[1:].islower():
        parts = [] if word.isupper() else _WORD_IN_CAMEL.findall(word)
        return _Cost(sum(_word(part).english for part in parts) or size, size, True)
    bound = _letters(lower, capital=word != lower)
    english = min(bound, max(2, -(-size // 3))) if _PRONOUNCEABLE.fullmatch(lower) else bound
    foreign = min(bound, size // 2 + 1 + (word != lower)) if _SYLLABLES.fullmatch(lower) else bound
    return _Cost(english, max(2, foreign), True)


def _letters(word: str, *, capital: bool) -> int:
    """The most tokens that lower-case letters, with a space before them, can become.

    Every pair of letters outside `_PAIR_NO_TOKEN` is a token of both vocabularies, as is a space with any letter; so
    no two single letters stay side by side, and of n symbols at most (2n + 1) // 3 tokens are left.
    """
    if _PAIR_NO_TOKEN.search(word):
        return len(word)
    return min(len(word), (2 * len(word) + 3) // 3 + capital)


def _other(piece: str) -> int:
    """Tokens of digits, white space or signs, with or without a space before them."""
    first, size = piece[0], len(piece)
    if first in "0123456789":
        return -(-size // 3)
    signs = piece.lstrip(" ")
    if not signs:
        return 1 + size // 40
    runs = [(run[1], len(run[0])) for run in _RUN.finditer(signs)]
    if len(runs) == 1:
        return _run(*runs[0])
    return sum(length if length < 4 else 1 + _run(sign, length) for sign, length in runs)


def _run(sign: str, length: int) -> int:
    """Tokens of one sign or white space, repeated, with nothing of the kind beside it."""
    if length < 4 or sign not in _RUNS_WITH_TOKENS:
        return -(-length // 2) + (sign == "\t")
    return 1 + length // 4 + (sign in "\t\n")


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
