"""E6: an active rule is watched and rechecked; a recheck leaves it active and ends kept or retired; dead rules show."""

from __future__ import annotations

import json
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import records
from tests.surfaces.cliterminal import Cli

from ruleproof.core.evidence.assignment import assigned
from ruleproof.core.evidence.operating import Life, recheck_once
from ruleproof.core.recheck import LIFE, Comparison
from ruleproof.core.rule import Rule
from ruleproof.core.trial import TrialState
from ruleproof.engine.change_rule import apply_verdict
from ruleproof.engine.errorbudget import level_of, next_number
from ruleproof.errors import Conflict, NotFound, Refused
from ruleproof.harness import Harness
from ruleproof.testing import FixedSystem

Open = Callable[..., Harness]
Log = Callable[[str], list[dict[str, Any]]]
FIXED: dict[str, Any] = {"durability": "os", "circuit_breaker_max_notices": 1}
ANYTIME: dict[str, Any] = {**FIXED, "rule_trial_policy": "anytime", "rule_holdout": 0.5}
WATCHED: dict[str, Any] = {**ANYTIME, "rule_holdout_active": 0.3}


def promoted(harness: Harness, text: str = "One.", effect: float = 0.3, **more: Any) -> Rule:
    """A rule that its trial promoted."""
    rule = harness.rules.add(text, metric="outcome", **more)
    figures = {"policy": "anytime", "effect": effect}
    kind = {"promote": True, "reason": "anytime: It helps.", "validator": "anytime_trial"}
    return apply_verdict(harness.workspace, rule, **kind, evidence=figures)


def after(harness: Harness, rule: Rule) -> TrialState:
    trial = harness.rules.get(rule.id).trial
    assert trial is not None
    return trial


def running(harness: Harness, rule: Rule) -> Comparison:
    found = after(harness, rule).comparison
    assert found is not None
    return found


def live(harness: Harness, rule: Rule, effect: float, sessions: int, *, rate: float = 0.45, first: int = 0) -> int:
    """Sessions that pass with `rate`, and `effect` more where they see the rule; a round after every tenth.

    Ends when what runs for the rule has changed. How many sessions there were.
    """
    chance, before = random.Random(1), after(harness, rule).comparison
    for number in range(first, first + sessions):
        made = harness.context(session_id=f"s{number}")
        passed = chance.random() < rate + effect * (rule.id in made.rules)
        harness.report(f"s{number}", {"outcome": float(passed)}, costs={"tokens": 100.0})
        if number % 10 == 9:
            harness._rounds.run()
            if after(harness, rule).comparison != before:
                return number + 1 - first
    return sessions


def kinds(root: Path) -> list[str]:
    return [event["type"] for event in records(root, "journal.jsonl") if event["type"].startswith("rule_")]


def contents(root: Path) -> dict[str, bytes]:
    """Every file but the projection, which a look may bring up to date, and the lock."""
    files = (file for file in root.rglob("*") if file.is_file() and file.name not in (".lock", "harness_rules.md"))
    return {str(file): file.read_bytes() for file in files}


# --- without the setting ---


def test_e6_by_default_nothing_is_monitored_withheld_recorded_or_looked_at(open_harness: Open, root: Path) -> None:
    harness = open_harness(**ANYTIME)
    rule = promoted(harness)
    before = harness.workspace.rulebook.version
    for number in range(40):
        assert rule.id in harness.context(session_id=f"s{number}").rules
        harness.report(f"s{number}", {"outcome": 0.0})
    harness._rounds.run()
    assert harness.workspace.rulebook.version == before and not harness._rechecks.due()
    assert {record["kind"] for record in records(root, "trials.jsonl")} == {"exposure"}
    assert harness.rules.after(rule.id).line == "not monitored: it is withheld from nobody"
    assert set(records(root, "rules.jsonl")[-1]["trial"]).isdisjoint({"watch", "recheck", "fingerprints"})


# --- a watch ---


