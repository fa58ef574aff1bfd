"""The command's grammar: every verb, its flags, and the usage for anything else; a text stays as it was typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.rulecommand import Add, Decide, Listing, parse_command
from ruleproof.errors import Refused


@pytest.mark.parametrize(
    ("line", "asked"),
    [
        ('add security "Check the archive."', Add("security", "Check the archive.")),
        ("/chapters-rule add security Check the archive.", Add("security", "Check the archive.")),
        ("add  Security   Pin v1.2 of it.", Add("Security", "Pin v1.2 of it.")),
        (
            "add release Before tagging:\n- run it\n\n- read it",
            Add("release", "Before tagging:\n- run it\n\n- read it"),
        ),
        ("add x 'single  blanks  stay'", Add("x", "single  blanks  stay")),
        ('add x say "no" to it', Add("x", 'say "no" to it')),
        ("add x never pass --all or --category to it", Add("x", "never pass --all or --category to it")),
        ('add x "', Add("x", '"')),
        ("list", Listing()),
        ("list --proposed", Listing(proposed=True)),
        ("list --all", Listing(everything=True)),
        ("list --category Security", Listing(category="security")),
        ("list --category=Security --all", Listing(everything=True, category="security")),
        ("list --category", Listing()),
        ("list --category --proposed", Listing(proposed=True)),
        ("approve hA/001", Decide("approve", "hA/001")),
        ("  revoke   7 ", Decide("revoke", "7")),
    ],
)
def test_what_a_line_asks(line: str, asked: object) -> None:
    assert parse_command(line) == asked


@pytest.mark.parametrize(
    "line",
    [
        "",
        "  ",
        "/chapters-rule",
        "help",
        "Add x y",
        "add",
        "add security",
        "approve",
        "approve a b",
        "revoke",
        "list x",
    ],
)
def test_anything_else_is_answered_with_the_usage(line: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_command(line)
    assert "Usage: /chapters-rule add" in str(refused.value)


@given(st.text(max_size=60))
def test_no_line_raises_anything_but_a_refusal(line: str) -> None:
    for text in (line, f"add {line}", f"list {line}", f"approve {line}"):
        try:
            parse_command(text)
        except Refused as refused:
            assert refused.hint
