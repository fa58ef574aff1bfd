"""E1 and E7 in the forward trial: who saw the rule, which sessions count, and why others do not."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
from tests.conformance.conftest import see

from ruleproof.edge import fs
from ruleproof.errors import Refused
from ruleproof.harness import Harness

Open = Callable[..., Harness]
Log = Callable[[str], list[dict[str, Any]]]


def test_e1_composed_for_a_session_is_shown(harness: Harness) -> None:
    rule = harness.rules.add("One.", metric="m")
    harness.system_context(session_id="a")
    harness.report("a", {"m": 0.9})
    assert harness.rules.trial(rule.id).exposures == {"a": "shown"}


def test_e1_composed_inside_the_turn_is_shown(harness: Harness) -> None:
    rule = harness.rules.add("One.", metric="m")
    with harness.turn("a"):
        harness.system_context()
    harness.report("a", {"m": 0.9})
    assert harness.rules.trial(rule.id).exposures == {"a": "shown"}


def test_e1_composed_without_a_session_is_assumed_and_counts(harness: Harness) -> None:
    rule = harness.rules.add("One.", metric="m")
    harness.system_context()
    with harness.turn("a"):
        pass
    harness.report("a", {"m": 0.9})
    harness.report("b", {"m": 0.9})
    assert harness.rules.trial(rule.id).exposures == {"a": "assumed", "b": "assumed"}


def test_e1_a_session_that_never_saw_the_rule_does_not_count(harness: Harness) -> None:
    harness.system_context()  # before the rule was there
    rule = harness.rules.add("One.", metric="m")
    harness.report("a", {"m": 0.9})
    trial = harness.rules.trial(rule.id)
    assert trial.observed == () and trial.uncounted == {"a": "unknown exposure"}


def test_e1_exposure_reaches_the_report_of_another_process(open_harness: Open) -> None:
    serving, scoring = open_harness(), open_harness()
    rule = serving.rules.add("One.", metric="m")
    serving.system_context(session_id="a")
    with serving.turn("a"):
        pass
    scoring.report("a", {"m": 0.9})
    assert serving.rules.trial(rule.id).exposures == {"a": "shown"}


def test_e1_the_session_that_gave_birth_to_a_rule_is_no_evidence(harness: Harness) -> None:
    notice = harness.report("birth", {"m": 0.1}).notice
    assert notice is not None
    rule = harness.rules.add("One.", metric="m", source_notice_id=notice.id)
    harness.system_context(session_id="birth")
    harness.report("birth", {"m": 0.9}, turn_index=2)
    trial = harness.rules.trial(rule.id)
    assert trial.observed == () and trial.uncounted == {"birth": "birth session"}


@pytest.mark.parametrize("scores", [{}, {"m": None}, {"other": 0.9}])
def test_e1_a_session_without_a_score_is_no_evidence(harness: Harness, scores: dict[str, float | None]) -> None:
    rule = harness.rules.add("One.", metric="m")
    harness.system_context(session_id="a")
    harness.report("a", scores)
    trial = harness.rules.trial(rule.id)
    assert trial.observed == () and trial.uncounted == {"a": "no score"}


def test_e1_an_outage_promotes_nothing(harness: Harness) -> None:
    rule = harness.rules.add("A placebo.", metric="agent_reliability")
    for number in range(20):
        see(harness, f"s{number}", None)
    harness._rounds.run()
    assert harness.rules.get(rule.id).status == "candidate"


def test_e1_a_session_that_is_scored_later_counts_after_all(harness: Harness) -> None:
    rule = harness.rules.add("One.", metric="m")
    see(harness, "a", None, "m")
    see(harness, "a", 0.9, "m")
    trial = harness.rules.trial(rule.id)
    assert trial.observed == ("a",) and not trial.uncounted


def test_e1_composing_writes_nothing_and_exposure_is_synced_with_the_report(harness: Harness) -> None:
    harness.rules.add("One.", metric="m")
    harness.system_context()
    seen: list[tuple[str, str]] = []
    with fs.observe(lambda event: seen.append((event[0], event[1].rsplit("/", 1)[-1]))):
        harness.system_context(session_id="a")
        assert not [step for step, _ in seen if step.startswith(("append", "replace"))]
        with harness.turn("a"):
            assert ("append.write", "trials.jsonl") in seen
            assert not [name for step, name in seen if step == "append.sync"]
        harness.report("a", {"m": 0.9})
    assert ("append.sync", "trials.jsonl") in seen


def test_e1_an_exposure_without_an_observation_is_synced_too(harness: Harness) -> None:
    harness.rules.add("One.", metric="m")
    harness._rounds.drain(10)
    harness.rules.retire(harness.rules.candidates()[0].id)
    harness.rules.add("Global.", metric="m")
    harness.rules.pause_all()
    with harness.turn("a"):
        harness.system_context()
    seen: list[str] = []
    with fs.observe(lambda event: seen.append(f"{event[0]} {event[1].rsplit('/', 1)[-1]}")):
        harness.workspace.append_exposure({"kind": "exposure", "session": "a", "rules": {}, "at": "t"})
        harness.report("a", {"m": 0.9})
    assert "append.sync trials.jsonl" in seen


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), 7, -0.1, True, "0.5"])
def test_e7_a_bad_score_is_refused_at_the_door_and_nothing_is_written(harness: Harness, log: Log, value: Any) -> None:
    with pytest.raises(Refused, match="score 'm'"):
        harness.report("a", {"m": value})
    assert log("sessions.jsonl") == []


def test_e7_one_session_counts_once_however_often_it_is_reported(harness: Harness, log: Log) -> None:
    rule = harness.rules.add("One.", metric="m")
    harness.system_context(session_id="a")
    for _ in range(3):
        harness.report("a", {"m": 0.9}, turn_index=1)
    assert harness.rules.trial(rule.id).observed == ("a",)
    assert len(log("sessions.jsonl")) == 1
    assert len([record for record in log("trials.jsonl") if record["kind"] == "observation"]) == 1


def test_e7_a_trial_goes_on_where_it_stopped(open_harness: Open) -> None:
    harness = open_harness()
    rule = harness.rules.add("One.", metric="m")
    for number in range(3):
        see(harness, f"s{number}", 0.9, "m")
    harness.close()
    again = open_harness()
    for number in range(3):
        see(again, f"s{number}", 0.9, "m")
    assert again.rules.trial(rule.id).observed == ("s0", "s1", "s2")


def test_e1_a_rule_that_the_agent_only_read_through_a_tool_is_no_evidence_and_is_said_to_be_read(
    open_harness: Open, log: Log
) -> None:
    harness = open_harness()
    harness.system_context()  # nothing is in force yet
    rule, other = harness.rules.add("Ask first.", metric="m"), harness.rules.add("Book later.", metric="m")
    with harness.turn("a"):
        assert harness.toolset.call_sync("harness_rules_search", {"query": "ask"})["rules"]
    harness.report("a", {"m": 0.9})
    assert harness.rules.trial(rule.id).uncounted == {"a": "only read"}
    assert harness.rules.trial(other.id).uncounted == {"a": "unknown exposure"}
    assert [record["rules"] for record in log("trials.jsonl") if record["kind"] == "exposure"] == [{rule.id: "read"}]
    status = harness.toolset.call_sync("harness_rule_status", {"rule_id": rule.id})
    assert status["exposure"]["read"] == 1


@pytest.mark.parametrize("first", ["read", "compose"])
def test_e1_what_a_context_held_outranks_what_was_read(harness: Harness, first: str) -> None:
    rule = harness.rules.add("One.", metric="m")
    with harness.turn("a"):
        if first == "compose":
            harness.system_context()
        harness.toolset.call_sync("harness_rules_list", {})
        harness.system_context()
    harness.report("a", {"m": 0.9})
    assert harness.rules.trial(rule.id).exposures == {"a": "shown"}


def test_e1_a_withheld_rule_that_was_read_stays_in_its_arm(open_harness: Open) -> None:
    harness = open_harness(rule_trial_policy="anytime", rule_holdout=0.5)
    rule = harness.rules.add("One.", metric="m")
    session = next(name for name in map(str, range(99)) if rule.trial and rule.trial.arm(name) == "withheld")
    with harness.turn(session):
        harness.system_context()
        harness.toolset.call_sync("harness_rule_status", {"rule_id": rule.id})
    harness.report(session, {"m": 0.9})
    assert harness.rules.trial(rule.id).exposures == {session: "withheld"}


def test_e1_outside_of_a_turn_nobody_is_said_to_have_read(harness: Harness, log: Log) -> None:
    harness.rules.add("One.", metric="m")
    harness.toolset.call_sync("harness_rules_list", {})
    harness.report("a", {"m": 0.9})
    assert all(record["kind"] != "exposure" for record in log("trials.jsonl"))


def test_e1_a_rule_that_was_only_read_counts_once_a_later_turn_shows_it(open_harness: Open) -> None:
    harness = open_harness()
    rule = harness.rules.add("One.", metric="m")
    with harness.turn("a"):
        harness.toolset.call_sync("harness_rules_list", {})
    harness.report("a", {"m": None})
    assert harness.workspace.trials.exposures("a") == {rule.id: "read"}
    with harness.turn("a"):
        harness.system_context()
    harness.report("a", {"m": 0.9})
    for one in (harness, open_harness()):
        assert one.rules.trial(rule.id).exposures == {"a": "shown"}


def test_e1_the_context_of_a_task_is_evidence_about_one_session_of_it(harness: Harness) -> None:
    rule = harness.rules.add("One.", metric="m")
    harness.system_context(task_id="t")
    for session in ("a", "b"):
        harness.report(session, {"m": 0.9}, task_id="t")
    trial = harness.rules.trial(rule.id)
    assert trial.exposures == {"a": "shown"} and trial.uncounted == {"b": "unknown exposure"}
