"""E3 in a running harness: who is withheld, what a report tells a trial, what it decides, and after a restart."""

from __future__ import annotations

import json
import logging
import random
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ruleproof.codec.records import exposure_to
from ruleproof.core.evidence.assignment import assigned
from ruleproof.engine.change_rule import apply_verdict
from ruleproof.engine.doctor import examine
from ruleproof.errors import ConfigError
from ruleproof.harness import Harness
from ruleproof.testing import FixedSystem

Open = Callable[..., Harness]
Log = Callable[[str], list[dict[str, Any]]]
ANYTIME: dict[str, Any] = {"rule_trial_policy": "anytime", "rule_holdout": 0.5, "durability": "os"}


@pytest.fixture
def anytime(open_harness: Open) -> Harness:
    return open_harness(**ANYTIME, system=FixedSystem())


def arm(harness: Harness, rule_id: str, unit: str) -> str:
    trial = harness.rules.get(rule_id).trial
    assert trial is not None
    return assigned(trial.key.encode(), trial.digest, unit, trial.holdout)


def units(harness: Harness, rule_id: str, wanted: str, count: int) -> list[str]:
    names = (f"s{number}" for number in range(10_000))
    return [
        name for name, _ in zip((n for n in names if arm(harness, rule_id, n) == wanted), range(count), strict=False)
    ]


def decide(harness: Harness) -> Any:
    (verdict,) = harness._rounds.run()
    return verdict


# --- settings and the start of a trial ---


def test_e3_the_code_default_is_the_fixed_gate_and_its_bytes_are_what_they_were(harness: Harness, root: Path) -> None:
    rule = harness.rules.add("One.", metric="m")
    harness.system_context(session_id="a")
    harness.report("a", {"m": 0.9}, task_id="t", costs={"tokens": 3})
    (record,) = [json.loads(line) for line in (root / "rules.jsonl").read_bytes().splitlines()]
    assert record["trial"].keys().isdisjoint({"policy", "key", "holdout", "digest", "number"})
    seen = json.loads((root / "trials.jsonl").read_bytes().splitlines()[-1])
    assert seen.keys() == {"kind", "session", "at", "scores", "costs", "seen"}
    assert seen["seen"] == {rule.id: {"breached": False, "exposure": "shown"}}


def test_e3_anytime_without_a_holdout_is_refused_at_the_start_with_the_way_out(open_harness: Open) -> None:
    with pytest.raises(ConfigError, match=r"set rule_holdout to 0\.5, or rule_trial_policy"):
        open_harness(rule_trial_policy="anytime")


def test_e3_key_fraction_digest_and_number_are_recorded_when_the_trial_starts(anytime: Harness, log: Log) -> None:
    first, second = anytime.rules.add("One."), anytime.rules.add("Two.")
    trials = [record["trial"] for record in log("rules.jsonl")]
    assert [trial["policy"] for trial in trials] == ["anytime", "anytime"]
    assert [trial["number"] for trial in trials] == [1, 2]
    assert all(len(trial["key"]) == 16 and int(trial["key"], 16) >= 0 for trial in trials)
    assert trials[0]["key"] != trials[1]["key"] and {trial["holdout"] for trial in trials} == {0.5}
    assert [trial["digest"] for trial in trials] == [first.digest, second.digest]


def test_e3_a_number_is_never_given_back(anytime: Harness) -> None:
    first = anytime.rules.add("One.")
    anytime.rules.retire(first.id)
    second = anytime.rules.add("One.")
    assert second.trial is not None and second.trial.number == 2


# --- who is withheld ---


def test_e3_a_withheld_rule_is_absent_from_the_context_of_withheld_units_only(anytime: Harness) -> None:
    rule, other = anytime.rules.add("Ask for the order number."), anytime.rules.add("Say thanks.")
    for number in range(60):
        made = anytime.context(session_id=f"s{number}")
        for one, text in ((rule, "Ask for the order"), (other, "Say thanks")):
            shown = arm(anytime, one.id, f"s{number}") == "shown"
            assert (one.id in made.rules) is shown and (text in made.text) is shown
            assert (one.id in made.withheld) is not shown
    assert {arm(anytime, rule.id, f"s{n}") for n in range(60)} == {"shown", "withheld"}