def test_e6_a_watch_starts_in_a_round_records_what_fixes_its_arms_and_composing_writes_nothing(
    open_harness: Open, root: Path
) -> None:
    rule = promoted(open_harness(**ANYTIME))
    harness = open_harness(**WATCHED)
    before = contents(root)
    for number in range(30):
        assert rule.id in harness.context(session_id=f"s{number}").rules
    assert contents(root) == before
    harness._rounds.run()
    watch = running(harness, rule)
    assert (watch.holdout, watch.digest, watch.effect, watch.number) == (0.3, rule.digest, 0.3, 0)
    assert len(watch.key) == 16 and harness.rules.get(rule.id).status == "active"
    version = harness.workspace.rulebook.version
    harness._rounds.run()
    assert harness.workspace.rulebook.version == version and kinds(root)[-1] == "rule_watch"
    told = [event for event in records(root, "journal.jsonl") if event["type"].startswith("rule_")]
    assert told[-1]["reason"] == "monitored: withheld from 30% of units"
    assert told[-2]["reason"] == harness.rules.get(rule.id).reason == "anytime: It helps."
    harness.rules.recheck(rule.id)
    assert records(root, "journal.jsonl")[-1]["reason"] == "a person asked for it"


def test_e6_a_promotion_is_watched_from_the_same_round_on(open_harness: Open, root: Path) -> None:
    harness = open_harness(**FIXED, rule_trial_min_sessions=1, rule_holdout_active=0.3)
    rule = harness.rules.add("One.", metric="outcome")
    harness.system_context(session_id="a")
    harness.report("a", {"outcome": 1.0})
    harness._rounds.drain(30)
    assert kinds(root) == ["rule_add", "rule_promote", "rule_watch"] and running(harness, rule).holdout == 0.3


def test_e6_every_process_and_every_restart_gives_the_same_arms(open_harness: Open) -> None:
    serving = open_harness(**WATCHED)
    rule = promoted(serving)
    serving._rounds.run()
    watch = running(serving, rule)
    arms = {f"s{n}": assigned(watch.key.encode(), watch.digest, f"s{n}", 0.3) for n in range(60)}
    assert set(arms.values()) == {"shown", "withheld"}
    for session, arm in arms.items():
        made = serving.context(session_id=session)
        assert (rule.id in made.rules) is (arm == "shown") and (rule.id in made.withheld) is (arm == "withheld")
        assert open_harness(**WATCHED).context(session_id=session).text == made.text
        with serving.turn(session):
            serving.context()
    scoring = open_harness(**WATCHED)
    for session in arms:
        scoring.report(session, {"outcome": 1.0})
    assert {one.session_id: one.arm for one in scoring.workspace.trials.told(rule.id, watch.name)} == arms


def test_e6_units_are_told_to_the_watch_and_never_to_the_trial(open_harness: Open, root: Path) -> None:
    harness = open_harness(**WATCHED)
    rule = promoted(harness)
    harness._rounds.run()
    trial = harness.rules.trial(rule.id)
    for value in (None, 0.25, 0.75):
        harness.system_context(session_id="a")
        harness.report("a", {"outcome": value}, task_id="t", costs={"tokens": 7})
    told = harness.workspace.refresh_trials().told(rule.id, running(harness, rule).name)
    assert [one.value for one in told] == [None, 0.25] and told[1].task_id == "t" and told[1].costs == {"tokens": 7}
    assert harness.rules.trial(rule.id) == trial and not harness.workspace.trials.told(rule.id)
    written = [record for record in records(root, "trials.jsonl") if record["kind"] != "exposure"]
    assert [record["kind"] for record in written] == ["check", "check"]
    assert written[1]["seen"][rule.id]["of"] == running(harness, rule).name
    harness.system_context()
    harness.report("nobody asked for its context", {"outcome": 0.1})
    assert len(harness.workspace.refresh_trials().told(rule.id, running(harness, rule).name)) == 2


def test_e6_with_the_setting_off_again_a_watch_rests_and_nobody_is_withheld(open_harness: Open, root: Path) -> None:
    first = open_harness(**WATCHED)
    rule = promoted(first)
    first._rounds.run()
    off = open_harness(**ANYTIME)
    before = (root / "rules.jsonl").read_bytes()
    for number in range(30):
        assert rule.id in off.context(session_id=f"s{number}").rules
        off.report(f"s{number}", {"outcome": 0.0})
    assert not off._rechecks.due() and (root / "rules.jsonl").read_bytes() == before
    assert {record["kind"] for record in records(root, "trials.jsonl")} == {"exposure"}
    assert off.rules.after(rule.id).kind == "none" and first.rules.after(rule.id).kind == "watch"


