"""Laws of reading: the cut into chunks never matters, nothing raises, what is whole is kept, scores stay in range."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.codec.jsonstream import values
from ruleproof.codec.transcripts.base import ScoreRow
from ruleproof.codec.transcripts.labels import read_labels
from ruleproof.codec.transcripts.openai import from_messages
from ruleproof.codec.transcripts.registry import FORMATS, read_sessions
from ruleproof.core.calibrate import auc, calibrate
from ruleproof.core.problems import Problem
from ruleproof.core.session import Session
from ruleproof.core.signals import DEFAULT_WEIGHTS, SIGNALS, consistency, evaluate_session, reliability

PIECES = st.sampled_from(
    [
        *'{}[]",:-1e', "\\", "\n", "\r\n", " ", "\\u", "d83d", "true", "NaN", "é", "\udc80",
        '{"a":1}', "[1]", "\n{", '"x"', '{"role":"user","content":"x"}', '{"messages":[]}',
        '{"session":"s","metric":"m","value":1}', '{"type":"user","sessionId":"s","message":{"content":"x"}}',
        '{"resourceSpans":[]}', "session,metric,value\n", "s,m,0.5\n", '{"task_id":1,"traj":[],"reward":1}',
    ]
)  # fmt: skip
DIRT = st.lists(PIECES, max_size=25).map(lambda parts: "".join(parts).encode("utf-8", "surrogateescape"))
LEAF = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8)
JSON = st.recursive(
    LEAF,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)
CLEAN = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=6), inner, max_size=4),
    max_leaves=12,
)


def cut(data: bytes, size: int) -> list[bytes]:
    return [data[at : at + size] for at in range(0, len(data), size)]


@given(DIRT, st.integers(1, 9))
def test_the_cut_into_chunks_never_changes_what_is_read(data: bytes, size: int) -> None:
    assert list(values(cut(data, size))) == list(values([data]))
    assert list(read_sessions(cut(data, size))) == list(read_sessions([data]))


@given(DIRT | st.binary(max_size=60), st.sampled_from([None, *(each.name for each in FORMATS)]))
def test_no_bytes_raise_in_any_format(data: bytes, name: str | None) -> None:
    for record in read_sessions([data], format=name):
        if isinstance(record, Session):
            assert evaluate_session(record)
        elif isinstance(record, Problem):
            assert record.message
    read_labels([data])


@given(st.lists(CLEAN, max_size=6), st.sampled_from([None, 1]), st.booleans())
def test_whole_values_come_back_from_an_array_and_from_lines(
    rows: list[object], indent: int | None, ascii_only: bool
) -> None:
    array = json.dumps(rows, indent=indent, ensure_ascii=ascii_only).encode("utf-8", "surrogatepass")
    assert [item.value for item in values([array])] == json.loads(array.decode("utf-8", "surrogatepass"))
    objects: list[object] = [{"row": row} for row in rows]
    text = "\n".join(json.dumps(row, indent=indent, ensure_ascii=ascii_only) for row in objects)
    assert [item.value for item in values([text.encode("utf-8", "surrogatepass")])] == objects


@given(st.lists(st.dictionaries(st.text(max_size=5), CLEAN, max_size=3), min_size=1, max_size=6), st.data())
def test_a_line_that_was_cut_costs_only_itself(rows: list[dict[str, object]], data: st.DataObject) -> None:
    texts = [json.dumps(row) for row in rows]
    victim = data.draw(st.integers(0, len(rows) - 1))
    texts[victim] = texts[victim][: data.draw(st.integers(1, len(texts[victim]) - 1))]
    found = list(values(["\n".join(texts).encode()]))
    assert [item.value for item in found if not isinstance(item.value, Problem)] == rows[:victim] + rows[victim + 1 :]
    assert [item.line for item in found if isinstance(item.value, Problem)] == [victim + 1]


MESSAGES = st.lists(
    JSON
    | st.fixed_dictionaries(
        {"role": st.sampled_from(["user", "assistant", "tool", "system", "x"]), "content": JSON},
        optional={"tool_calls": JSON, "tool_call_id": JSON, "name": JSON, "finish_reason": JSON},
    ),
    max_size=8,
)


@given(MESSAGES, JSON)
def test_messages_of_any_shape_make_a_session_with_scores_in_range(messages: list[object], tools: object) -> None:
    session = from_messages("s", messages, tools=tools)
    for trace in session.traces:
        for text in (trace.prompt, trace.answer or "", *(call.arguments + (call.result or "") for call in trace.calls)):
            text.encode()  # no lone surrogate is left
    for score in evaluate_session(session):
        assert score.value is None or 0.0 <= score.value <= 1.0


UNIT = st.floats(0, 1)
TRACES = st.lists(st.dictionaries(st.sampled_from(SIGNALS), UNIT, max_size=5), max_size=20)


@given(TRACES, st.randoms(use_true_random=False))
def test_the_formulas_stay_in_range_and_ignore_the_order(traces: list[dict[str, float]], chance: object) -> None:
    shuffled = list(traces)
    chance.shuffle(shuffled)  # type: ignore[attr-defined]
    for formula in (reliability, consistency):
        value = formula(traces, DEFAULT_WEIGHTS)
        assert value == pytest.approx(formula(shuffled, DEFAULT_WEIGHTS))
        assert value is None or 0.0 <= value <= 1.0
    assert (reliability(traces, DEFAULT_WEIGHTS) is None) == (not any(traces))


@given(TRACES, st.data())
def test_a_better_signal_never_lowers_a_score(traces: list[dict[str, float]], data: st.DataObject) -> None:
    present = [(index, name) for index, signals in enumerate(traces) for name in signals]
    if not present:
        return
    index, name = data.draw(st.sampled_from(present))
    better = [dict(signals) for signals in traces]
    better[index][name] = data.draw(st.floats(better[index][name], 1))
    for formula in (reliability, consistency):
        before, after = formula(traces, DEFAULT_WEIGHTS), formula(better, DEFAULT_WEIGHTS)
        assert before is None or (after is not None and after >= before - 1e-12)


@given(st.lists(UNIT, min_size=1, max_size=12), st.lists(UNIT, min_size=1, max_size=12))
def test_auc_and_its_mirror_sum_to_one(failed: list[float], passed: list[float]) -> None:
    forward, backward = auc(failed, passed), auc(passed, failed)
    assert forward is not None
    assert backward is not None
    assert forward + backward == pytest.approx(1.0)


@given(
    st.dictionaries(
        st.text(max_size=4), st.dictionaries(st.sampled_from("ab"), st.none() | UNIT, max_size=2), max_size=9
    ),
    st.dictionaries(st.text(max_size=4), st.booleans(), max_size=9),
    UNIT,
)
def test_every_session_is_counted_in_exactly_one_place(
    scores: dict[str, dict[str, float | None]], labels: dict[str, bool], limit: float
) -> None:
    report = calibrate(scores, labels, lambda metric: limit)
    for found in report.metrics:
        assert found.n + found.missing == len(scores)
        assert found.labelled + found.unseen == len(labels)
        assert sum(found.histogram) == found.n
        for point in (found.at_threshold, *found.sweep):
            assert point.tp + point.fp + point.fn + point.tn == found.labelled
    json.dumps(report.as_json(), allow_nan=False)


@given(st.text(min_size=1, max_size=12).filter(lambda text: text.strip() and text.isprintable()), UNIT)
def test_a_session_id_goes_through_json_and_csv_unchanged(session_id: str, value: float) -> None:
    row = json.dumps({"session": session_id, "metric": "m", "value": value}).encode()
    quoted = session_id.replace('"', '""')
    csv = f'session,metric,value\n"{quoted}",m,{value!r}\n'.encode()
    for data in (row, csv):
        (found,) = read_sessions([data])
        assert isinstance(found, ScoreRow)
        assert (found.session_id, found.value) == (session_id, value)
