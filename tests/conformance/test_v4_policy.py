"""V4: what a round of replays decides, and what the journal says of it; the paired policy beside the fixed one."""

from __future__ import annotations

import asyncio
import json
import random
from collections.abc import Callable
from typing import Any

import pytest
from tests.conformance.test_v3_replay import candidate, failure, win

from ruleproof.core.evalcase import EvalCase
from ruleproof.core.rule import Rule
from ruleproof.core.verdict import Verdict
from ruleproof.engine.errorbudget import level_of
from ruleproof.harness import Harness

Open = Callable[..., Harness]
Log = Callable[[str], list[dict[str, Any]]]


def scoring(**scores: dict[str, float]) -> Any:
    """A replay that the host scores itself: recorded session -> the scores of its replay."""
    return lambda case, context: {"session_id": f"new-{case.session_id}", "scores": scores[case.session_id]}


def round_of(harness: Harness) -> Verdict:
    (verdict,) = asyncio.run(harness.validate_candidates())
    return verdict


def decided(harness: Harness, log: Log, rule: Rule) -> tuple[str, dict[str, Any]]:
    """(the status now, the event that says so)."""
    moved = harness.rules.get(rule.id)
    kind = {"active": "rule_promote", "retired": "rule_retire"}[moved.status]
    (event,) = [event for event in log("journal.jsonl") if event["type"] == kind]
    return moved.status, event


def test_v4_an_improved_failure_and_nothing_regressed_promotes(open_harness: Open, log: Log) -> None:
    harness = open_harness(replay=scoring(f0={"m": 0.2}, f1={"m": 0.8}, w0={"m": 0.9}))
    failure(harness, "f0"), failure(harness, "f1"), win(harness, "w0")
    rule = candidate(harness)
    verdict = round_of(harness)
    status, event = decided(harness, log, rule)
    assert (verdict.outcome, status) == ("promote", "active")
    assert event["reason"] == verdict.reason == event["trial"]["verdict"].removeprefix("promoted:")
    assert event["reason"].startswith("replay: m improved past the margin of 0.05 (m 0.20 -> 0.80 in failure c-")
    assert event["validator"] == "replay" and len(event["evidence"]["cases"]) == 3
    assert event["evidence"]["effect"] == pytest.approx(0.3) and event["evidence"]["grade"] == "none"
    assert "chance that a useless rule passes this gate: 0.44" in harness.evidence.line(harness.rules.get(rule.id))
    assert event["evidence"]["cases"][0]["deltas"] == {"m": pytest.approx(0.6)}


@pytest.mark.parametrize(
    ("scores", "named"),
    [
        ({"f0": {"m": 0.9}, "w0": {"m": 0.84}}, "m 0.90 -> 0.84 in win"),
        ({"f0": {"m": 0.9, "tone": 0.5}, "w0": {"m": 0.9}}, "tone 0.60 -> 0.50 in failure"),
    ],
)
def test_v4_a_case_that_regressed_on_any_metric_retires_whatever_improved(
    open_harness: Open, log: Log, scores: Any, named: str
) -> None:
    harness = open_harness(replay=scoring(**scores))
    failure(harness, "f0", baseline_scores={"m": 0.2, "tone": 0.6}), win(harness, "w0")
    rule = candidate(harness)
    round_of(harness)
    status, event = decided(harness, log, rule)
    assert status == "retired" and named in event["reason"] and "regressed" in event["reason"]
    assert harness.rules.get(rule.id).trial.verdict == f"retired:{event['reason']}"  # type: ignore[union-attr]


def test_v4_no_improvement_retires_with_the_figures(open_harness: Open, log: Log) -> None:
    harness = open_harness(replay=scoring(f0={"m": 0.24}))
    failure(harness, "f0")
    rule = candidate(harness)
    round_of(harness)
    status, event = decided(harness, log, rule)
    assert status == "retired" and "no improvement of m" in event["reason"] and "0.20 -> 0.24" in event["reason"]


