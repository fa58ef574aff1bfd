"""The estimate of tokens: from above, and close on English prose."""

from __future__ import annotations

import pytest
from tests.core.token_texts import CODE, ENGLISH, LANGUAGES

from ruleproof.core.commonpieces import COMMON_CHARACTERS, COMMON_WORDS, WORDS_AFTER_A_SPACE
from ruleproof.core.tokencount import estimate_tokens


@pytest.mark.parametrize(
    ("text", "tokens"),
    [
        ("", 0),
        ("a", 1),
        ("the rule", 2),
        ("123", 1),
        ("1234567", 3),
        ("the 1", 3),
        ("  the", 2),
        (" " * 79 + "x", 3),
        ("\n", 1),
        ("----------", 3),
        ("()", 2),
        ("\u4e0a", 1),
        ("\u9f98", 3),
        ("\U0001f680", 3),
        ("\U00020000", 4),
        ("\ud800", 3),
        ("XQZ", 3),
        ("getName", 7),
    ],
)
def test_a_few_counts(text: str, tokens: int) -> None:
    assert estimate_tokens(text) == tokens


def test_never_more_than_the_bytes() -> None:
    for text in (*LANGUAGES.values(), *ENGLISH, *CODE):
        assert 0 < estimate_tokens(text) <= len(text.encode()) + 3


def test_an_uncommon_word_costs_less_among_english_than_among_foreign_words() -> None:
    foreign = estimate_tokens(" ".join(["zamibelatoru"] * 9))
    english = estimate_tokens(" ".join(["zamibelatoru is the rule"] * 9)) - estimate_tokens(
        " ".join(["is the rule"] * 9)
    )
    assert english < 0.8 * foreign


def test_a_megabyte_is_counted_in_one_go() -> None:
    for unit in ("a", "ab ", "aBc", "1", " ", "-", "é", "漢", "\ud800", "bcdfa", "'s "):
        assert estimate_tokens(unit * (300_000 // len(unit))) > 0


def test_every_common_piece_is_one_token_of_both_vocabularies() -> None:
    quicktok = pytest.importorskip("quicktok", reason="the extra `tokens` is not installed")
    for name in ("cl100k_base", "o200k_base"):
        encode = quicktok.get_encoding(name).encode_ordinary
        words = [
            form for word in COMMON_WORDS for form in (word, f" {word}", word.capitalize(), f" {word.capitalize()}")
        ]
        words += [f" {word}" for word in WORDS_AFTER_A_SPACE]
        assert [piece for piece in (*words, *COMMON_CHARACTERS) if len(encode(piece)) != 1] == []


def test_every_pair_of_letters_without_a_token_is_known() -> None:
    """The bound of `_letters` rests on it."""
    quicktok = pytest.importorskip("quicktok", reason="the extra `tokens` is not installed")
    from ruleproof.core.tokencount import _PAIR_NO_TOKEN

    letters = "abcdefghijklmnopqrstuvwxyz"
    for name in ("cl100k_base", "o200k_base"):
        encode = quicktok.get_encoding(name).encode_ordinary
        split = {first + second for first in letters for second in letters if len(encode(first + second)) > 1}
        assert {pair for pair in split if not _PAIR_NO_TOKEN.fullmatch(pair)} == set()
        assert all(len(encode(" " + letter)) == 1 for letter in letters + letters.upper())
