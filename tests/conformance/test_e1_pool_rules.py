"""E1 for pool rules: which session was shown which approved rule is recorded, and is evidence about no other rule."""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any

import pytest
from tests.conformance.person import Person

from ruleproof.edge import fs
from ruleproof.errors import StoreError


@pytest.fixture
def records(person: Person) -> Callable[[], list[dict[str, Any]]]:
    file = person.folder / ".ruleproof" / "trials.jsonl"
    return lambda: [json.loads(line) for line in file.read_text().splitlines()] if file.exists() else []


@pytest.fixture
def rule(person: Person) -> str:
    person.ok("init", "--yes")
    made = person.propose()
    assert person.approve(made).code == 0
    return made


def start(person: Person, session: object = "s-1", source: str = "startup") -> str:
    return person.ok("hook", "claude-code", stdin=json.dumps({"session_id": session, "source": source})).out


def test_e1_a_session_that_was_given_a_notice_is_recorded_with_the_digests_that_it_was_shown(
    person: Person, rule: str, records: Callable[[], list[dict[str, Any]]]
) -> None:
    assert f"[{rule}]" in start(person)
    (record,) = records()
    assert (record["kind"], record["session"]) == ("notice", "s-1")
    assert record["pool"] == {rule: person.rows()[rule]["digest"]}
    start(person, source="compact")
    start(person, "s-2")
    dead = person("rules", "dead", "--json").json
    assert (dead["notices"], dead["dead_pool_rules"]) == (2, [])
    other = person.propose("Run the replay before tagging.")
    assert person.approve(other).code == 0
    done = person("rules", "dead")
    assert f"In none of 2 recorded notices: {other}." in done.err
    assert person.ok("doctor").code == 0


def test_e1_a_notice_for_nobody_or_without_rules_records_nothing(
    person: Person, rule: str, records: Callable[[], list[dict[str, Any]]]
) -> None:
    person.ok("notice", "--title", "T")
    for session in (None, "", 7, [], {}):
        assert f"[{rule}]" in start(person, session)
    person.revoke(rule)
    assert start(person) == ""
    assert records() == []


def test_e1_a_shown_pool_rule_changes_no_trial_and_no_context(
    person: Person, rule: str, records: Callable[[], list[dict[str, Any]]]
) -> None:
    from ruleproof.harness import Harness

    learned = person.add("Verify the payment status before a retry.")
    root = person.folder / ".ruleproof"
    with_notice = Harness.create(harness_root=root, project_key="p")
    context = with_notice.system_context(session_id="s-9")
    assert f"[{rule}]" in with_notice.continuation_notice("T", session_id="s-1")
    with with_notice.turn("s-2"):
        assert f"[{rule}]" in with_notice.continuation_notice("T")
    for session in ("s-1", "s-2"):
        with_notice.report(session, {"m": 0.9})
    trial = with_notice.rules.trial(learned)
    assert trial.observed == () and set(trial.uncounted.values()) == {"unknown exposure"}
    trials = with_notice.workspace.trials
    assert trials.exposed_sessions == 0 and rule not in trials.reach and trials.pool_reach == {rule: 2}
    assert with_notice.system_context(session_id="s-9") == context
    assert [record["session"] for record in records() if record["kind"] == "notice"] == ["s-1", "s-2"]


def test_e1_a_workspace_that_is_not_trusted_records_nothing(
    person: Person, records: Callable[[], list[dict[str, Any]]]
) -> None:
    (person.folder / ".ruleproof").mkdir()
    (person.folder / ".ruleproof" / "rules.jsonl").write_text("")
    rule = person.propose()
    assert person.approve(rule).code == 0
    done = person("hook", "claude-code", stdin='{"session_id": "s-1"}')
    assert f"[{rule}]" in done.out and "is in force" in done.err
    assert records() == []


@pytest.mark.parametrize("fault", [StoreError("The disk is full."), OSError(28, "No space left on device")])
def test_e1_a_notice_does_not_fail_because_nothing_can_be_recorded(
    person: Person, rule: str, monkeypatch: pytest.MonkeyPatch, fault: Exception
) -> None:
    start(person, "")
    whole = start(person, "")

    def full(*_: object, **__: object) -> None:
        raise fault

    monkeypatch.setattr(fs, "append", full)
    assert start(person) == whole
    monkeypatch.undo()


def test_e1_a_broken_workspace_does_not_keep_the_notice_away(person: Person, rule: str) -> None:
    file = person.folder / ".ruleproof" / "trials.jsonl"
    file.unlink(missing_ok=True)
    file.mkdir()
    assert f"[{rule}]" in start(person)


def test_e1_a_forgotten_session_goes_from_the_record_of_notices_too(
    person: Person, rule: str, records: Callable[[], list[dict[str, Any]]]
) -> None:
    start(person, "jane@example.com")
    person.ok("forget", "jane@example.com", "--reason", "asked for")
    (record,) = records()
    assert "jane" not in json.dumps(record) and set(record["pool"]) == {rule}