def test_e3_the_arm_is_fixed_before_the_outcome_and_recomputed_by_another_process(
    open_harness: Open, root: Path
) -> None:
    serving, scoring = open_harness(**ANYTIME), open_harness(**ANYTIME)
    rule = serving.rules.add("One.", metric="m")
    stored = json.loads((root / "rules.jsonl").read_bytes().splitlines()[0])["trial"]
    promised = {
        f"s{n}": assigned(stored["key"].encode(), stored["digest"], f"s{n}", stored["holdout"]) for n in range(40)
    }
    for session, expected in promised.items():
        with serving.turn(session):
            assert (rule.id in serving.context().withheld) is (expected == "withheld")
        scoring.report(session, {"m": 0.9})
    told = scoring.workspace.refresh_trials().told(rule.id)
    assert {one.session_id: one.arm for one in told} == promised


def test_e3_the_same_unit_gets_the_same_bytes_every_time(anytime: Harness) -> None:
    anytime.rules.add("One.")
    first = {n: anytime.system_context(session_id=f"s{n}") for n in range(12)}
    assert {n: anytime.system_context(session_id=f"s{n}") for n in reversed(range(12))} == first
    assert len(set(first.values())) == 2


def test_e3_a_task_is_the_unit_where_no_session_is_known(anytime: Harness) -> None:
    rule = anytime.rules.add("One.", metric="m")
    for name in units(anytime, rule.id, "withheld", 2) + units(anytime, rule.id, "shown", 2):
        made = anytime.context(task_id=name)
        assert (rule.id in made.withheld) is (arm(anytime, rule.id, name) == "withheld")
        anytime.report(f"session of {name}", {"m": 0.9}, task_id=name)
        anytime.report(f"another of {name}", {"m": 0.1}, task_id=name)
    told = anytime.workspace.refresh_trials().told(rule.id)
    assert [one.arm for one in told] == ["withheld", "withheld", "shown", "shown"]
    assert all(one.value == 0.9 for one in told), "a task is one unit"


def test_e3_a_session_that_began_with_the_context_of_its_task_keeps_those_coins(open_harness: Open) -> None:
    harness = open_harness(**ANYTIME)
    rule = harness.rules.add("One.", metric="m")
    task = units(harness, rule.id, "withheld", 1)[0]
    session = next(name for name in (f"t{n}" for n in range(99)) if arm(harness, rule.id, name) == "shown")
    assert rule.id in harness.context(task_id=task).withheld
    with harness.turn(session, task_id=task):
        assert rule.id in harness.context().withheld
    later = open_harness(**ANYTIME)
    assert rule.id in later.context(session_id=session, task_id=task).withheld
    later.report(session, {"m": 0.9}, task_id=task)
    assert [(one.unit, one.arm) for one in later.workspace.refresh_trials().told(rule.id)] == [(task, "withheld")]


def test_e3_a_session_with_a_context_of_its_own_is_its_own_unit_whatever_its_task_got(anytime: Harness) -> None:
    rule = anytime.rules.add("One.", metric="m")
    task = units(anytime, rule.id, "withheld", 1)[0]
    session = next(name for name in (f"t{n}" for n in range(99)) if arm(anytime, rule.id, name) == "shown")
    anytime.context(session_id=session, task_id=task)
    anytime.context(task_id=task)
    anytime.report(session, {"m": 0.9}, task_id=task)
    assert [(one.unit, one.arm) for one in anytime.workspace.refresh_trials().told(rule.id)] == [(session, "shown")]