@pytest.mark.parametrize(("promote", "regress", "status"), [(0.3, 0.05, "retired"), (0.05, 0.3, "active")])
def test_v4_the_margins_are_settings(open_harness: Open, promote: float, regress: float, status: str) -> None:
    harness = open_harness(
        replay=scoring(f0={"m": 0.4}, w0={"m": 0.7}), rule_promote_margin=promote, rule_regress_margin=regress
    )
    failure(harness, "f0"), win(harness, "w0")
    rule = candidate(harness)
    round_of(harness)
    assert harness.rules.get(rule.id).status == status


def test_v4_a_rule_without_a_metric_is_judged_on_what_its_newest_case_failed(open_harness: Open) -> None:
    harness = open_harness(replay=scoring(f0={"m": 0.2, "tone": 0.9}))
    failure(harness, "f0", "trend:tone", baseline_scores={"m": 0.2, "tone": 0.3})
    rule = candidate(harness, metric=None, tags=["trend:tone"])
    assert round_of(harness).details["target"] == "tone"
    assert harness.rules.get(rule.id).status == "active"


def test_v4_one_session_for_every_case_is_one_outcome(open_harness: Open) -> None:
    harness = open_harness(replay=lambda case, context: {"session_id": "always", "scores": {"m": 0.9}})
    for number in range(3):
        failure(harness, f"f{number}")
    candidate(harness)
    verdict = round_of(harness)
    assert verdict.outcome == "promote" and "1 of 3 failures" in verdict.reason
    assert [case.get("why_not") for case in verdict.details["cases"]][1:] == ["its session was counted before"] * 2  # type: ignore[attr-defined]


def test_v4_inputs_that_an_agent_gave_are_named_in_the_verdict(open_harness: Open, log: Log) -> None:
    harness = open_harness(replay=scoring(f0={"m": 0.9}, f1={"m": 0.9}))
    bare = failure(harness, "f0", replay_input=None)
    failure(harness, "f1")
    harness.toolset.call_sync("harness_evalset_attach", {"case_id": bare.id, "replay_input": "an easy one"})
    rule = candidate(harness)
    round_of(harness)
    assert decided(harness, log, rule)[1]["evidence"]["inputs_by_agents"] == [bare.id]


# --- the paired policy -----------------------------------------------------------------------------------------------


class Agent:
    """An agent whose score depends on the rule alone: `base`, plus `effect` where the rule's text is in its context."""

    def __init__(self, effect: float, *, noise: float = 0.0, base: float = 0.3, seed: int = 1, **wins: float) -> None:
        self.effect, self.noise, self.base, self.wins = effect, noise, base, wins
        self.chance = random.Random(seed)
        self.calls: list[tuple[str, bool]] = []

    def __call__(self, case: EvalCase, context: str) -> dict[str, Any]:
        shown = "Verify before you retry." in context
        self.calls.append((case.session_id, shown))
        level = self.wins.get("level", 0.9) if case.kind == "win" else self.base
        change = self.wins.get("change", 0.0) if case.kind == "win" else self.effect
        value = level + change * shown + self.chance.gauss(0.0, self.noise)
        scores = {"m": min(1.0, max(0.0, value))}
        return {"session_id": f"r{len(self.calls)}", "scores": scores, "costs": {"tokens": 100 + 50 * shown}}


def paired(open_harness: Open, replay: Any, **more: Any) -> Harness:
    harness = open_harness(replay=replay, replay_policy="paired", **more)
    for number in range(3):
        failure(harness, f"f{number}", score=0.1)
    win(harness, "w0"), win(harness, "w1")
    return harness


def rounds(harness: Harness, most: int = 12) -> tuple[Verdict, int]:
    """Rounds until a verdict; the last verdict and how many there were."""
    verdicts: list[Verdict] = []
    while len(verdicts) < most and not (verdicts and verdicts[-1].decided):
        verdicts.append(round_of(harness))
    return verdicts[-1], len(verdicts)


