"""Lines of JSON: canonical when written, total when read."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.codec.jsonl import MAX_LINE, decode_line, encode_line
from ruleproof.core.problems import Problem
from ruleproof.errors import Refused

texts = st.text(st.characters(codec=None), max_size=30)
values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | texts,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3),
    max_leaves=8,
)
LINE_BREAKS = "\n\v\f\r\x1c\x1d\x1e\x85\u2028\u2029"


@given(st.dictionaries(texts, values, max_size=4))
def test_what_is_written_is_read_back_from_exactly_one_line(record: dict[str, object]) -> None:
    line = encode_line(record)
    assert line.endswith(b"\n")
    text = line[:-1].decode("utf-8")  # strictly: every lone surrogate was escaped
    assert len(text.splitlines()) == 1
    assert decode_line(line, "f:1") == json.loads(json.dumps(record))


@pytest.mark.parametrize("character", LINE_BREAKS + "\x7f\x9b\u202e\u200b\ufeff\ud83d\U000e0041")
def test_characters_that_a_reader_or_terminal_obeys_are_escaped(character: str) -> None:
    line = encode_line({"a": f"x{character}y"})
    assert character.encode("utf-8", "surrogatepass") not in line[:-1]
    assert decode_line(line, "f:1") == {"a": f"x{character}y"}


def test_other_scripts_stay_readable() -> None:
    assert "注文の状態を確認する" in encode_line({"rule": "注文の状態を確認する"}).decode()


@pytest.mark.parametrize("value", [float("nan"), float("inf"), {1, 2}])
def test_what_json_cannot_hold_is_refused(value: object) -> None:
    with pytest.raises(Refused):
        encode_line({"a": value})


@pytest.mark.parametrize(
    ("raw", "code"),
    [
        (b'{"a": 1', "broken-line"),
        (b"garbage", "broken-line"),
        (b'{"a": NaN}', "broken-line"),
        (b'{"a": 1e999}', "broken-line"),
        (b'{"a": 1}{"b": 2}', "broken-line"),
        (b"[" * 100_000, "broken-line"),
        (b"null", "wrong-type"),
        (b"[1]", "wrong-type"),
        (b'"text"', "wrong-type"),
        (b"7", "wrong-type"),
        (b'{"a": "\xff"}', "bad-encoding"),
        (b"<<<<<<< HEAD", "conflict-marker"),
        (b"=======", "conflict-marker"),
        (b">>>>>>> theirs", "conflict-marker"),
        (b'{"a": "' + b"x" * MAX_LINE + b'"}', "oversize-line"),
    ],
)
def test_every_bad_line_is_a_problem_that_names_its_place(raw: bytes, code: str) -> None:
    problem = decode_line(raw, "rules.jsonl:7")
    assert isinstance(problem, Problem)
    assert (problem.code, problem.where) == (code, "rules.jsonl:7")


@pytest.mark.parametrize("raw", [b"", b"  ", b"\r", b"\xef\xbb\xbf"])
def test_a_blank_line_is_nothing(raw: bytes) -> None:
    assert decode_line(raw, "f:1") is None


def test_a_byte_order_mark_and_a_carriage_return_do_no_harm() -> None:
    assert decode_line(b'\xef\xbb\xbf{"a": 1}\r', "f:1") == {"a": 1}


@given(st.binary(max_size=60))
def test_no_bytes_make_it_raise(raw: bytes) -> None:
    assert decode_line(raw, "f:1") is None or isinstance(decode_line(raw, "f:1"), (dict, Problem))


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "latin-1"])
def test_no_other_encoding_is_guessed(encoding: str) -> None:
    assert isinstance(decode_line('{"a": "é"}'.encode(encoding), "f:1"), Problem)