def test_e6_decay_opens_a_recheck_that_retires_a_rule_that_became_harmful(open_harness: Open, root: Path) -> None:
    harness = open_harness(**WATCHED, system=FixedSystem())
    rule = promoted(harness)
    harness._rounds.run()
    used = live(harness, rule, -0.4, 600)
    recheck = running(harness, rule)
    assert used < 600 and recheck.number == 1 and after(harness, rule).watch is None
    assert harness.rules.get(rule.id).status == "active" and kinds(root)[-1] == "rule_recheck"
    opening = records(root, "journal.jsonl")[-1]
    assert opening["why"] == recheck.why and opening["evidence"]["withheld"]["counted"] > 0
    assert recheck.holdout == 0.5
    assert len(harness.workspace.trials.told(rule.id, recheck.name)) < 10, "it begins from nothing"
    live(harness, rule, -0.9, 600, rate=0.95, first=10_000)
    over = harness.rules.get(rule.id)
    assert over.status == "retired" and over.trial is not None and over.trial.recheck is not None
    assert over.trial.recheck.verdict.startswith("retired:recheck 1: It lowers outcome") and over.trial.recheck.ended
    event = next(event for event in reversed(records(root, "journal.jsonl")) if event["type"] == "rule_retire")
    assert event["validator"] == "recheck" and event["evidence"]["e_harm"] >= 2 / recheck.level
    assert event["evidence"]["shown"]["counted"] > 5 and event["evidence"]["withheld"]["counted"] > 5


def test_e6_what_a_recheck_retired_is_refused_and_its_promotion_stays_paid_for(open_harness: Open) -> None:
    harness = open_harness(**WATCHED, system=FixedSystem())
    rule = promoted(harness)
    other = harness.rules.add("Another.", metric="outcome")
    level = level_of(harness.workspace.rulebook, other, 0.05)
    harness.rules.recheck(rule.id)
    live(harness, rule, -0.9, 400, rate=0.95)
    assert harness.rules.get(rule.id).status == "retired"
    assert level_of(harness.workspace.rulebook, other, 0.05) == level, "the bound would move after the fact"
    with pytest.raises(Refused, match="recheck 1: It lowers outcome"):
        harness.rules.add("One.")


def test_e6_a_recheck_keeps_a_rule_that_helps_and_a_new_watch_begins_afresh(open_harness: Open, root: Path) -> None:
    harness = open_harness(**WATCHED, system=FixedSystem())
    rule = promoted(harness)
    harness._rounds.run()
    old = running(harness, rule)
    harness.rules.recheck(rule.id)
    live(harness, rule, 0.4, 400)
    trial = after(harness, rule)
    assert harness.rules.get(rule.id).status == "active" and trial.recheck is not None
    assert trial.recheck.verdict.startswith("kept:recheck 1: It helps") and trial.recheck.ended
    assert trial.watch is not None and trial.watch.key != old.key and trial.watch.effect > 0.1
    assert trial.verdict.startswith("promoted:"), "the verdict of the trial stays what it was"
    assert kinds(root)[-1] == "rule_kept" and "kept:" in harness.rules.after(rule.id).line
    assert harness.rules.recheck(rule.id).trial.recheck.number == 2  # type: ignore[union-attr]


def test_e6_a_process_that_comes_second_ends_nothing(open_harness: Open, root: Path) -> None:
    first, second = open_harness(**WATCHED), open_harness(**WATCHED)
    rule = promoted(first)
    stale = first.rules.recheck(rule.id)
    second.workspace.refresh()
    live(first, rule, 0.5, 400)
    assert kinds(root).count("rule_kept") == 1
    with pytest.raises(Conflict):
        second._rechecks._look(stale)
    assert kinds(root).count("rule_kept") == 1


def test_e6_two_processes_end_a_recheck_once(open_harness: Open, root: Path) -> None:
    first, second = open_harness(**ANYTIME), open_harness(**ANYTIME)
    rule = promoted(first)
    first.rules.recheck(rule.id)
    for number in range(60):
        made = first.context(session_id=f"s{number}")
        first.report(f"s{number}", {"outcome": float(rule.id not in made.rules)})
        first._rounds.drain(30) if number % 2 else second._rounds.run()
    assert [kind for kind in kinds(root) if kind == "rule_retire"] == ["rule_retire"]
    assert second.rules.get(rule.id).status == "retired"


# --- fingerprints ---


