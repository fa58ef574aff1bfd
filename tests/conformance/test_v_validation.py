"""V1, V2, V6 to V10: candidates, the forward trial, the engine around it."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import see

from ruleproof.config import HarnessConfig
from ruleproof.core.verdict import Verdict
from ruleproof.engine import validate
from ruleproof.errors import ConfigError
from ruleproof.harness import Harness

Open = Callable[..., Harness]
Log = Callable[[str], list[dict[str, Any]]]


@pytest.mark.parametrize(("validation", "status"), [(True, "candidate"), (False, "active")])
def test_v1_a_new_rule_is_a_candidate_unless_validation_is_off(
    open_harness: Open, validation: bool, status: str
) -> None:
    rule = open_harness(rule_validation=validation).rules.add("One.")
    assert rule.status == status
    assert (rule.trial is not None) == validation


@pytest.mark.parametrize(
    ("value", "kind", "status"), [(0.9, "rule_promote", "active"), (0.1, "rule_retire", "retired")]
)
def test_v2_a_verdict_is_journaled_with_its_evidence(
    harness: Harness, log: Log, value: float, kind: str, status: str
) -> None:
    rule = harness.rules.add("One.", metric="agent_reliability")
    for number in range(5):
        see(harness, f"s{number}", value)
    harness._rounds.run()
    assert harness.rules.get(rule.id).status == status
    (event,) = [event for event in log("journal.jsonl") if event["type"] == kind]
    assert event["id"] == rule.id and event["validator"] == "forward_trial" and "5 sessions" in event["reason"]
    evidence = event["evidence"]
    assert {name: evidence[name] for name in ("baseline_rate", "trial_rate", "sessions", "breached")} == {
        "baseline_rate": 1.0,
        "trial_rate": 1.0 - (value > 0.5),
        "sessions": 5,
        "breached": 5 * (value < 0.5),
    }
    assert evidence["chance_useless_passes"] == 1.0 and evidence["grade"] == "none"
    assert event["event"] == log("rules.jsonl")[-1]["event"]


def test_v6_the_fallback_is_announced_once(open_harness: Open, log: Log, caplog: pytest.LogCaptureFixture) -> None:
    harness = open_harness()
    harness.rules.add("One.", metric="agent_reliability")
    with caplog.at_level(logging.WARNING, "ruleproof"):
        for number in range(3):
            see(harness, f"s{number}", 0.9)
            harness._rounds.run()
        for _ in range(2):  # a command at a time, each a process of its own
            open_harness()._rounds.run()
    assert len([event for event in log("journal.jsonl") if event["type"] == "validation"]) == 1
    assert len([record for record in caplog.records if "no replay" in record.message]) == 1


def test_v7_the_baseline_is_the_share_of_journaled_sessions_that_hit_the_family(harness: Harness) -> None:
    harness.report("a", {"m": 0.1, "other": 0.9})
    harness.report("b", {"m": 0.9, "other": 0.1})
    harness.report("c", {"m": 0.9, "other": 0.9})  # healthy: journals nothing, so the baseline does not see it
    harness.report("a", {"m": 0.9, "other": 0.9}, turn_index=2)  # a recovery: the same session again
    trial = harness.rules.add("One.", metric="m").trial
    assert trial is not None
    assert (trial.baseline.breached, trial.baseline.sessions, trial.baseline.window) == (1, 2, 3)


def test_v7_without_history_the_baseline_is_one(harness: Harness) -> None:
    trial = harness.rules.add("One.", metric="m").trial
    assert trial is not None and trial.baseline.rate == 1.0


def test_v7_healthy_and_alerting_sessions_are_enrolled_and_each_counts_once(harness: Harness) -> None:
    rule = harness.rules.add("One.", metric="m")
    for turn, (session, value) in enumerate([("a", 0.9), ("b", 0.1), ("a", 0.9), ("a", 0.2)], 1):
        harness.system_context(session_id=session)
        harness.report(session, {"m": value}, turn_index=turn)
    trial = harness.rules.trial(rule.id)
    assert trial.observed == ("a", "b")
    assert set(trial.breached) == {"a", "b"}  # a session is breached if any of its reports was


def test_v7_a_partial_improvement_promotes_by_the_margin(harness: Harness) -> None:
    rule = harness.rules.add("One.", metric="agent_reliability")
    for number in range(5):
        see(harness, f"s{number}", 0.1 if number else 0.9)
    harness._rounds.run()
    assert harness.rules.get(rule.id).status == "active"  # 4 of 5 against a baseline of 1.0


def test_v8_a_report_returns_while_validation_is_stuck_and_one_round_runs_at_a_time(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    import threading

    gate, running, most = threading.Event(), [0], [0]

    async def slow(*_: object) -> list[Verdict]:
        running[0] += 1
        most[0] = max(most[0], running[0])
        await asyncio.to_thread(gate.wait, 20)
        running[0] -= 1
        return []

    monkeypatch.setattr("ruleproof.engine.rounds.validate_candidates", slow)
    harness.rules.add("One.", metric="agent_reliability")
    for number in range(4):
        see(harness, f"s{number}", 0.9)  # returns although the first round hangs
    assert not harness._rounds.drain(0.05)
    gate.set()
    assert harness._rounds.drain(20)
    assert most == [1]


def test_v8_a_failure_in_validation_is_a_log_line_and_spares_the_others(
    harness: Harness, caplog: pytest.LogCaptureFixture
) -> None:
    class Broken:
        name = "broken"

        async def judge(self, rule: Any, trial: Any) -> Verdict:
            if rule.rule == "Bad.":
                raise RuntimeError("the judge fell over")
            return Verdict(rule.id, "promote", self.name, "fine")

    bad, good = harness.rules.add("Bad."), harness.rules.add("Good.")
    verdicts = asyncio.run(validate.validate_candidates(harness.workspace, [Broken()]))
    assert [verdict.rule_id for verdict in verdicts] == [good.id]
    assert harness.rules.get(bad.id).status == "candidate"
    assert "the judge fell over" in caplog.text


def test_v8_two_processes_that_decide_at_once_leave_one_verdict(open_harness: Open, log: Log) -> None:
    one, two = open_harness(), open_harness()
    rule = one.rules.add("One.", metric="agent_reliability")
    for number in range(5):
        see(one, f"s{number}", 0.9)
    one._rounds.drain(10)
    two._rounds.run()
    one._rounds.run()
    assert [record["status"] for record in log("rules.jsonl") if record["id"] == rule.id] == ["candidate", "active"]


def test_v8_validation_and_draining_are_awaitable(harness: Harness) -> None:
    async def trip() -> list[Verdict]:
        harness.rules.add("One.", metric="agent_reliability")
        verdicts = await harness.validate_candidates()
        assert await harness.drain_validation()
        return verdicts

    (verdict,) = asyncio.run(trip())
    assert verdict.outcome == "pending" and "0 of 5" in verdict.reason


SETTINGS = {
    "rule_validation": True,
    "rule_trial_min_sessions": 5,
    "rule_promote_margin": 0.05,
    "rule_regress_margin": 0.05,
    "replay_timeout_s": 300.0,
    "rule_retrieval": True,
    "rules_context_topk": 8,
    "max_active_rules": 50,
}


@pytest.mark.parametrize("name", SETTINGS)
def test_v10_every_setting_has_its_default_and_is_an_argument_a_variable_and_a_line(name: str, tmp_path: Path) -> None:
    assert getattr(HarnessConfig(), name) == SETTINGS[name]
    other = {bool: False, int: 7, float: 0.5}[type(SETTINGS[name])]
    assert getattr(HarnessConfig(**{name: other}), name) == other
    variable = {f"HARNESS_{name.upper()}": str(other)}
    assert getattr(HarnessConfig.load(folder=tmp_path, environ=variable), name) == other
    (tmp_path / "ruleproof.toml").write_text(f"{name} = {str(other).lower()}\n")
    assert getattr(HarnessConfig.load(folder=tmp_path, environ={}), name) == other


def test_v10_an_argument_outranks_a_variable_and_a_variable_the_file(tmp_path: Path) -> None:
    (tmp_path / "ruleproof.toml").write_text(
        "max_active_rules = 1\nrules_context_topk = 1\nrule_trial_min_sessions = 1\n"
    )
    environ = {"HARNESS_MAX_ACTIVE_RULES": "2", "HARNESS_RULES_CONTEXT_TOPK": "2"}
    config = HarnessConfig.load(folder=tmp_path, environ=environ, max_active_rules=3)
    assert (config.max_active_rules, config.rules_context_topk, config.rule_trial_min_sessions) == (3, 2, 1)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("rule_validation", "enabled"), ("rule_validation", ""), ("max_active_rules", ""), ("max_active_rules", "-1"),
        ("rule_promote_margin", "-0.1"), ("rule_promote_margin", "nan"), ("rule_trial_min_sessions", "0"),
        ("replay_timeout_s", "0"), ("rules_context_topk", "eight"), ("mode", "Auto"), ("sanitize_max_len", "5"),
        ("thresholds", "agent_reliability"), ("thresholds", "a=7"), ("ewma_fast_span", "10"),
    ],
)  # fmt: skip
def test_v10_a_bad_value_is_refused_at_start_with_the_name_of_the_setting(
    name: str, value: str, tmp_path: Path
) -> None:
    with pytest.raises(ConfigError, match=f"(?i){name}"):
        HarnessConfig.load(folder=tmp_path, environ={f"HARNESS_{name.upper()}": value})


@pytest.mark.parametrize("values", [{"max_active_rules": True}, {"rule_validation": 2}, {"nonsense": 1}])
def test_v10_a_bad_argument_is_refused_too(values: dict[str, Any]) -> None:
    with pytest.raises(ConfigError, match=next(iter(values))):
        HarnessConfig(**values)


def test_v10_no_cap_is_legal() -> None:
    assert HarnessConfig(max_active_rules=0).max_active_rules == 0


def test_v10_a_misspelt_name_in_the_file_is_refused_with_the_nearest(tmp_path: Path) -> None:
    (tmp_path / "ruleproof.toml").write_text("rule_validaton = false\n")
    with pytest.raises(ConfigError, match="rule_validation"):
        HarnessConfig.load(folder=tmp_path, environ={})