def test_v4_paired_regression_to_the_mean_promotes_nothing(open_harness: Open) -> None:
    """Every failure scores 0.3 now, far above the 0.1 that was captured, with the rule and without it."""
    harness = paired(open_harness, Agent(0.0, noise=0.05), replay_max_pairs=60)
    rule = candidate(harness)
    verdict, count = rounds(harness, 3)
    assert (verdict.decided, count) == (False, 3)
    assert harness.rules.get(rule.id).status == "candidate"
    assert abs(verdict.details["effect"]) < 0.1  # type: ignore[arg-type]


def test_v4_paired_a_real_effect_is_found_over_rounds_that_add_up(open_harness: Open, log: Log) -> None:
    harness = paired(open_harness, Agent(0.25, noise=0.12), replay_repeats=2)
    rule = candidate(harness)
    verdict, count = rounds(harness)
    assert verdict.outcome == "promote" and count > 1, verdict
    status, event = decided(harness, log, rule)
    evidence = event["evidence"]
    assert status == "active" and evidence["rounds"] == count and evidence["pairs"] == 6 * count
    assert evidence["effect"] == pytest.approx(0.25, abs=0.15) and evidence["chance"] <= evidence["level"] < 0.05
    assert {row["name"] for row in evidence["rows"]} == {"m", "tokens"}, "what it costs is followed too"
    assert "tokens" in event["reason"]
    assert len([record for record in log("trials.jsonl") if record["kind"] == "replay"]) == count


def test_v9_a_running_paired_trial_says_what_it_has_seen_and_how_many_pairs_are_missing(open_harness: Open) -> None:
    harness = paired(open_harness, Agent(0.1, noise=0.12))
    rule = candidate(harness)
    assert harness.rules.evidence(rule.id).get("policy") != "paired"
    verdict = round_of(harness)
    assert verdict.outcome == "pending"
    for reader in (harness, open_harness(replay_policy="paired")):
        found = reader.rules.evidence(rule.id)
        assert {**verdict.details, **found} == found, "as its verdict says it, in another process too"
        assert (found["decision"], found["rounds"], found["pairs"]) == ("not_yet", 1, 15)
        note = reader.toolset.call_sync("harness_rule_status", {"rule_id": rule.id})["evidence_note"]
        assert "15 pairs of replays" in note and "more pairs at this effect" in note


def test_v4_paired_replays_and_sessions_of_a_rule_pay_once_together(open_harness: Open) -> None:
    anytime = {"rule_trial_policy": "anytime", "rule_holdout": 0.5}
    harness = paired(open_harness, Agent(0.1, noise=0.12), **anytime)
    harness._rounds.kick = lambda: None
    rule = candidate(harness)
    alone = harness.evidence.anytime.look(rule, harness.rules.trial(rule.id)).level
    assert alone == pytest.approx(0.05 / 11)
    verdict = round_of(harness)
    assert verdict.outcome == "pending" and verdict.details["level"] == pytest.approx(alone)
    replayed = verdict.details["e_help"]
    assert isinstance(replayed, float) and replayed > 1.0
    for number in range(12):
        made = harness.context(session_id=f"s{number}")
        harness.report(f"s{number}", {"m": 0.9 if rule.id in made.rules else 0.6})
    look = harness.evidence.anytime.look(rule, harness.rules.trial(rule.id))
    lent = pytest.approx(min(0.05, alone * replayed))
    assert look.level == lent, "what replays showed counts for the sessions, up to the level of one rule alone"
    again = harness.rules.evidence(rule.id)
    assert again["level"] == pytest.approx(alone * look.e_help) and look.e_help > 1.0, "and the other way round"
    assert again["sessions"]["e_help"] == look.e_help and again["pairs"] == 15
    note = harness.evidence.line(rule)
    assert "15 pairs of replays" in note and "its sessions: " in note and "shown 0.90 over" in note
    told = round_of(open_harness(**anytime, replay_policy="paired"))
    assert told.details["replays"]["pairs"] == 15 and "Its replays lend an e-value of " in told.reason