def test_e3_without_a_unit_nothing_is_withheld_nothing_counts_and_one_warning_is_said(
    anytime: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    rule = anytime.rules.add("One.", metric="m")
    with caplog.at_level(logging.WARNING, "ruleproof"):
        for number in range(20):
            assert rule.id in anytime.context().rules
            with anytime.turn(f"s{number}"):
                pass
            anytime.report(f"s{number}", {"m": 0.9})
    assert not anytime.workspace.refresh_trials().told(rule.id)
    trial = anytime.rules.trial(rule.id)
    assert trial.observed == () and set(trial.uncounted.values()) == {"unknown exposure"}
    assert len([record for record in caplog.records if "no session and no task" in record.message]) == 1


# --- what a report tells a trial ---


def test_e3_withheld_sessions_count_with_score_task_and_costs(anytime: Harness, log: Log) -> None:
    rule = anytime.rules.add("One.", metric="m")
    (session,) = units(anytime, rule.id, "withheld", 1)
    anytime.system_context(session_id=session)
    anytime.report(session, {"m": 0.25, "other": 0.5}, task_id="t", costs={"tokens": 7})
    record = log("trials.jsonl")[-1]
    assert record["task"] == "t" and record["costs"] == {"tokens": 7}
    assert record["seen"][rule.id] == {"breached": True, "exposure": "withheld", "value": 0.25}
    (told,) = anytime.workspace.refresh_trials().told(rule.id)
    assert (told.arm, told.value, told.task_id) == ("withheld", 0.25, "t")
    assert anytime.rules.trial(rule.id).exposures == {session: "withheld"}


def test_e3_a_rule_without_a_metric_is_judged_by_whether_the_session_alerted(anytime: Harness) -> None:
    rule = anytime.rules.add("One.")
    for session, value in (("a", 0.1), ("b", 0.9)):
        anytime.system_context(session_id=session)
        anytime.report(session, {"m": value})
    assert [one.value for one in anytime.workspace.refresh_trials().told(rule.id)] == [0.0, 1.0]


def test_e3_one_session_is_counted_once_and_with_its_first_score(anytime: Harness) -> None:
    rule = anytime.rules.add("One.", metric="m")
    for value in (None, 0.9, 0.1, 0.2):
        anytime.system_context(session_id="a")
        anytime.report("a", {"m": value})
    verdict = decide(anytime)
    counts = [verdict.details[name] for name in ("shown", "withheld")]
    assert sum(one["counted"] for one in counts) == 1 and sum(one["missing"] for one in counts) == 0
    assert [one["mean"] for one in counts if one["counted"]] == [0.9]
    assert anytime.rules.trial(rule.id).observed == ("a",)


def test_e3_a_session_without_a_score_is_missing_in_its_arm_and_never_a_zero(anytime: Harness) -> None:
    rule = anytime.rules.add("One.", metric="m")
    for session in ("a", "b", "c"):
        anytime.system_context(session_id=session)
        anytime.report(session, {"m": None})
    verdict = decide(anytime)
    arms = [arm(anytime, rule.id, session) for session in ("a", "b", "c")]
    for name in ("shown", "withheld"):
        assert verdict.details[name] == {"counted": 0, "mean": None, "missing": arms.count(name)}
    assert anytime.rules.trial(rule.id).observed == ()


def test_e3_a_session_that_saw_a_withheld_rule_elsewhere_stays_in_its_arm(anytime: Harness) -> None:
    rule = anytime.rules.add("One.", metric="m")
    (session,) = units(anytime, rule.id, "withheld", 1)
    anytime.system_context(session_id=session)
    anytime.system_context()
    with anytime.turn(session):
        pass
    with anytime.turn(session):
        pass
    anytime.report(session, {"m": 0.9})
    assert [one.arm for one in anytime.workspace.refresh_trials().told(rule.id)] == ["withheld"]


def test_e3_an_exposure_record_says_who_was_in_the_trial_and_never_in_which_arm(anytime: Harness) -> None:
    rule = anytime.rules.add("One.", metric="m")
    (session,) = units(anytime, rule.id, "withheld", 1)
    anytime.workspace.append_exposure(exposure_to(session, {rule.id: "shown"}, anytime.workspace.now()))
    anytime.report(session, {"m": 0.9})
    assert [one.arm for one in anytime.workspace.refresh_trials().told(rule.id)] == ["withheld"]


def test_e3_the_exposure_of_a_withheld_unit_is_withheld_on_the_disk(anytime: Harness, log: Log) -> None:
    rule = anytime.rules.add("One.", metric="m")
    for number in range(8):
        with anytime.turn(f"s{number}"):
            anytime.system_context()
    written = {record["session"]: record["rules"][rule.id] for record in log("trials.jsonl")}
    assert written == {f"s{number}": arm(anytime, rule.id, f"s{number}") for number in range(8)}


def test_e3_the_session_that_gave_birth_to_the_rule_is_no_evidence(anytime: Harness) -> None:
    notice = anytime.report("birth", {"m": 0.1}).notice
    rule = anytime.rules.add("One.", metric="m", source_notice_id=notice.id)
    anytime.system_context(session_id="birth")
    anytime.report("birth", {"m": 0.9}, turn_index=2)
    assert not anytime.workspace.refresh_trials().told(rule.id)


def test_e3_a_trial_whose_record_lost_its_key_withholds_and_decides_nothing(open_harness: Open, root: Path) -> None:
    rule = open_harness(**ANYTIME).rules.add("One.", metric="m")
    file = root / "rules.jsonl"
    record = json.loads(file.read_bytes())
    del record["trial"]["key"]
    file.write_text(json.dumps(record) + "\n", encoding="utf-8")
    harness = open_harness(**ANYTIME)
    for number in range(12):
        assert rule.id in harness.context(session_id=f"s{number}").rules
        harness.report(f"s{number}", {"m": 0.9})
    assert decide(harness).outcome == "pending" and harness.rules.get(rule.id).status == "candidate"


# --- verdicts ---


def simulated(harness: Harness, rule_id: str, effect: float, sessions: int, seed: int, first: int = 0) -> int:
    """Sessions of an agent that passes 0.45 of its tasks, and `effect` more where it sees the rule; looks after each.

    The number of sessions until the trial was over, or all of them.
    """
    chance = random.Random(seed)
    for number in range(first, first + sessions):
        made = harness.context(session_id=f"s{number}")
        passed = chance.random() < 0.45 + effect * (rule_id in made.rules)
        harness.report(f"s{number}", {"outcome": float(passed)}, task_id=f"t{number % 10}", costs={"tokens": 100.0})
        if number % 10 == 9:
            harness._rounds.drain(30)
            if harness.rules.get(rule_id).status != "candidate":
                return number + 1
    return first + sessions


@pytest.mark.parametrize(
    ("effect", "status", "verdict"),
    [(0.4, "active", "promoted:"), (-0.4, "retired", "retired:"), (0.0, "candidate", "")],
)
def test_e3_a_helpful_rule_is_promoted_a_harmful_one_retired_and_a_useless_one_neither(
    open_harness: Open, log: Log, effect: float, status: str, verdict: str
) -> None:
    harness = open_harness(**ANYTIME, circuit_breaker_max_notices=1, system=FixedSystem())
    rule = harness.rules.add("One.", metric="outcome")
    used = simulated(harness, rule.id, effect, 300, seed=5)
    now = harness.rules.get(rule.id)
    assert now.status == status and now.trial is not None and now.trial.verdict.startswith(verdict)
    if effect:
        assert 10 <= used < 300
        (event,) = [event for event in log("journal.jsonl") if event["type"] in ("rule_promote", "rule_retire")]
        assert event["validator"] == "anytime_trial" and event["evidence"]["decision"] == (
            "promote" if effect > 0 else "retire"
        )
        assert event["evidence"]["shown"]["counted"] > 5 and event["evidence"]["withheld"]["counted"] > 5


def test_e3_a_restart_in_the_middle_changes_nothing(open_harness: Open) -> None:
    harness = open_harness(**ANYTIME, circuit_breaker_max_notices=1, system=FixedSystem())
    rule = harness.rules.add("One.", metric="outcome")
    simulated(harness, rule.id, 0.05, 60, seed=1)
    other = open_harness(**ANYTIME, circuit_breaker_max_notices=1, system=FixedSystem(seed="other"))
    simulated(other, rule.id, 0.05, 60, seed=2, first=60)
    found = [decide(one) for one in (harness, other, open_harness(**ANYTIME))]
    assert found[0] == found[1] == found[2]
    assert found[0].details["shown"]["counted"] + found[0].details["withheld"]["counted"] == 120


def test_e3_not_yet_says_how_many_more_sessions(anytime: Harness) -> None:
    rule = anytime.rules.add("One.", metric="outcome")
    simulated(anytime, rule.id, 0.3, 24, seed=3)
    verdict = decide(anytime)
    assert verdict.outcome == "pending" and verdict.details["decision"] == "not_yet"
    assert verdict.details["units_needed"] > 0 and f"about {verdict.details['units_needed']} more" in verdict.reason


def test_e3_inconclusive_is_a_verdict_and_its_text_may_be_tried_again(open_harness: Open, log: Log) -> None:
    harness = open_harness(**ANYTIME, rule_trial_most_sessions=20, circuit_breaker_max_notices=1, system=FixedSystem())
    rule = harness.rules.add("One.", metric="outcome")
    simulated(harness, rule.id, 0.0, 30, seed=4)
    now = harness.rules.get(rule.id)
    assert now.status == "retired" and now.trial is not None and now.trial.verdict.startswith("inconclusive:")
    (event,) = [event for event in log("journal.jsonl") if event["type"] == "rule_retire"]
    assert event["evidence"]["decision"] == "inconclusive" and "20 units did not decide" in event["reason"]
    again = harness.rules.add("One.", metric="outcome", author="agent")
    assert again.trial is not None and again.trial.number == 2


def test_e3_later_trials_are_judged_at_a_smaller_level_until_others_are_promoted(open_harness: Open) -> None:
    harness = open_harness(**ANYTIME)
    rules = [harness.rules.add(f"Rule {n}.", metric="m") for n in range(3)]
    levels = [verdict.details["level"] for verdict in harness._rounds.run()]
    assert levels == sorted(levels, reverse=True) and len(set(levels)) == 3
    apply_verdict(harness.workspace, rules[0], promote=True, reason="anytime: it helps", validator="anytime_trial")
    assert [verdict.details["level"] for verdict in harness._rounds.run()] == [2 * level for level in levels[1:]]


def test_e3_what_another_gate_promoted_buys_nobody_a_higher_level(open_harness: Open) -> None:
    harness = open_harness(**ANYTIME)
    rules = [harness.rules.add(f"Rule {n}.", metric="m") for n in range(2)]
    before = harness._rounds.run()[1].details["level"]
    apply_verdict(harness.workspace, rules[0], promote=True, reason="replay: it looked good", validator="replay")
    assert decide(harness).details["level"] == before


def test_e3_a_setting_that_changes_later_does_not_touch_a_trial_that_runs(open_harness: Open) -> None:
    rule = open_harness(**ANYTIME).rules.add("One.", metric="m")
    fixed = open_harness()
    for number in range(10):
        fixed.system_context(session_id=f"s{number}")
        fixed.report(f"s{number}", {"m": 0.9})
    assert decide(fixed).validator == "anytime_trial" and fixed.rules.get(rule.id).status == "candidate"


def test_e3_arms_that_somebody_wrote_into_the_records_change_nothing_and_are_named(
    open_harness: Open, root: Path
) -> None:
    harness = open_harness(**ANYTIME, system=FixedSystem())
    rule = harness.rules.add("One.", metric="outcome")
    simulated(harness, rule.id, 0.2, 24, seed=9)
    before = decide(harness)
    data = (root / "trials.jsonl").read_bytes()
    swapped = data.replace(b'"shown"', b"<").replace(b'"withheld"', b'"shown"').replace(b"<", b'"withheld"')
    assert swapped != data
    (root / "trials.jsonl").write_bytes(swapped)
    other = open_harness(**ANYTIME)
    after = decide(other)
    assert (after.details["e_help"], after.details["shown"]) == (before.details["e_help"], before.details["shown"])
    assert [problem.code for problem in examine(other.workspace)].count("other-arm") == 1
