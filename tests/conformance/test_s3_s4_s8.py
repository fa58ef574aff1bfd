"""S3 (cost), S4 (ids), S8 (modes) and the gate's place in the whole."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ruleproof.edge import fs
from ruleproof.errors import RuleproofError
from ruleproof.harness import Harness
from ruleproof.testing import FixedSystem

Open = Callable[..., Harness]
Log = Callable[[str], list[dict[str, Any]]]

HOSTILE = [
    "../../x",
    "C:\\x",
    "NUL",
    "-rf",
    "--upload-pack=x",
    "x" * 300,
    "😀",
    "",
    ".",
    "..",
    "a/b",
    "a\x00b",
    "con.txt",
]


def moved(action: Callable[[], object]) -> int:
    total = [0]
    with fs.observe(lambda event: total.__setitem__(0, total[0] + event[2])):
        action()
    return total[0]


def test_s3_searching_and_composing_again_read_nothing(harness: Harness) -> None:
    for number in range(30):
        harness.rules.add(f"Rule {number}.", tags=["x"])
    harness.rules.search("rule")
    harness.system_context("rule")
    assert moved(lambda: harness.rules.search("another rule")) == 0
    assert moved(lambda: harness.system_context("another rule")) == 0


def test_s3_a_report_costs_the_same_after_many(harness: Harness) -> None:
    harness.rules.add("One.", metric="m")

    def report(number: int) -> int:
        return moved(lambda: harness.report(f"s{number:04}", {"m": 0.9}))

    early = [report(number) for number in range(5)][-1]
    for number in range(5, 300):
        harness.report(f"s{number:04}", {"m": 0.9})
    assert report(300) <= early + 64


def test_s3_ten_thousand_observations_grow_the_files_by_what_is_new_in_each(open_harness: Open, root: Path) -> None:
    harness = open_harness(rule_trial_min_sessions=100_000, durability="os")
    harness.rules.add("A rule of some length, which must not be written again with each observation.", metric="m")
    size = (root / "rules.jsonl").stat().st_size
    for number in range(500):
        harness.system_context(session_id=f"s{number:05}")
        harness.report(f"s{number:05}", {"m": 0.9})
    assert (root / "rules.jsonl").stat().st_size == size
    first = (root / "trials.jsonl").stat().st_size
    for number in range(500, 1000):
        harness.system_context(session_id=f"s{number:05}")
        harness.report(f"s{number:05}", {"m": 0.9})
    assert (root / "trials.jsonl").stat().st_size <= 2 * first + 64


@pytest.mark.parametrize("bad", HOSTILE)
def test_s4_a_bad_id_is_refused_before_any_file_is_touched(harness: Harness, bad: str) -> None:
    calls: list[Callable[[], object]] = [
        lambda: harness.rules.retire(bad),
        lambda: harness.rules.pause(bad),
        lambda: harness.rules.accept(bad),
        lambda: harness.workspace.ports.mailbox.read(bad),
    ]
    if bad:
        calls.append(lambda: harness.rules.add("One.", source_notice_id=bad))
    seen: list[str] = []
    with fs.observe(lambda event: seen.append(event[0])):
        for call in calls:
            with pytest.raises(RuleproofError):
                call()
    assert not seen


@pytest.mark.parametrize("session", ["1e5", "a::b", "../../x", "-rf", "😀", "NUL"])
def test_s4_a_session_id_is_text_and_stays_what_it_was(harness: Harness, log: Log, session: str) -> None:
    harness.report(session, {"m": 0.1})
    assert log("sessions.jsonl")[0]["session"] == session
    assert harness.workspace.ports.mailbox.pending()[0].session_id == session


@pytest.mark.parametrize("session", ["", " ", "a\nb", "a\u2028b", "a\x1bb", "x" * 513])
def test_s4_a_session_id_that_could_break_a_line_is_refused(harness: Harness, log: Log, session: str) -> None:
    with pytest.raises(RuleproofError):
        harness.report(session, {"m": 0.1})
    assert log("sessions.jsonl") == []


def test_s8_observe_only_evaluates_and_journals_and_posts_nothing(open_harness: Open, log: Log) -> None:
    harness = open_harness(mode="observe_only")
    handled = harness.report("a", {"m": 0.1})
    assert handled.did == "shadow"
    assert harness.workspace.ports.mailbox.pending() == []
    (event,) = log("journal.jsonl")
    assert event["type"] == "notice" and event["observe_only"] is True


def test_s8_suggest_lets_an_agents_rule_wait_for_a_person(open_harness: Open) -> None:
    harness = open_harness(mode="suggest")
    result = harness.toolset.call_sync("harness_rule_add", {"rule": "Ask first.", "rationale": "Why."})
    assert result["ok"]
    (rule,) = harness.rules.candidates()
    assert rule.held and "Ask first." not in harness.system_context()
    harness.rules.accept(rule.id)
    assert "Ask first." in harness.system_context()
    harness.rules.add("A person's own rule.")
    assert "A person's own rule." in harness.system_context()


def test_s8_auto_is_the_default_and_an_agents_rule_is_a_provisional_candidate(harness: Harness) -> None:
    harness.toolset.call_sync("harness_rule_add", {"rule": "Ask first.", "rationale": "Why."})
    assert "(candidate): Ask first." in harness.system_context()


def test_s7_everything_is_out_of_force_while_all_is_paused(open_harness: Open, log: Log) -> None:
    harness, other = open_harness(), open_harness()
    harness.rules.add("One.")
    harness.rules.pause_all()
    assert "One." not in other.system_context()
    assert log("journal.jsonl")[-1]["type"] == "pause_all"
    harness.rules.resume_all()
    assert "One." in other.system_context()
    assert "One." not in open_harness(pause=True).system_context()


def test_an_outage_between_two_breaches_is_one_notice_and_no_recovery(harness: Harness, log: Log) -> None:
    for turn, value in enumerate([0.1, None, 0.1], 1):
        harness.report("a", {"m": value}, turn_index=turn)
    assert [event["type"] for event in log("journal.jsonl")] == ["notice"]


def test_a_notice_that_the_breaker_held_is_posted_once_it_opens(open_harness: Open, log: Log) -> None:
    clock = FixedSystem()
    harness = open_harness(system=clock, circuit_breaker_max_notices=2)
    did = [harness.report(f"s{number}", {"m": 0.1}).did for number in range(5)]
    assert did == ["post", "post", "needs_human", "hold", "hold"]
    mailbox = harness.workspace.ports.mailbox
    assert mailbox.status().max_severity == "needs_human"
    clock.pass_time(601)
    again = open_harness(system=clock, circuit_breaker_max_notices=2)  # another process goes on
    released = again.report("healthy", {"m": 0.9}).released
    assert [notice.session_id for notice in released] == ["s3", "s4"]
    assert again.report("s3", {"m": 0.1}, turn_index=2).did == "nothing"  # told already
    assert len([event for event in log("journal.jsonl") if event["type"] == "notice"]) == 5
    assert len(mailbox.pending()) == 5


def test_a_recovery_is_journaled_and_the_next_breach_is_news(harness: Harness, log: Log) -> None:
    for turn, value in enumerate([0.1, 0.1, 0.9, 0.1], 1):
        harness.report("a", {"m": value}, turn_index=turn)
    assert [event["type"] for event in log("journal.jsonl")] == ["notice", "recovery", "notice"]
