"""E7, as far as reading goes: missing stays missing, what is no score stays out, one session counts once."""

from __future__ import annotations

import json

import pytest

from ruleproof.codec.transcripts.base import Record, ScoreRow
from ruleproof.codec.transcripts.registry import read_sessions
from ruleproof.core.problems import Problem
from ruleproof.core.session import Session, Trace
from ruleproof.core.signals import evaluate_session


def read(text: str) -> list[Record]:
    return list(read_sessions([text.encode()]))


@pytest.mark.parametrize("row", ['{"session": "s", "metric": "m", "value": null}', "session,metric,value\ns,m,"])
def test_e7_a_missing_score_is_missing_and_never_zero(row: str) -> None:
    (found,) = read(row)
    assert isinstance(found, ScoreRow)
    assert found.value is None


@pytest.mark.parametrize("value", ["NaN", "Infinity", "-Infinity", "7", "true", "1e999"])
def test_e7_what_is_no_score_is_refused_at_the_door_with_line_and_reason(value: str) -> None:
    for text in (
        f'{{"session": "a", "metric": "m", "value": 1}}\n{{"session": "s", "metric": "m", "value": {value}}}',
        f"session,metric,value\ns,m,{value}",
    ):
        *_, found = read(text)
        assert isinstance(found, Problem)
        assert found.where == "line 2"
        assert found.message


def test_e7_an_evaluation_that_could_look_at_nothing_is_no_health() -> None:
    scores = evaluate_session(Session("s", (Trace("t", recorded=False),)))
    assert [score.value for score in scores] == [None, None]
    assert all(score.reason for score in scores)


def test_e7_the_recorded_outcome_is_a_checkers_word_and_the_trace_is_not() -> None:
    record = {"task_id": 1, "trial": 0, "reward": 0.0, "traj": [{"role": "assistant", "content": "Done."}]}
    (session,) = read(json.dumps(record))
    assert isinstance(session, Session)
    sources = {score.metric: (score.value, score.source) for score in evaluate_session(session)}
    assert sources["outcome"] == (0.0, "checker")
    assert sources["agent_reliability"] == (1.0, "trace")  # the trace looks fine; the checker outranks it


def test_e7_one_session_is_counted_once_however_often_it_stands_in_the_file() -> None:
    record = json.dumps({"id": "s", "messages": [{"role": "assistant", "content": "x"}]})
    found = read("\n".join([record] * 3))
    assert sum(isinstance(each, Session) for each in found) == 1
    assert [each.code for each in found if isinstance(each, Problem)] == ["repeated-session"] * 2
