"""Where a text is cut, and which invisible code points are refused."""

from __future__ import annotations

import pytest

from ruleproof.core.text import hidden_code_points, one_line, sanitize_text

FAMILY = "👨\u200d👩\u200d👧\u200d👦"


def test_a_cut_says_so_and_holds_the_bound() -> None:
    assert sanitize_text("x" * 2001) == "x" * 1988 + "…[truncated]"
    assert sanitize_text("x" * 2000) == "x" * 2000
    assert len(one_line("word " * 1000, 100)) <= 100


@pytest.mark.parametrize("limit", range(1, 16))
def test_a_bound_shorter_than_the_mark_of_the_cut_holds(limit: int) -> None:
    cut = sanitize_text("x" * 50, limit)
    assert len(cut) == limit
    assert cut.endswith("…[truncated]" if limit >= 12 else "…")


@pytest.mark.parametrize("limit", [0, -1, -2000])
def test_no_bound_is_no_cut(limit: int) -> None:
    assert sanitize_text("x" * 5000, limit) == "x" * 5000


@pytest.mark.parametrize("limit", range(13, 60))
def test_a_cut_never_splits_an_emoji_or_a_letter_from_its_marks(limit: int) -> None:
    text = f"a {FAMILY} e\u0301\u0302 👍🏽 ❤\ufe0f 1\ufe0f\u20e3 क्\u200dष {FAMILY} and some more words"
    whole = {FAMILY, "e\u0301\u0302", "👍🏽", "❤\ufe0f", "1\ufe0f\u20e3"}
    cut = sanitize_text(text, limit)
    assert len(cut) <= limit
    body = cut.removesuffix("…[truncated]")
    assert hidden_code_points(cut) == ()
    assert text.startswith(body)
    for sign in whole:
        assert text.count(sign, 0, len(body) + 12) >= body.count(sign)
    assert not body.endswith(("\u200d", "👨", "👩", "👧", "e", "e\u0301", "👍", "❤", "1", "1\ufe0f"))


def test_a_cut_makes_room_for_the_dots_that_defusing_adds() -> None:
    assert len(sanitize_text("``` " * 100, 60)) <= 60
    assert sanitize_text("```" * 100, 60).endswith("…[truncated]")


def test_endless_marks_on_one_letter_are_cut_too() -> None:
    assert len(sanitize_text("e" + "\u0301" * 5000, 100)) == 100


@pytest.mark.parametrize(
    ("code", "name"),
    [
        ("\u202e", "U+202E RIGHT-TO-LEFT OVERRIDE"),
        ("\u2066", "U+2066 LEFT-TO-RIGHT ISOLATE"),
        ("\u200e", "U+200E LEFT-TO-RIGHT MARK"),
        ("\u061c", "U+061C ARABIC LETTER MARK"),
        ("\u200b", "U+200B ZERO WIDTH SPACE"),
        ("\ufeff", "U+FEFF ZERO WIDTH NO-BREAK SPACE"),
        ("\u2060", "U+2060 WORD JOINER"),
        ("\u2063", "U+2063 INVISIBLE SEPARATOR"),
        ("\u00ad", "U+00AD SOFT HYPHEN"),
        ("\u034f", "U+034F COMBINING GRAPHEME JOINER"),
        ("\u3164", "U+3164 HANGUL FILLER"),
        ("\uffa0", "U+FFA0 HALFWIDTH HANGUL FILLER"),
        ("\u115f", "U+115F HANGUL CHOSEONG FILLER"),
        ("\u2800", "U+2800 BRAILLE PATTERN BLANK"),
        ("\u180e", "U+180E MONGOLIAN VOWEL SEPARATOR"),
        ("\ufe0f", "U+FE0F VARIATION SELECTOR-16"),
        ("\ufe00", "U+FE00 VARIATION SELECTOR-1"),
        ("\u200d", "U+200D ZERO WIDTH JOINER"),
        ("\u200c", "U+200C ZERO WIDTH NON-JOINER"),
        ("\U000e0041", "U+E0041 TAG LATIN CAPITAL LETTER A"),
        ("\U000e0000", "U+E0000 TAG"),
        ("\U000e0100", "U+E0100 VARIATION SELECTOR-17"),
        ("\ufff9", "U+FFF9 INTERLINEAR ANNOTATION ANCHOR"),
        ("\uffff", "U+FFFF UNNAMED INVISIBLE CODE POINT"),
        ("\U0001d173", "U+1D173 MUSICAL SYMBOL BEGIN BEAM"),
    ],
)
def test_an_invisible_code_point_is_named_with_its_place_and_dropped(code: str, name: str) -> None:
    assert hidden_code_points(f"ab{code}cd") == (f"{name} at 2",)
    assert sanitize_text(f"ab{code}cd") == one_line(f"ab{code}cd") == "abcd"


@pytest.mark.parametrize(
    "text",
    [
        FAMILY,
        "👩🏽\u200d🚒",
        "🏳\ufe0f\u200d🌈",
        "❤\ufe0f",
        "☎\ufe0f",
        "1\ufe0f\u20e3",
        "می\u200cخواهم",
        "ক্\u200dষ",
        "ന്\u200d",
        "श्रीमान्\u200c",
    ],
)
def test_joiners_stay_where_they_belong(text: str) -> None:
    assert hidden_code_points(text) == ()
    assert sanitize_text(text) == text


@pytest.mark.parametrize(
    "text",
    [
        "a\u200cb",
        "ا\u200c\u200cب",
        "ا\u200c",
        "\u200cا",
        "ا\u200c b",
        "👩\u200d",
        "👩\u200da",
        "a\u200d👩",
        "👩\ufe0f\ufe0f",
        "1\ufe0f",
        "x\ufe0f",
        "丹\ufe00",
        "漢\U000e0100",
        "👩\u200d\u200d👧",
    ],
)
def test_joiners_and_selectors_elsewhere_are_refused(text: str) -> None:
    assert hidden_code_points(text)
    assert hidden_code_points(sanitize_text(text)) == ()


def test_eight_are_named_and_the_rest_counted() -> None:
    named = hidden_code_points("x" + "\u200b" * 11)
    assert len(named) == 9
    assert named[-1] == "... and 3 more"
    assert named[7] == "U+200B ZERO WIDTH SPACE at 8"
    assert len(hidden_code_points("\u200b" * 8)) == 8
