"""E2: every verdict carries its evidence, in the journal, in the tools, and as one line where that is asked for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.conftest import see
from tests.conformance.test_e3_wiring import ANYTIME
from tests.surfaces.cliterminal import Cli

from ruleproof.core.evidence.fixed import fixed_evidence
from ruleproof.core.evidence.intervals import newcombe
from ruleproof.core.evidence.pretest import false_promotion_chance
from ruleproof.core.trial import Baseline, TrialState
from ruleproof.harness import Harness
from ruleproof.testing import FixedSystem

Open = Callable[..., Harness]
Log = Callable[[str], list[dict[str, Any]]]
M = "agent_reliability"


def history(harness: Harness, breached: int, healthy: int) -> None:
    """Sessions that the baseline sees: breaches of the metric, and of another one."""
    for number in range(breached):
        harness.report(f"b{number}", {M: 0.1, "other": 0.9})
    for number in range(healthy):
        harness.report(f"h{number}", {M: 0.9, "other": 0.1})


@pytest.mark.parametrize(("value", "kind"), [(0.9, "rule_promote"), (0.1, "rule_retire")])
def test_e2_a_verdict_of_the_fixed_gate_is_journaled_with_effect_interval_chance_and_grade(
    open_harness: Open, log: Log, value: float, kind: str
) -> None:
    harness = open_harness(circuit_breaker_max_notices=0)
    history(harness, 3, 5)
    rule = harness.rules.add("One.", metric=M)
    for number in range(5):
        see(harness, f"s{number}", value)
    harness._rounds.run()
    (event,) = [event for event in log("journal.jsonl") if event["type"] == kind]
    found, hit = event["evidence"], 5 * (value < 0.5)
    assert found["baseline"] == {"breached": 3, "sessions": 8}
    assert found["effect"] == pytest.approx(3 / 8 - hit / 5)
    assert found["interval"] == pytest.approx(list(newcombe(3, 8, hit, 5)))
    assert found["chance_useless_passes"] == pytest.approx(false_promotion_chance(3, 8, 5, 0.05))
    assert found["grade"] == "none" and "biased high" in found["caution"]
    assert harness.rules.evidence(rule.id) == found


def test_e2_without_history_a_useless_rule_may_always_pass() -> None:
    found = fixed_evidence(TrialState(observed=("a", "b")), 5, 0.05)
    assert found["chance_useless_passes"] == 1.0 and found["effect"] is None and found["grade"] == "none"


def test_e2_many_sessions_against_a_high_baseline_are_worth_more_than_five() -> None:
    def chance(sessions: int) -> Any:
        seen = tuple(f"s{n}" for n in range(sessions))
        return fixed_evidence(TrialState(Baseline(90, 100), observed=seen), sessions, 0.5)

    assert chance(5)["chance_useless_passes"] > chance(40)["chance_useless_passes"]
    assert chance(40)["grade"] == "strong"


def test_e2_a_baseline_that_cannot_be_is_taken_as_none() -> None:
    found = fixed_evidence(TrialState(Baseline(9, 3), observed=("a",)), 5, 0.05)
    assert found["effect"] is None and found["chance_useless_passes"] == 1.0


def test_e2_an_anytime_verdict_names_arms_effect_interval_chance_grade_and_costs(open_harness: Open) -> None:
    harness = open_harness(**ANYTIME, system=FixedSystem())
    rule = harness.rules.add("One.", metric=M)
    for number in range(12):
        shown = rule.id in harness.context(session_id=f"s{number}").rules
        harness.report(f"s{number}", {M: 0.9, "other": 0.6}, costs={"tokens": 100.0 + 50.0 * shown})
    (verdict,) = harness._rounds.run()
    found = verdict.details
    assert found["shown"]["counted"] + found["withheld"]["counted"] == 12
    assert found.keys() >= {"effect", "interval", "chance", "grade", "level", "e_help", "e_harm", "units_needed"}
    rows = {row["name"]: row for row in found["rows"]}
    assert rows.keys() == {M, "other", "tokens"}
    assert rows["tokens"]["kind"] == "cost" and rows["tokens"]["difference"] == pytest.approx(50.0)
    assert "key" not in found, "the key tells arms in advance"


@pytest.mark.parametrize("policy", [{}, ANYTIME])
def test_e2_the_status_tool_carries_the_evidence_and_keeps_the_key_to_itself(
    open_harness: Open, policy: dict[str, Any]
) -> None:
    harness = open_harness(**policy)
    rule = harness.rules.add("One.", metric=M)
    for number in range(3):
        see(harness, f"s{number}", 0.9)
    answer = harness.toolset.call_sync("harness_rule_status", {"rule_id": rule.id})
    assert answer["ok"] is True
    evidence, shown = answer["evidence"], answer["rule"]
    assert isinstance(evidence, dict) and isinstance(shown, dict)
    assert evidence["policy"] == ("anytime" if policy else "fixed") and "grade" in evidence
    key = rule.trial.key if rule.trial else ""
    assert not key or key not in str(answer)
    assert isinstance(answer["evidence_note"], str) and answer["evidence_note"]


def test_e2_there_is_one_grade_of_a_fixed_trial_on_every_surface(
    open_harness: Open, root: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = open_harness()
    history(harness, 12, 2)
    rule = harness.rules.add("One.", metric=M)
    for number in range(4):
        see(harness, f"s{number}", 0.9)
    assert harness.rules.evidence(rule.id)["grade"] == "none", "a few sessions cannot tell, however good they look"
    monkeypatch.setenv("HARNESS_ROOT", str(root))
    cli = Cli(monkeypatch, root)
    texts = [
        str(harness.toolset.call_sync("harness_rule_status", {"rule_id": rule.id})["evidence_note"]),
        str(cli.json("trial", rule.id)["evidence"]),
        *(cli.ok(*command, rule.id).out for command in (("trial",), ("rules", "show"), ("forecast",))),
    ]
    for text in texts:
        assert "none (0 of 4 sessions alerted" in " ".join(text.split())
        assert not any(word in text for word in ("weak", "moderate", "strong"))


def test_e2_render_evidence_adds_one_line_a_rule_and_the_default_adds_nothing(open_harness: Open) -> None:
    plain, telling = open_harness(), open_harness(render_evidence=True)
    history(plain, 2, 2)
    rule = plain.rules.add("One.", "Because.", metric=M)
    for number in range(5):
        see(plain, f"s{number}", 0.9)
    plain._rounds.run()
    before = plain.system_context().splitlines()
    after = telling.system_context().splitlines()
    extra = [line for line in after if line not in before]
    assert len(extra) == 1 and len(after) == len(before) + 1
    assert extra[0].startswith("  - evidence: none (0 of 5 sessions alerted, 2 of 4 before; effect +0.50 [")
    assert "chance that a useless rule passes this gate" in extra[0]
    assert telling.rules.get(rule.id).status == "active"


def test_e2_render_evidence_follows_a_running_anytime_trial(open_harness: Open) -> None:
    harness = open_harness(**ANYTIME, render_evidence=True)
    rule = harness.rules.add("One.", metric=M)
    texts = []
    for number in range(4):
        see(harness, f"s{number}", 0.9)
        texts.append(harness.system_context())
    assert len(set(texts)) == 4 and all("  - evidence: none (shown " in text for text in texts)
    assert rule.id in texts[0] and "trial: 1/2000 sessions observed" in texts[0]


def test_r8_an_anytime_candidate_shows_how_far_its_trial_is(open_harness: Open) -> None:
    harness = open_harness(**ANYTIME)
    harness.rules.add("One.", metric=M)
    for number in range(4):
        assert f"trial: {number}/2000 sessions observed" in harness.composer.full()
        see(harness, f"s{number}", 0.9)


def test_e2_the_journal_of_another_system_gives_no_evidence(harness: Harness, root: Path) -> None:
    rule = harness.rules.add("One.")
    harness.rules.retire(rule.id)
    with (root / "journal.jsonl").open("a", encoding="utf-8") as file:
        file.write(f'{{"type": "rule_retire", "id": "{rule.id}", "evidence": "trust me", "ts": "t"}}\n')
    assert harness.rules.evidence(rule.id) == {}
