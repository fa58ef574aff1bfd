"""Tables and paragraphs in terminal cells: nothing is wider than it may be, whatever stands in it."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleproof.surfaces.cli.layout import WIDTH, cut, facts, paragraph, shown_cell, table, width, wrap

WIDE = st.text(alphabet=st.sampled_from("ab 予約変更\u0301\ufe0f❤👩\u200d\n\x1b\u202e-#"), max_size=120)
ANY = st.one_of(WIDE, st.text(max_size=60))


@pytest.mark.parametrize(
    ("text", "cells"),
    [
        ("abc", 3),
        ("予約", 4),
        ("ｱ", 1),
        ("Ａ", 2),
        ("e\u0301", 1),
        ("👩\u200d💻", 4),
        ("❤\ufe0f", 2),
        ("", 0),
        ("한글", 4),
    ],
)
def test_text_is_measured_in_cells(text: str, cells: int) -> None:
    assert width(text) == cells


@given(ANY, st.integers(0, 40))
def test_what_is_cut_fits_and_says_that_it_was_cut(text: str, room: int) -> None:
    short = cut(text, room)
    assert width(short) <= room
    assert short == text or short == "" or short.endswith("…")


@given(ANY, st.integers(2, 40))
def test_wrapping_fits_and_loses_no_letter(text: str, room: int) -> None:
    lines = wrap(text, room)
    assert all(width(line) <= room for line in lines)
    assert "".join("".join(lines).split()) == "".join(text.split())


def test_a_word_is_not_broken_where_a_line_can_be() -> None:
    assert wrap("one two three", 8) == ["one two", "three"]
    assert wrap("abcdefghij", 4) == ["abcd", "efgh", "ij"]
    assert wrap("", 10) == [""]
    assert wrap("at /tmp/a-folder/another/file.md", 12) == ["at", "/tmp/", "a-folder/", "another/", "file.md"]
    assert wrap("/" * 5, 2) == ["//", "//", "/"]


@given(st.lists(st.tuples(ANY, ANY, st.integers(-5, 10**9), ANY), max_size=6))
@settings(max_examples=150)
def test_a_table_is_never_wider_than_80_cells_and_has_one_line_a_row(rows: list[tuple[str, str, int, str]]) -> None:
    lines = table(("rule", "予約の状態", "count", "text"), rows).split("\n")
    assert len(lines) == len(rows) + 1
    assert all(width(line) <= WIDTH for line in lines)
    assert not any(char in line for line in lines for char in "\x1b\x85\u2028\u202e\r")


def test_the_id_column_is_whole_while_another_can_give_way() -> None:
    notice = "n-20260703T053511123456-f2019e57"
    text = table(("notice", "summary", "why"), [(notice, "x " * 60, "y " * 60)])
    assert notice in text
    assert text.count("…") == 2


def test_heads_are_whole_while_cells_can_give_way_and_give_way_last() -> None:
    assert table(("sessions", "text"), [("y" * 90, "x" * 90)]).startswith("sessions")
    line = table(("a head of many words " * 2, "another head of many words " * 2), [("x", "y")]).split("\n")[0]
    assert width(line) <= WIDTH
    assert line.count("…") == 2


def test_numbers_stand_to_the_right_and_nothing_is_a_dash() -> None:
    assert table(("n", "x"), [(5, "a"), (1234, "b"), (None, None)]).split("\n") == [
        "    n  x",
        "    5  a",
        "1,234  b",
        "    -  -",
    ]


@pytest.mark.parametrize(("value", "shown"), [(None, "-"), (True, "yes"), (False, "no"), (0.5, "0.50"), (-1, "-1")])
def test_a_cell_says_what_it_is(value: object, shown: str) -> None:
    assert shown_cell(value) == shown  # type: ignore[arg-type]


@given(st.lists(st.tuples(st.sampled_from(["id", "予約", "a long name"]), st.one_of(st.none(), ANY)), max_size=5))
def test_facts_fit_and_leave_out_what_is_not_there(pairs: list[tuple[str, str | None]]) -> None:
    text = facts(pairs)
    assert all(width(line) <= WIDTH for line in text.split("\n"))
    assert sum(line[:1] not in ("", " ") for line in text.split("\n")) == sum(value is not None for _, value in pairs)


def test_a_long_fact_continues_under_itself() -> None:
    assert facts([("text", "aaaa bbbb"), ("id", "x")], total=11) == "text  aaaa\n      bbbb\nid    x"


@given(ANY)
def test_a_paragraph_cannot_leave_its_indent(text: str) -> None:
    first, *others = paragraph(text, indent="    ", first="> ").split("\n")
    assert first.startswith("> ")
    assert all(line.startswith("    ") for line in others)
    assert all(width(line) <= WIDTH for line in (first, *others))
