"""The command's grammar: every verb, its flags, and the usage for anything else; a text stays as it was typed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.rulecommand import Add, Decide, Help, Listing, parse_command
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
        ('add x --amends hA/001 "Say it."', Add("x", "Say it.", "hA/001")),
        ('add x "--amends hA/001 is a flag."', Add("x", "--amends hA/001 is a flag.")),
        ("", Help()),
        ("  ", Help()),
        ("/chapters-rule", Help()),
        ("help", Help("help")),
        ("Add x y", Help("Add")),
        ("/chapters-rulelist", Help("/chapters-rulelist")),
        ("/chapters-rule /chapters-rule list", Help("/chapters-rule")),
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
        "add",
        "add x --amends",
        "add x --amends hA/001",
        "add x --topic a text",
        "add security",
        "approve",
        "approve a b",
        "revoke",
        "list x",
    ],
)
def test_half_of_what_is_needed_is_refused_with_the_usage(line: str) -> None:
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
