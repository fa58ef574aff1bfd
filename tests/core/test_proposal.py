"""Places, numbers and names of proposals: deterministic, never reused, never outside their folder."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.proposal import (
    Place,
    category_of,
    file_name,
    next_number,
    number_of,
    place,
    place_of,
    rule_id_of,
    title_of,
)
from ruleproof.errors import Refused


@pytest.mark.parametrize(
    ("number", "category", "title", "name"),
    [
        (7, "Security", "No token logging!", "007-security-no-token-logging.md"),
        (1, "", "", "001-rule-untitled.md"),
        (1, "安全", "トークン", "001-rule-untitled.md"),
        (1_000, "a/b", "x  y", "1000-a-b-x-y.md"),
        (2, "s", "word " * 20, "002-s-word-word-word-word-word-word-word-word.md"),
        (3, "../../etc", "..\\..", "003-etc-untitled.md"),
    ],
)
def test_a_file_name_is_padded_slugged_and_cut(number: int, category: str, title: str, name: str) -> None:
    assert file_name(number, category, title) == name


@given(st.integers(1, 99_999), st.text(max_size=80), st.text(max_size=80))
def test_every_file_name_can_be_read_back_as_a_place(number: int, category: str, title: str) -> None:
    made = place("p-1", "hA", number, category, title)
    assert place_of(made.path) == made
    assert number_of(made.name) == number


@pytest.mark.parametrize(
    "path",
    [
        "rules/p/hA/1-x.md",
        "rules/p/hA/0001-x.md",
        "rules/p/hA/000-x.md",
        "rules/p/hA/100000-x.md",
        "rules/p/hA/001-x.txt",
        "rules/p/hA/001-.md/x",
        "rules/p/hA/../hB/001-x.md",
        "rules/../hA/001-x.md",
        "rules/p/-rf/001-x.md",
        "rules/p/NUL/001-x.md",
        "rules/p/.git/001-x.md",
        "rules/p/hA/001-x\n.md",
        "/rules/p/hA/001-x.md",
        "rules\\p\\hA\\001-x.md",
        "edits/p/hA/001-x.md",
        "rules/p/hA/001-" + "x" * 300 + ".md",
        "rules/p/😀/001-x.md",
        "",
    ],
)
def test_a_path_that_is_no_rule_files_is_none(path: str) -> None:
    assert place_of(path) is None


def test_the_next_number_is_above_every_file_whatever_its_title() -> None:
    assert next_number([]) == 1
    assert next_number(["001-a-b.md", "007-ghost-from-before.md", "notes.md", ".002-x.md.tmp"]) == 8
    assert next_number(["999-a-b.md"]) == 1_000
    assert next_number(["003-a-b.md"], taken={9}) == 4
    assert next_number(["003-a-b.md"], taken={4, 5, 99_999}) == 6


def test_a_used_up_number_space_is_refused_and_not_wrapped_round() -> None:
    with pytest.raises(Refused, match="99999"):
        next_number(["99999-a-b.md"])


@pytest.mark.parametrize(
    ("text", "rule"),
    [("7", "hOwn/007"), ("hX/4", "hX/004"), (" hX/004 ", "hX/004"), ("hX/1000", "hX/1000"), ("0007", "hOwn/007")],
)
def test_an_id_is_padded_and_a_bare_number_is_our_own(text: str, rule: str) -> None:
    assert rule_id_of(text, "hOwn") == rule


@pytest.mark.parametrize(
    "text", ["", "0", "-1", "x", "hA/", "/1", "hA/x", "../x/1", "hA/1/2", "NUL/1", "-rf/1", "٣", "1e5"]
)
def test_what_is_no_id_is_refused_before_any_file_sees_it(text: str) -> None:
    with pytest.raises(Refused):
        rule_id_of(text, "hOwn")


@pytest.mark.parametrize("text", ["security", " Security ", "a/b", "c++", "c#", "安全", "no-dashes.here_1"])
def test_a_category_is_one_lower_case_word(text: str) -> None:
    assert category_of(text) == text.strip().lower()


@pytest.mark.parametrize(
    "text", ["", " ", "two words", "a)b", "(x", "a\nb", "a\u2028b", "x" * 41, "a\u202eb", "[x]", "*", "-x"]
)
def test_a_category_that_could_end_its_bracket_or_line_is_refused(text: str) -> None:
    with pytest.raises(Refused, match="category"):
        category_of(text)


@pytest.mark.parametrize(
    ("text", "title"),
    [
        ("Check the archive first. Then restore.", "Check the archive first"),
        ("Pin v1.2 of the client. Always.", "Pin v1.2 of the client"),
        ("Two\nlines", "Two"),
        ("  Spaces   inside !", "Spaces inside"),
        ("一つ目。二つ目", "一つ目"),
        ("x" * 100, "x" * 60),
        ("", ""),
    ],
)
def test_a_title_is_the_first_sentence_and_no_dot_inside_a_word_ends_it(text: str, title: str) -> None:
    assert title_of(text) == title


@given(st.text(max_size=300))
def test_a_title_is_one_line_of_at_most_60_characters(text: str) -> None:
    title = title_of(text)
    assert len(title) <= 60 and len(title.splitlines()) <= 1


def test_a_rule_id_holds_no_project() -> None:
    assert Place("p-1", "hA", "012-a-b.md", 12).rule_id == Place("p-2", "hA", "012-a-b.md", 12).rule_id == "hA/012"
