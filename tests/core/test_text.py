"""Cleaning, bounding and defusing text."""

from __future__ import annotations

import re
import sys
import unicodedata

import pytest
from tests.core.text_cases import FORGERIES, HARMLESS

from ruleproof.core.text import LINE_BREAKS, hidden_code_points, one_line, sanitize_text

ELEVEN = ["\n", "\v", "\f", "\r", "\x1c", "\x1d", "\x1e", "\x85", "\u2028", "\u2029", "\r\n"]

LIVE = re.compile(
    r"<!--|--!?>|```|~~~|([=\-#])\1{7}|(?:\*\*|__)\s*r-[0-9a-f]{4}|pandaprobe\s+harness|system\s+alert|harness\s*:"
    r"|ruleproof: |end of learned|core\s+rules|<\s*/?\s*(?:[\w.-]+:)?"
    r"(?:system|tool_call|function_calls|invoke|user>|function=|s>)|<\|\s*\w|\[\s*/?(?:inst|system)\s*\]|<</?sys>>"
    r"|^[*> ]*(?:human|assistant|system)[* ]*:|^\W*#+ (?:provisional|learned|continuation|core rules|instruction:)",
    re.MULTILINE,
)
CYRILLIC = str.maketrans("асеоѕуА", "aceosya")


def live(text: str) -> str | None:
    """What a reader would still take for structure, found without the code under test."""
    seen = "".join(c for c in text if unicodedata.category(c) != "Cf")
    folded = unicodedata.normalize("NFKC", seen).lower().translate(CYRILLIC).replace("▁", "_")
    found = LIVE.search(folded)
    return found and found[0]


@pytest.mark.parametrize("text", HARMLESS)
def test_ordinary_prose_and_code_stay_as_they_are(text: str) -> None:
    assert sanitize_text(text) == text
    assert hidden_code_points(text) == ()


@pytest.mark.parametrize("text", [text for text in HARMLESS if "\n" not in text])
def test_one_line_of_prose_stays_as_it_is(text: str) -> None:
    assert one_line(text) == text


@pytest.mark.parametrize("text", FORGERIES)
def test_the_oracle_sees_each_forgery_before_it_is_defused(text: str) -> None:
    text = re.sub("|".join(ELEVEN), "\n", text)
    assert live(text), text


@pytest.mark.parametrize("text", FORGERIES)
@pytest.mark.parametrize("wrap", ["{}", "a {}", "a\n{}", "a\u2029{} b", "\t{}\x00"])
def test_no_forgery_survives_either_form(text: str, wrap: str) -> None:
    hostile = wrap.format(text)
    assert live(sanitize_text(hostile)) is None or "\n- **r" in sanitize_text(hostile)
    line = one_line(hostile)
    assert live(line) is None
    assert len(line.splitlines()) == 1


@pytest.mark.parametrize("text", FORGERIES)
def test_a_forgery_stays_readable(text: str) -> None:
    def letters(words: str) -> str:
        return "".join(filter(str.isalnum, words))

    assert letters(one_line(text)) == letters(text)


@pytest.mark.parametrize("text", FORGERIES)
def test_a_rendered_entry_has_one_bullet_one_id_and_two_lines(text: str) -> None:
    entry = f"- **r-aaaaaaaaaa**: {one_line(text)}\n  - rationale: {one_line(text)} (added 2026)"
    assert len(entry.splitlines()) == 2
    assert re.findall(r"\*\*r-[0-9a-f]{10}\*\*", entry) == ["**r-aaaaaaaaaa**"]


def test_the_line_breaks_are_the_eleven_of_unicode() -> None:
    assert sorted(LINE_BREAKS) == sorted(ELEVEN)
    assert all(("a" + mark + "b").splitlines() == ["a", "b"] for mark in LINE_BREAKS)
    single = {chr(code) for code in range(sys.maxunicode + 1) if len(("a" + chr(code) + "b").splitlines()) > 1}
    assert single == set(LINE_BREAKS) - {"\r\n"}