def test_v4_copies_of_one_mended_failure_lend_nothing_to_sessions(open_harness: Open) -> None:
    """By their bets they would let any session promote the rule: 15 pairs, five of them a copy of one that rose."""
    anytime = {"rule_trial_policy": "anytime", "rule_holdout": 0.5}
    count = [0]

    def replay(case: EvalCase, context: str) -> dict[str, Any]:
        count[0] += 1
        mended = case.session_id == "f0" and "Verify before you retry." in context
        return {"session_id": f"r{count[0]}", "scores": {"m": 0.9 if case.kind == "win" or mended else 0.1}}

    harness = paired(open_harness, replay, **anytime)
    rule = candidate(harness)
    for _ in range(3):
        verdict = round_of(harness)
    assert verdict.outcome == "pending" and verdict.details["e_help"] > 1000.0
    other = open_harness(**anytime, replay_policy="paired")
    other._rounds.kick = lambda: None
    alone = other.evidence.anytime.look(rule, other.rules.trial(rule.id)).level
    assert alone == pytest.approx(0.05 / 11)
    for number in range(20):
        other.context(session_id=f"s{number}")
        other.report(f"s{number}", {"m": 0.9 if number % 3 else 0.2})
        assert not round_of(other).decided
    assert "Its replays count beside it, and lend nothing" in round_of(other).reason


def test_v4_sessions_that_lost_their_failures_lend_nothing_to_replays(open_harness: Open) -> None:
    harness = paired(open_harness, Agent(0.1, noise=0.12), rule_trial_policy="anytime", rule_holdout=0.5)
    harness._rounds.kick = lambda: None
    rule, chance = candidate(harness), random.Random(2)
    for number in range(250):
        shown = rule.id in harness.context(session_id=f"s{number}").rules
        failed = chance.random() < 0.5
        harness.report(f"s{number}", {"m": None if failed and shown else 0.2 if failed else 0.9})
    assert harness.evidence.anytime.look(rule, harness.rules.trial(rule.id)).e_help > 50.0, "it would lend a lot"
    verdict = round_of(harness)
    assert verdict.details["level"] <= 0.05 / 11
    assert "Its sessions count beside it, and lend nothing" in verdict.reason


def test_v4_paired_replays_that_began_are_not_overtaken_by_the_fixed_trial_of_another_process(
    open_harness: Open,
) -> None:
    harness = paired(open_harness, Agent(0.0, noise=0.12))
    rule = candidate(harness)
    assert round_of(harness).outcome == "pending"
    other = open_harness(replay_policy="paired")
    other._rounds.kick = lambda: None
    for number in range(8):
        other.context(session_id=f"s{number}")
        other.report(f"s{number}", {"m": 0.9})
        verdict = round_of(other)
        assert verdict.outcome == "pending" and "its paired replays decide" in verdict.reason
    assert other.rules.get(rule.id).status == "candidate"
    assert len(other.rules.trial(rule.id).observed) == 5, "it observes"


def test_v4_planned_pairs_are_judged_once_by_the_exact_test_and_no_round_runs_beyond_them(open_harness: Open) -> None:
    agent = Agent(0.3, noise=0.12)
    harness = paired(open_harness, agent, replay_planned_pairs=40, replay_max_pairs=10)
    rule = candidate(harness)
    for pairs in (15, 30):
        verdict = round_of(harness)
        assert verdict.details["exact_p"] < verdict.details["level"], "a look that would promote"  # type: ignore[operator]
        assert (verdict.outcome, verdict.details["pairs"]) == ("pending", pairs), "and decides nothing"
        assert verdict.details["pairs_needed"] == 40 - pairs and verdict.details["chance"] == 1.0
    assert harness.rules.evidence(rule.id)["pairs_needed"] == 10
    verdict = round_of(harness)
    assert verdict.outcome == "promote" and verdict.details["chance"] == verdict.details["exact_p"]
    assert "p " in verdict.reason and "e-value" not in verdict.reason
    assert len(agent.calls) == 3 * 2 * 5 * 5


