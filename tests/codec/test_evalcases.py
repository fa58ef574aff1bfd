"""Eval-case files: the 0.6 format byte for byte, nothing lost that was foreign, nothing raised whatever they hold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.codec.evalcases import MAX_DEPTH, decode, encode
from ruleproof.core.evalcase import EvalCase
from ruleproof.errors import Refused

CASE = EvalCase(
    "c-8d015cefd6",
    "2026-11-30T17:58:11.615672+00:00",
    "sess-a",
    "failure",
    ("breach:m",),
    {"m": 0.21},
    {"prompt": "charge the customer again é \ud83d"},
    "seen by hand",
)


def record(**more: object) -> dict[str, object]:
    return {**json.loads(encode(CASE)), **more}


def read(value: object) -> tuple[EvalCase | None, list[str]]:
    case, problems = decode(json.dumps(value).encode(), "evalset/x.json")
    return case, [problem.code for problem in problems]


def test_a_file_of_the_0_6_format_comes_back_byte_for_byte(data_dir: Path) -> None:
    files = sorted((data_dir / "workspace_0_6_3/evalset").glob("c-*.json"))
    assert len(files) == 2
    for file in files:
        case, problems = decode(file.read_bytes(), file.name)
        assert case is not None and problems == () and case.replayable
        assert encode(case) == file.read_bytes()


def test_the_file_has_sorted_keys_two_spaces_ascii_and_nothing_of_ours_where_there_is_nothing_to_say() -> None:
    text = encode(CASE).decode("ascii")
    keys = [line.split('"')[1] for line in text.splitlines() if line.startswith('  "')]
    assert keys == sorted(keys)
    assert set(keys) == {
        *("id", "created_at", "session_id", "kind", "signature", "baseline_scores", "replay_input", "notes"),
    }
    assert not text.endswith("\n")
    assert decode(text.encode(), "") == (CASE, ())


def test_unknown_keys_and_values_of_wrong_types_are_kept_and_written_back() -> None:
    odd = record(future={"a": [1]}, notes=["x"], baseline_scores={"m": 7, "k": 0.2, "b": True}, input_by="nobody")
    case, codes = read(odd)
    assert case is not None
    assert (case.notes, case.baseline_scores, case.input_by) == ("", {"k": 0.2}, "")
    assert codes == ["odd-field"] * 2
    assert json.loads(encode(case)) == odd


@pytest.mark.parametrize("by", [["agent"], {}, None, 3, "agent"])
def test_who_gave_the_input_is_one_of_three_words_or_not_said(by: object) -> None:
    case, _ = read(record(input_by=by))
    assert case is not None and case.input_by == ("agent" if by == "agent" else "")
    assert json.loads(encode(case))["input_by"] == by


@pytest.mark.parametrize(
    ("value", "code"),
    [
        ([], "bad-case"), (None, "bad-case"), (7, "bad-case"), ({}, "bad-case"), (record(id=7), "bad-case"),
        (record(id="../x"), "bad-case"), (record(id="NUL"), "bad-case"), (record(kind="golden"), "bad-case"),
        (record(kind=["win"]), "bad-case"), (record(kind=None), "bad-case"),
    ],
)  # fmt: skip
def test_what_is_no_case_is_a_problem_and_never_evidence(value: object, code: str) -> None:
    assert read(value) == (None, [code])


@pytest.mark.parametrize(
    ("data", "code"),
    [(b"", "broken-file"), (b"{", "broken-file"), (b"\xff{}", "bad-encoding"), (b"[" * 100_000, "broken-file")],
)
def test_bytes_that_are_no_json_are_a_problem(data: bytes, code: str) -> None:
    case, problems = decode(data, "f")
    assert case is None and [problem.code for problem in problems] == [code]


def test_not_a_number_is_a_missing_number_and_never_written() -> None:
    data = encode(CASE).replace(b"0.21", b"NaN").replace(b'"charge', b'NaN, "x": "')
    case, _ = decode(data, "f")
    assert case is not None and dict(case.baseline_scores) == {}
    assert case.replay_input == {"prompt": None, "x": " the customer again é \ud83d"}
    assert b"NaN" not in encode(case)


def test_what_nests_too_deep_is_left_as_it_is() -> None:
    deep: object = "x"
    for _ in range(MAX_DEPTH + 1):
        deep = [deep]
    assert read(record(replay_input=deep)) == (None, ["bad-case"])
    assert read(record(replay_input=deep[0]))[0] is not None  # type: ignore[index]


@pytest.mark.parametrize("value", [object(), {1: {2}}, float("nan"), b"x"])
def test_an_input_that_is_no_json_is_refused_when_it_is_written(value: object) -> None:
    with pytest.raises(Refused, match="c-8d015cefd6"):
        encode(EvalCase(CASE.id, "", "s", replay_input=value))


values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from([*record(), "future", "input_by"]), values), st.booleans())
def test_reading_never_raises_and_writing_back_what_was_read_loses_nothing(
    more: dict[str, object], whole: bool
) -> None:
    value = record(**more) if whole else more
    case, _ = read(value)
    if case is not None:
        again, _ = decode(encode(case), "")
        assert again == case
        kept = json.loads(encode(case))
        assert kept.keys() >= value.keys()


@given(st.binary(max_size=60))
def test_no_bytes_make_reading_raise(data: bytes) -> None:
    decode(data, "f")