def test_e6_a_new_fingerprint_opens_one_recheck_in_a_round_and_never_while_composing(
    open_harness: Open, root: Path
) -> None:
    first = open_harness(**ANYTIME, model_fingerprint="secret-model-1")
    rule, plain = promoted(first), promoted(first, "Two.")
    first._rounds.run()
    assert after(first, rule).recheck is None and len(after(first, rule).fingerprints) == 1
    second = open_harness(**ANYTIME, model_fingerprint="secret-model-2")
    before = contents(root)
    for number in range(5):
        second.system_context(session_id=f"s{number}")
    assert contents(root) == before
    second._rounds.run()
    for one in (rule, plain):
        assert running(second, one).why == "the fingerprint of model and prompt changed"
        assert second.rules.get(one.id).status == "active"
    version = second.workspace.rulebook.version
    for harness in (first, second, first, second):
        harness._rounds.run()
    assert second.workspace.refresh().version == version, "two models at once do not open rechecks in turns"
    assert not any(b"secret-model" in data for data in contents(root).values())


def test_e6_a_report_under_a_new_model_is_enough_to_open_the_recheck(open_harness: Open) -> None:
    first = open_harness(**ANYTIME, model_fingerprint="a")
    rule = promoted(first)
    first._rounds.run()
    second = open_harness(**ANYTIME, model_fingerprint="b")
    second.report("s", {"outcome": 1.0})
    second._rounds.drain(30)
    assert running(second, rule).number == 1


def test_e6_a_model_that_changes_again_begins_an_open_recheck_anew(open_harness: Open) -> None:
    rule = promoted(open_harness(**ANYTIME))
    for name in ("a", "b", "c", "b", "a"):
        harness = open_harness(**ANYTIME, model_fingerprint=name)
        harness._rounds.run()
    assert running(harness, rule).number == 2


# --- by hand, and modes ---


def test_e6_a_person_opens_a_recheck_of_an_active_rule_and_of_nothing_else(open_harness: Open) -> None:
    harness = open_harness(**ANYTIME)
    rule, candidate = promoted(harness), harness.rules.add("Two.")
    gone = harness.rules.retire(harness.rules.add("Three.").id)
    assert harness.rules.recheck(rule.id).status == "active" and running(harness, rule).holdout == 0.5
    for wanted, said in ((rule.id, "is open since"), (candidate.id, "is a candidate"), (gone.id, "retired is final")):
        with pytest.raises(Refused, match=said):
            harness.rules.recheck(wanted)
    with pytest.raises(NotFound):
        harness.rules.recheck("r-0000000000")
    with pytest.raises(Refused, match="observe_only"):
        open_harness(**ANYTIME, mode="observe_only").rules.recheck(rule.id)


def test_e6_mode_observe_only_starts_opens_and_ends_nothing(open_harness: Open, root: Path) -> None:
    first = open_harness(**WATCHED, model_fingerprint="a")
    rule = promoted(first)
    first._rounds.run()
    first.rules.recheck(rule.id)
    rules = (root / "rules.jsonl").read_bytes()
    harness = open_harness(**WATCHED, mode="observe_only", model_fingerprint="b")
    for number in range(60):
        made = harness.context(session_id=f"s{number}")
        harness.report(f"s{number}", {"outcome": float(rule.id not in made.rules)})
    assert (root / "rules.jsonl").read_bytes() == rules


def test_e6_a_rule_that_was_never_on_trial_can_be_rechecked_and_takes_no_place_in_the_budget(
    open_harness: Open,
) -> None:
    rule = open_harness(**ANYTIME, rule_validation=False).rules.add("One.", metric="outcome")
    harness = open_harness(**WATCHED, model_fingerprint="a")
    harness._rounds.run()
    assert harness.rules.get(rule.id).trial is None and harness.rules.after(rule.id).kind == "none"
    harness.rules.recheck(rule.id)
    assert next_number(harness.workspace.rulebook) == 1
    live(harness, rule, 0.4, 400)
    assert after(harness, rule).watch is not None and next_number(harness.workspace.rulebook) == 1


# --- without withholding ---