def test_v4_a_useless_rule_ends_at_its_planned_pairs_and_nothing_more_is_run(open_harness: Open, log: Log) -> None:
    agent = Agent(0.0, noise=0.12)
    harness = paired(open_harness, agent, replay_planned_pairs=15)
    candidate(harness)
    validator = harness._rounds._validators[0]
    rule = harness.rules.candidates()[0]
    judged = asyncio.run(validator.judge(rule, harness.rules.trial(rule.id)))  # killed before the verdict is applied
    calls = len(agent.calls)
    assert judged is not None and judged.outcome == "inconclusive" and calls == 2 * 5 * 5
    assert round_of(harness).outcome == "inconclusive" and len(agent.calls) == calls
    assert harness.rules.get(rule.id).status == "retired"


@pytest.mark.parametrize(("first", "later"), [(40, 0), (0, 15), (40, 15)])
def test_v4_the_plan_of_a_paired_trial_is_fixed_by_its_first_round(
    open_harness: Open, log: Log, first: int, later: int
) -> None:
    harness = paired(open_harness, Agent(0.05, noise=0.12), replay_planned_pairs=first)
    rule = candidate(harness)
    assert round_of(harness).outcome == "pending"
    changed = open_harness(replay=Agent(0.05, noise=0.12, seed=2), replay_policy="paired", replay_planned_pairs=later)
    found = changed.rules.evidence(rule.id)
    assert found["decision"] == "not_yet" and (found["pairs_needed"] == 25) == bool(first)
    assert [record.get("planned", 0) for record in log("trials.jsonl") if record["kind"] == "replay"] == [first]


def test_v4_paired_the_target_is_chosen_once(open_harness: Open) -> None:
    harness = paired(open_harness, Agent(0.0, noise=0.12))
    rule = harness.rules.add("Verify before you retry.", tags=["breach:m", "breach:other"])
    assert round_of(harness).details["target"] == "m"
    failure(harness, "newer", "breach:other")
    assert round_of(harness).details["target"] == "m"
    assert harness.rules.evidence(rule.id)["target"] == "m"


def test_v4_paired_both_arms_run_side_by_side_and_the_first_takes_turns(open_harness: Open) -> None:
    agent = Agent(0.0)
    harness = paired(open_harness, agent, replay_repeats=2)
    candidate(harness)
    round_of(harness)
    couples = list(zip(agent.calls[::2], agent.calls[1::2], strict=True))
    assert len(agent.calls) == 5 * 2 * 2
    assert all(one[0] == other[0] and one[1] != other[1] for one, other in couples)
    assert 4 <= sum(one[1] for one, _ in couples) <= 6


def test_v4_paired_the_control_lacks_the_candidate_and_nothing_else(open_harness: Open) -> None:
    contexts: list[str] = []

    def replay(case: EvalCase, context: str) -> dict[str, Any]:
        contexts.append(context)
        return {"session_id": f"r{len(contexts)}", "scores": {"m": 0.5}}

    harness = paired(open_harness, replay, replay_repeats=1)
    rule, other = candidate(harness), harness.rules.add("Another candidate.", metric="k")
    with_it = harness.system_context()
    asyncio.run(harness.validate_candidates())
    first = contexts[:10]
    (without,) = {context for context in first if context != with_it}
    assert with_it in first and rule.id not in without and other.id in without
    removed = [line for line in with_it.splitlines() if line not in without.splitlines()]
    assert len(removed) == 2 and rule.id in removed[0] and without.splitlines() == [
        line for line in with_it.splitlines() if line not in removed
    ]  # fmt: skip


def test_v4_paired_harm_to_a_win_retires_and_names_the_metric(open_harness: Open, log: Log) -> None:
    harness = paired(open_harness, Agent(0.3, noise=0.05, change=-0.5))
    rule = candidate(harness)
    verdict, _ = rounds(harness)
    assert verdict.outcome == "retire" and "lowers m" in verdict.reason
    assert decided(harness, log, rule)[0] == "retired"


