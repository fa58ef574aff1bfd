"""Arguments from a command line stay what they were, or are refused with a clear message."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.errors import Refused
from ruleproof.toolset.shell import parse_cli_json

PLAIN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.text(), PLAIN, max_size=4))
def test_whatever_json_can_say_comes_back_as_it_was(value: dict[str, Any]) -> None:
    assert parse_cli_json(json.dumps(value)) == value


@pytest.mark.parametrize("text", ["1e5", "a::b", "007", "NaN", "true", "\ud83d", "12345678901234567890123"])
def test_a_text_stays_text(text: str) -> None:
    assert parse_cli_json(json.dumps({"session_id": text})) == {"session_id": text}


def test_a_large_whole_number_stays_exact() -> None:
    value = parse_cli_json('{"limit": 123456789012345678901234567890, "small": -0}')
    assert value == {"limit": 123456789012345678901234567890, "small": 0} and type(value["limit"]) is int


REFUSED = [
    ("[]", "The arguments are a list, not an object."),
    ('"text"', "The arguments are text, not an object."),
    ("null", "The arguments are null, not an object."),
    ("true", "The arguments are a boolean, not an object."),
    ("1e5", "The arguments are a number, not an object."),
    ("17", "The arguments are a number, not an object."),
    ("", "The arguments are not JSON"),
    ("{rule: 1}", "The arguments are not JSON"),
    ('{"a": 1} {"b": 2}', "The arguments are not JSON"),
    ("{'a': 1}", "The arguments are not JSON"),
    ('{"a": NaN}', "The arguments hold NaN, which is no JSON number."),
    ('{"a": [-Infinity]}', "The arguments hold -Infinity, which is no JSON number."),
    ('{"a": 1e999}', "The arguments hold the number 1e999, which is too large."),
    ('{"a": 1, "a": 2}', "The arguments name 'a' twice."),
    ('{"a": {"b": 1, "b": 1}}', "The arguments name 'b' twice."),
    ("[" * 200_000, "The arguments "),
    ('{"a": ' * 200_000, "The arguments "),
    ('{"a": ' + "9" * 5000 + "}", "The arguments are not JSON"),
]


@pytest.mark.parametrize(("text", "said"), REFUSED, ids=range(len(REFUSED)))
def test_what_is_no_object_is_refused_with_an_example(text: str, said: str) -> None:
    with pytest.raises(Refused) as refused:
        parse_cli_json(text)
    assert refused.value.message.startswith(said)
    assert refused.value.hint