@pytest.mark.parametrize(
    ("values", "status", "said"),
    [
        ([1.0, 0.0, 1.0, 1.0, 1.0], "active", "kept:recheck 1: not worse than without the rule: 1 of 5"),
        ([0.0] * 5, "retired", "inconclusive:recheck 1: worse than without the rule: 5 of 5 fresh sessions"),
    ],
)
def test_e6_under_the_fixed_policy_a_few_fresh_sessions_decide_and_the_verdict_says_how_weak_that_is(
    open_harness: Open, values: list[float], status: str, said: str
) -> None:
    harness = open_harness(**{**FIXED, "circuit_breaker_max_notices": 0})
    for number in range(20):  # a history of twenty incidents, three of them of this metric
        harness.report(f"h{number}", {"outcome" if number < 3 else "other": 0.0})
    rule = promoted(harness)
    assert rule.trial is not None and (rule.trial.baseline.breached, rule.trial.baseline.sessions) == (3, 20)
    harness.rules.recheck(rule.id)
    for number, value in enumerate(values):
        made = harness.context(session_id=f"s{number}")
        assert rule.id in made.rules and not made.withheld
        assert harness.rules.get(rule.id).status == "active"
        harness.report(f"s{number}", {"outcome": value})
        harness._rounds.drain(30)
    assert harness.rules.get(rule.id).status == status
    recheck = after(harness, rule).recheck
    assert recheck is not None and recheck.verdict.startswith(said) and "no control" in recheck.verdict


def test_e6_without_a_history_fresh_sessions_retire_nothing(open_harness: Open) -> None:
    harness = open_harness(**FIXED)
    rule = promoted(harness)
    harness.rules.recheck(rule.id)
    for number in range(5):
        harness.system_context()
        with harness.turn(f"s{number}"):
            pass
        harness.report(f"s{number}", {"outcome": 0.0})
    harness._rounds.drain(30)
    recheck = after(harness, rule).recheck
    assert (
        recheck is not None
        and recheck.verdict.startswith("kept:")
        and "nothing is known from before" in recheck.verdict
    )


# --- what people and agents see ---


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    monkeypatch.chdir(tmp_path)
    return Cli(monkeypatch, tmp_path)