def test_v4_paired_noise_of_another_metric_is_no_verdict(open_harness: Open) -> None:
    """A metric that the rule does not aim at falls by more than the margin in single replays, all the time."""
    agent, chance = Agent(0.0, noise=0.02), random.Random(5)

    def replay(case: EvalCase, context: str) -> dict[str, Any]:
        made = agent(case, context)
        return {**made, "scores": {**made["scores"], "tone": chance.random()}}

    harness = paired(open_harness, replay, replay_max_pairs=60)
    rule = candidate(harness)
    assert not rounds(harness, 3)[0].decided
    assert harness.rules.get(rule.id).status == "candidate"


def test_v4_paired_one_session_over_and_over_is_no_evidence_and_says_so(open_harness: Open, log: Log) -> None:
    harness = paired(open_harness, lambda case, context: {"session_id": f"replay-{case.id}", "scores": {"m": 0.9}})
    rule = candidate(harness)
    verdict = round_of(harness)
    assert verdict.outcome == "pending" and "inconclusive" in verdict.reason and "counted before" in verdict.reason
    assert harness.rules.trial(rule.id).replay_attempts == 1


def test_v4_paired_a_session_of_an_earlier_round_is_not_counted_again(open_harness: Open) -> None:
    count = [0]

    def replay(case: EvalCase, context: str) -> dict[str, Any]:
        count[0] += 1
        shown = "Verify before you retry." in context
        return {"session_id": f"{case.id}-{shown}-{count[0] % 20}", "scores": {"m": 0.3 + 0.2 * shown}}

    harness = paired(open_harness, replay, replay_repeats=2)
    candidate(harness)
    first = round_of(harness)
    second = round_of(harness)
    assert first.details["pairs"] == 6 and "counted before" in second.reason


def test_v4_paired_when_the_pairs_are_used_up_the_trial_ends_inconclusive_and_the_text_may_be_tried_again(
    open_harness: Open, log: Log
) -> None:
    agent = Agent(0.0, noise=0.1)
    harness = paired(open_harness, agent, replay_repeats=2, replay_max_pairs=10)
    rule = candidate(harness)
    verdict, count = rounds(harness)
    assert (verdict.outcome, count) == ("inconclusive", 2) and "did not decide it" in verdict.reason
    status, event = decided(harness, log, rule)
    assert status == "retired" and event["trial"]["verdict"].startswith("inconclusive:paired replay: ")
    again = candidate(harness)
    assert again.id != rule.id and again.status == "candidate"
    json.dumps(verdict.details, allow_nan=False)


def test_v4_paired_the_level_is_the_rules_share_of_the_error_budget(open_harness: Open) -> None:
    harness = paired(open_harness, Agent(0.0), replay_repeats=1)
    first = candidate(harness)
    levels = [round_of(harness).details["level"]]
    harness.rules.retire(first.id)
    harness.rules.add("Verify before you retry. Twice.", metric="m")
    levels.append(round_of(harness).details["level"])
    assert levels == [pytest.approx(0.05 * 10 / 110), pytest.approx(0.05 * 10 / 132)]


def test_v4_paired_a_promotion_that_was_paid_raises_the_level_of_the_next_and_later_rules_move_no_number(
    open_harness: Open,
) -> None:
    harness = paired(open_harness, Agent(0.6), replay_repeats=5)
    first = candidate(harness)
    assert rounds(harness)[0].outcome == "promote"
    second = harness.rules.add("Verify before you retry. Twice.", metric="m")
    harness.rules.add("A third one.", metric="k")
    book = harness.workspace.refresh()
    assert level_of(book, second, 0.05) == pytest.approx(2 * 0.05 * 10 / 132)
    assert level_of(book, first, 0.05) == pytest.approx(0.05 * 10 / 110)