@pytest.mark.parametrize("mark", ELEVEN)
def test_every_line_break_becomes_a_newline_or_one_space(mark: str) -> None:
    assert sanitize_text(f"a{mark}b") == "a\nb"
    assert one_line(f"a{mark}{mark} b{mark}") == "a b"


@pytest.mark.parametrize(
    ("text", "clean"),
    [
        ("\x1b[31;1mred\x1b[0m", "red"),
        ("\x1b]0;title\x07after", "after"),
        ("\x1b]8;;http://x\x1b\\link\x1b]8;;\x1b\\", "link"),
        ("before\x1b]0;title never closed", "before"),
        ("before\x1b[31", "before"),
        ("\x1bPq#0\x1b\\after", "after"),
        ("\x1b(Ba\x1bcb", "ab"),
        ("\x9b31mred", "red"),
        ("\x9d0;title\x07after", "after"),
        ("quoted \x9dfor ever", "quoted for ever"),
        ("\x1b", ""),
        ("a\x00b\x07c\x7fd\x84e\x9ff", "abcdef"),
        ("tab\tstays", "tab\tstays"),
        ("half \ud83d pair \udc00", "half \ufffd pair \ufffd"),
        ("", ""),
    ],
)
def test_terminal_sequences_controls_and_half_pairs_go(text: str, clean: str) -> None:
    assert sanitize_text(text) == clean


def test_a_marker_hidden_behind_a_terminal_sequence_or_control_is_found() -> None:
    assert sanitize_text("<!\x1b[0m--") == sanitize_text("<!\x00--") == "<·!--"


def test_a_banner_is_cut_to_seven() -> None:
    for sign in "=-#":
        assert sanitize_text(sign * 7) == sign * 7
        assert sanitize_text(f"a {sign * 8} b") == sanitize_text(f"a {sign * 300} b") == f"a {sign * 7} b"
    assert sanitize_text("＝" * 20) == "＝" * 7


def test_the_phrases_of_the_first_system_are_broken_as_it_broke_them() -> None:
    assert sanitize_text("PandaProbe   Harness") == "PandaProbe·Harness"
    assert sanitize_text("system\nALERT") == "system·ALERT"
    assert sanitize_text("harness: go") == "harness·: go"


@pytest.mark.parametrize(
    ("text", "line"),
    [("# top", "#· top"), ("- item", "-· item"), ("* item", "*· item"), ("+ item", "+· item"), ("#", "#·")],
)
def test_a_line_cannot_open_a_heading_or_a_bullet(text: str, line: str) -> None:
    assert one_line(text) == one_line("\n  " + text) == line


@pytest.mark.parametrize(
    "text", ["breach:agent_reliability", "user:latency", "tool:errors", "a__b", "n-2026T01-ab", "C#"]
)
def test_tags_metrics_and_ids_pass_unchanged(text: str) -> None:
    assert one_line(text) == text


def test_a_lone_surrogate_next_to_anything_can_be_encoded() -> None:
    one_line("\ud83d\u200d\udc69 <\udc00!--").encode()


HUGE = 400_000


@pytest.mark.parametrize(
    "unit",
    ["<", "<!--", "-", "- ", "```", "#\n", "END ", "END\n", "END OF THE ", "harness ", "\n", "\x1b]", "\x9d", "\x1b[",
     "**r", "<tool_", "<a:", "[inst ", "\u200d", "é\u0301", "\ud800", "Human ", ">\n", "system alert ", "\u2028"],
)  # fmt: skip
def test_a_huge_text_is_cleaned_in_one_go(unit: str) -> None:
    """A step that is not linear would not end here."""
    text = unit * (HUGE // len(unit))
    assert len(one_line(text)) <= 2000
    assert len(sanitize_text(text)) <= 2000