def test_e6_the_command_line_says_not_monitored_or_shows_arms_effect_and_interval(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("init", "--yes")
    with_harness = Harness.create()
    rule = promoted(with_harness)
    with_harness.close()
    assert "not monitored: it is withheld from nobody" in cli.ok("rules", "show", rule.id).out
    assert "not monitored" in cli.ok("status").out and cli.json("status")["monitored"] == 0
    monkeypatch.setenv("HARNESS_RULE_HOLDOUT_ACTIVE", "0.3")
    harness = Harness.create()
    harness._rounds.run()
    live(harness, rule, 0.3, 40)
    harness.close()
    for command in (("rules", "show", rule.id), ("trial", rule.id), ("trial",), ("rules", "status", rule.id)):
        said = " ".join(cli.ok(*command).out.split())
        assert "monitored since" in said and "withheld from 30% of sessions" in said
        assert re.search(r"shown 0\.\d\d over \d+, withheld 0\.\d\d over \d+; effect [+-]0\.\d\d \[.*\]", said)
    assert "1 of 1 active rules are monitored" in " ".join(cli.ok("status").out.split())


def test_e6_the_command_line_opens_a_recheck_and_shows_it_everywhere(cli: Cli) -> None:
    cli.ok("init", "--yes")
    harness = Harness.create()
    rule = promoted(harness)
    said = cli.ok("rules", "recheck", rule.id).out
    assert "stays active: recheck 1 open since" in " ".join(said.split()) and "nothing was counted yet" in said
    assert "rule_recheck" in cli.ok("journal").out and "a person asked for it" in cli.ok("journal").out
    assert cli("rules", "recheck", rule.id).code == 1
    assert "active, recheck open" in cli.ok("rules").out and cli.json("status")["rechecks"] == [rule.id]
    shown = cli.json("rules", "show", rule.id)["after_promotion"]
    assert (shown["kind"], shown["number"], shown["why"]) == ("recheck", 1, "a person asked for it")
    assert cli.json("trial")["after_promotion"][0]["rule_id"] == rule.id


async def answer(harness: Harness, tool: str, **arguments: Any) -> str:
    return json.dumps(await harness.toolset.call(tool, arguments))


@pytest.mark.parametrize("tool", ["harness_rule_status", "harness_rules_list", "harness_journal", "harness_reflect"])
def test_e6_agents_see_the_recheck_and_no_key(open_harness: Open, tool: str) -> None:
    import asyncio

    harness = open_harness(**WATCHED)
    rule = promoted(harness)
    keys = [after(harness, rule).key]
    harness._rounds.run()
    keys.append(running(harness, rule).key)
    harness.rules.recheck(rule.id)
    keys.append(running(harness, rule).key)
    said = asyncio.run(answer(harness, tool, **({"rule_id": rule.id} if tool == "harness_rule_status" else {})))
    assert not any(key in said for key in keys)
    if tool == "harness_rule_status":
        assert '"kind": "recheck"' in said and "a person asked for it" in said


def test_e6_rules_never_eligible_or_never_shown_are_listed_as_dead(open_harness: Open) -> None:
    from ruleproof.engine.dead import dead_rules

    harness = open_harness(**ANYTIME, rules_context_topk=1)
    seen = promoted(harness, "Ask for the order number.", tags=["orders"])
    never = promoted(harness, "Pack glass twice.", tags=["parcels"])
    for number in range(3):
        harness.context("orders", session_id=f"s{number}")
        harness.report(f"s{number}", {"outcome": 1.0})
    assert [(one.rule.id, one.why) for one in dead_rules(harness.workspace)] == [(never.id, "never eligible")]
    assert seen.id not in {one.rule.id for one in dead_rules(harness.workspace)}


def test_e6_a_forgotten_session_leaves_the_comparison_under_another_name(open_harness: Open, root: Path) -> None:
    from ruleproof.engine.forget import forget

    harness = open_harness(**WATCHED)
    rule = promoted(harness)
    harness._rounds.run()
    harness.system_context(session_id="a-person-by-name")
    harness.report("a-person-by-name", {"outcome": 1.0})
    forget(harness.workspace, "a-person-by-name", "asked for")
    assert not any(b"a-person-by-name" in data for data in contents(root).values())
    later = open_harness(**WATCHED)
    assert len(later.workspace.refresh_trials().told(rule.id, running(later, rule).name)) == 1


# --- error rates; more of them in tests/core/evidence/test_recheck.py and docs/evidence.md ---


def test_e6_a_rule_that_helps_is_kept_and_a_harmful_one_retired_in_simulated_lives() -> None:
    uniform = random.Random(11).random
    assert {recheck_once(Life(0.45, 0.3), uniform)[0] for _ in range(25)} == {"kept"}
    assert {recheck_once(Life(0.6, -0.3), uniform)[0] for _ in range(10)} <= {"retired", "inconclusive"}


def test_e6_all_rechecks_of_a_rule_together_retire_it_wrongly_at_most_once_in_twenty() -> None:
    levels = [Comparison("", "k", "d", 0.5, number).level for number in range(1, 2000)]
    assert levels == sorted(levels, reverse=True) and LIFE * 0.99 < sum(levels) < LIFE


# --- rules beside each other ------------------------------------------------------------------------------------------


def test_e6_rules_in_force_that_may_contradict_or_repeat_each_other_are_named_and_nothing_changes(cli: Cli) -> None:
    texts = {
        "never": "Never retry a failed payment.",
        "always": "Always retry a failed payment.",
        "paid": "Check the payment status before a charge.",
        "same": "Before a charge, check the payment's status!",
        "alone": "Quote the fare rules before a change.",
        "gone": "Retry a failed payment.",
        "paused": "Do not quote the fare rules before a change.",
    }
    ids = {name: cli.json("rules", "add", text)["rule"]["id"] for name, text in texts.items()}
    cli.ok("rules", "retire", ids["gone"])
    cli.ok("pause", ids["paused"])
    before = cli.json("rules", "--all")
    found = cli.json("rules", "overlap")
    assert (found["rules"], found["may_contradict"], found["repeats"], found["unchecked"]) == (5, 1, 1, 0)
    contradiction, repetition = found["pairs"]
    assert {contradiction["first"], contradiction["second"]} == {ids["never"], ids["always"]}
    assert {repetition["first"], repetition["second"]} == {ids["paid"], ids["same"]}
    assert (contradiction["kind"], contradiction["why"]) == ("may contradict", "only one says not")
    said = cli.ok("rules", "overlap", "--limit", "1").out
    assert "Of 5 rules in force: 1 pairs may contradict, 1 repeat." in said and "--limit" in said
    assert ids["never"] in said and texts["always"] in said and ids["same"] not in said
    assert cli.json("rules", "--all") == before


def test_e6_a_store_without_overlaps_is_said_to_have_none(cli: Cli) -> None:
    cli.ok("rules", "add", "Quote the fare rules before a change.")
    assert cli.ok("rules", "overlap").out == "Of 1 rules in force: 0 pairs may contradict, 0 repeat.\n"
