"""Rule and trial records: round trips, unknown fields, wrong types."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.codec.records import (
    attempt_from,
    attempt_to,
    exposure_from,
    exposure_to,
    observations_from,
    observations_to,
    pause_all_to,
    record_from,
    reported_from,
    rule_to,
    tombstone_to,
)
from ruleproof.core.problems import Problem
from ruleproof.core.rule import Rule
from ruleproof.core.rulebook import PauseAll, Rulebook, Tombstone
from ruleproof.core.trial import Baseline, Observation, TrialState

RULE = Rule(
    id="r-9772c134b8",
    created_at="2026-07-03T05:35:11+00:00",
    rule="Never charge twice.",
    rationale="It was charged twice.",
    source_notice_id="n-1",
    metric="agent_reliability",
    status="active",
    tags=("breach:agent_reliability", "payment"),
    trial=TrialState(
        Baseline(2, 3, 3),
        "2026-07-03T05:35:11+00:00",
        "s0",
        ("s1", "s2"),
        ("s2",),
        {"s1": "shown", "s2": "assumed"},
        replay_attempts=1,
        verdict="promoted:better",
    ),
    event="e-1",
    reason="better",
    at="2026-07-04T00:00:00+00:00",
    author="agent",
)


def test_a_rule_goes_out_and_comes_back() -> None:
    assert record_from(rule_to(RULE)) == RULE
    assert record_from(rule_to(replace(RULE, held=True, paused=True, trial=None))) == replace(
        RULE, held=True, paused=True, trial=None
    )


def test_fields_that_nobody_knows_are_written_back() -> None:
    record = {**rule_to(RULE), "scope": "billing", "x": {"deep": [1]}}
    record["trial"] = {**record["trial"], "power": 0.8}  # type: ignore[dict-item]
    back = record_from(record)
    assert isinstance(back, Rule)
    assert rule_to(back) == record


@pytest.mark.parametrize("status", ["promoted??", [], None, 7, "", "ACTIVE", True, "unknown"])
def test_an_unknown_status_is_never_in_force_and_is_reported(status: object) -> None:
    record = record_from({**rule_to(RULE), "status": status}, "rules.jsonl:3")
    assert isinstance(record, Rule)
    assert not record.in_force
    book = Rulebook()
    book.feed(RULE)
    book.feed(record, "rules.jsonl:3")
    assert not book.rules[RULE.id].in_force
    assert [problem.where for problem in book.problems] == ["rules.jsonl:3"]


@pytest.mark.parametrize(
    "change",
    [
        {"id": 7}, {"id": None}, {"id": "r-XYZ"}, {"id": "r-9772c134b8\n"}, {"rule": None}, {"rule": "  "}, {"rule": 7},
        {"tags": "payment"}, {"tags": [1]}, {"tags": {"a": 1}}, {"metric": 7}, {"created_at": 7}, {"rationale": []},
        {"source_notice_id": {}}, {"trial": "x"}, {"trial": [1]}, {"reason": 7}, {"event": 7},
    ],
)  # fmt: skip
def test_a_wrong_type_is_a_problem_and_nothing_comes_of_it(change: dict[str, object]) -> None:
    assert isinstance(record_from({**rule_to(RULE), **change}, "rules.jsonl:3"), Problem)


json_values = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=8),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=6), inner, max_size=3),
    max_leaves=6,
)
keys = st.sampled_from([*rule_to(RULE), "kind", "of", "paused", "session", "seen", "scores", "rules"])


@given(st.dictionaries(keys, json_values, max_size=10))
def test_no_object_makes_a_reader_raise(value: dict[str, object]) -> None:
    record = record_from(value, "f:1")
    assert isinstance(record, (Rule, PauseAll, Tombstone, Problem))
    if isinstance(record, Rule):
        book = Rulebook()
        book.feed(record)
        assert not book.problems or not record.in_force
    observations_from(value)
    reported_from(value)
    exposure_from(value)
    attempt_from(value)


def test_small_records_go_out_and_come_back() -> None:
    assert record_from(pause_all_to(PauseAll(True, "t"))) == PauseAll(True, "t")
    assert record_from(tombstone_to(Tombstone("r-1", "d", "why", "t"))) == Tombstone("r-1", "d", "why", "t")
    assert attempt_from(attempt_to(RULE.id, "timed out", "t")) == RULE.id
    assert exposure_from(exposure_to("s", {RULE.id: "shown"}, "t")) == ("s", {RULE.id: "shown"})
    seen = (Observation(RULE.id, "s", True, "shown"), Observation("r-0000000000", "s", False, "assumed"))
    record = observations_to("s", seen, {"m": 0.1, "n": None}, "t")
    assert observations_from(record) == seen
    assert reported_from(record) == ("s", "t", {"m": 0.1}, {})


def test_the_older_format_reads_our_record_and_finds_its_own_keys() -> None:
    record = rule_to(RULE)
    assert {"id", "created_at", "rule", "rationale", "source_notice_id", "metric", "status", "tags", "trial"} <= set(
        record
    )
    assert {
        "baseline_breached_sessions", "baseline_sessions", "baseline_window", "trial_started_at", "observed_sessions",
        "breached_sessions", "observed_breaches", "replay_attempts", "verdict",
    } <= set(record["trial"])  # type: ignore[call-overload] # fmt: skip
