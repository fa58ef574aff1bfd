"""V9: the status of a rule has the documented shape, and reflection shows recent verdicts."""

from __future__ import annotations

import asyncio
from pathlib import Path

from ruleproof.config import HarnessConfig
from ruleproof.harness import Harness


def test_v9_status_has_the_documented_shape_from_candidate_to_verdict(tmp_path: Path) -> None:
    harness = Harness.create(HarnessConfig(harness_root=tmp_path / "w"), state_dir=tmp_path / "state")
    rule_id = harness.rules.add("Check first.", "It failed.", metric="agent_reliability").id
    harness.system_context()

    async def trip() -> None:
        status = await harness.toolset.call("harness_rule_status", {"rule_id": rule_id})
        assert status["ok"] is True and status["rule"]["id"] == rule_id  # type: ignore[index]
        assert status["lifecycle"] == {
            "status": "candidate", "baseline_rate": 1.0, "trial_rate": 0.0, "sessions_observed": 0,
            "sessions_needed": 5, "replay_attempts": 0, "verdict": "",
        }  # fmt: skip
        assert list(status["lifecycle"]) == [  # type: ignore[call-overload]
            "status", "baseline_rate", "trial_rate", "sessions_observed", "sessions_needed", "replay_attempts",
            "verdict",
        ]  # fmt: skip
        for number in range(5):
            with harness.turn(f"s-{number}"):
                harness.system_context()
            harness.report(f"s-{number}", {"agent_reliability": 0.9})
        await harness.drain_validation()
        await harness.validate_candidates()
        status = await harness.toolset.call("harness_rule_status", {"rule_id": rule_id})
        lifecycle = status["lifecycle"]
        assert isinstance(lifecycle, dict) and isinstance(status["rule"], dict)
        assert status["rule"]["status"] == lifecycle["status"] == "active"
        assert (lifecycle["trial_rate"], lifecycle["sessions_observed"], lifecycle["sessions_needed"]) == (0.0, 5, 5)
        assert lifecycle["verdict"].startswith("promoted:")
        assert "0 of 5 sessions alerted" in str(status["evidence_note"])
        assert status["uncounted"] == {} and status["paused"] is False and status["held"] is False
        exposure = status["exposure"]
        assert isinstance(exposure, dict) and exposure["shown"] + exposure["assumed"] == 5

    asyncio.run(trip())


def test_v9_reflection_shows_which_rules_survived_validation(tmp_path: Path) -> None:
    harness = Harness.create(HarnessConfig(harness_root=tmp_path / "w"), state_dir=tmp_path / "state")
    good = harness.rules.add("A good rule.", "x", metric="agent_reliability").id
    bad = harness.rules.add("A bad rule.", "x", metric="outcome").id
    for number in range(5):
        with harness.turn(f"s-{number}"):
            harness.system_context()
        harness.report(f"s-{number}", {"agent_reliability": 0.9, "outcome": 0.0})

    async def rest() -> None:
        await harness.drain_validation()
        await harness.validate_candidates()
        answer = await harness.toolset.call("harness_reflect")
        events = answer["recent_validations"]
        assert isinstance(events, list)
        assert {(event["type"], event["id"]) for event in events} == {("rule_promote", good), ("rule_retire", bad)}
        assert all(event["reason"] for event in events)

    asyncio.run(rest())
