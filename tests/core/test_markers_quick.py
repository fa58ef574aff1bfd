"""The quick look that spares most prose the search for marks: it may err on the side of looking, never on the other."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleproof.core import markers
from ruleproof.core.text import one_line, sanitize_text

MARKS = [
    *("<!-", "x -->", "x --!>", "```", "~~~", "** r-1a2b", "__r-1a2b", "[INST]", "</s>", "<user>", "## Core rules"),
    *(
        "=" * 8,
        "-" * 8,
        "*" * 8,
        "_" * 8,
        "#" * 8,
        "RULEPROOF",
        "CORE RULES",
        "BEGIN NOTICE",
        "START OF PROMPT",
        "END DATA",
    ),
    *("Pandaprobe  harness", "system\talert", "harness :", "Human:", "- assistant: x", "ai:"),
]
PIECES = sorted(
    {*MARKS, *(piece for mark in MARKS for piece in mark.split()), "<", "[", "/", "\n", " ", "  ", "prose", '"'}
)


@pytest.mark.parametrize("mark", MARKS)
def test_every_kind_of_mark_draws_a_closer_look(mark: str) -> None:
    assert markers._suspect(f"Ask first.\n{mark}")


@settings(max_examples=400, deadline=None)
@given(st.lists(st.sampled_from(PIECES), max_size=6).map("".join))
def test_where_the_quick_look_sees_nothing_there_is_no_mark(text: str) -> None:
    assert markers._suspect(text) or not markers._MARK.search(text)


@pytest.mark.parametrize(
    "text", ["Verify the order before you refund it, then ask again.", "n-20260703T053511000000-f2019e11"]
)
def test_ordinary_prose_passes_at_a_glance(text: str) -> None:
    assert not markers._suspect(text)
    assert one_line(text) == sanitize_text(text) == text
