"""The closed loop as a host program writes it: one trip through the public API, from a failure to a validated rule."""

from __future__ import annotations

import asyncio
import json
from pathlib import Path

from ruleproof.engine.ports import Turn
from ruleproof.harness import Harness

PROMPT = "You charge customers.\n\n"
HINT = "charge a customer payment"
RULE = "Check the payment status before you charge a card again."


class Host:
    """A program with an agent: its prompt decides what it does, and its checker sees what came of it."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.harness = self.open()

    def open(self) -> Harness:
        return Harness.create(harness_root=self.root, circuit_breaker_max_notices=0, evaluator=self.check)

    async def check(self, turn: Turn) -> dict[str, float | None]:
        return {"outcome": turn.end_state["outcome"], "speed": None}  # type: ignore[dict-item]

    async def session(self, name: str) -> str:
        """One customer; the system prompt that the agent got."""
        async with self.harness.turn(name) as turn:
            prompt = PROMPT + self.harness.system_context(task_hint=HINT)
            turn.end_state["outcome"] = 1.0 if RULE in prompt else 0.0
        await self.harness.refresh(name)
        await self.harness.drain_validation()
        return prompt

    async def call(self, tool: str, **arguments: object) -> dict[str, object]:
        answer = await self.harness.toolset.call(tool, arguments)
        assert answer["ok"] is True, answer
        return json.loads(json.dumps(answer))


def test_a_failure_becomes_a_notice_a_rule_a_trial_a_verdict_and_a_validated_rule(tmp_path: Path) -> None:
    asyncio.run(trip(Host(tmp_path / "workspace")))


async def trip(host: Host) -> None:
    # two customers are wronged, and two notices wait
    assert "_No rules yet._" in await host.session("before-1")
    assert "1 pending diagnostic notice" in await host.session("before-2")
    waiting = (await host.call("harness_mailbox_list"))["pending"]
    assert [notice["session_id"] for notice in waiting] == ["before-1", "before-2"]  # type: ignore[index, union-attr]

    # the agent reads one, writes a rule, settles both
    first, second = (str(notice["id"]) for notice in waiting)  # type: ignore[index, union-attr]
    notice = (await host.call("harness_mailbox_read", notice_id=first))["notice"]
    assert notice["signatures"] == ["breach:outcome"]  # type: ignore[index, call-overload]
    added = await host.call("harness_rule_add", rule=RULE, rationale="It charged twice.", notice_id=first)
    rule_id = str(added["rule"]["id"])  # type: ignore[index, call-overload]
    for each in (first, second):
        await host.call("harness_mailbox_ack", notice_id=each, rule_id=rule_id)
    assert [rule.id for rule in host.harness.rules.candidates()] == [rule_id]

    # later customers see the rule as provisional, and each counts once, however often it is reported
    for number in range(1, 5):
        prompt = await host.session(f"after-{number}")
        assert "### Provisional rules" in prompt
        assert f"trial: {number - 1}/5 sessions observed" in prompt
    host.harness.report("after-4", {"outcome": 1.0}, turn_index=2)
    host.harness.report("never-shown", {"outcome": 0.0})
    host.harness.report("shown-but-unscored", {"outcome": None})
    status = await host.call("harness_rule_status", rule_id=rule_id)
    lifecycle = status["lifecycle"]
    assert (lifecycle["sessions_observed"], lifecycle["baseline_rate"]) == (4, 1.0)  # type: ignore[index, call-overload]
    assert status["uncounted"] == {"never-shown": "unknown exposure", "shown-but-unscored": "no score"}

    # another process goes on where this one stopped; the fifth customer brings the verdict
    host.harness.close()
    host.harness = host.open()
    await host.session("after-5")
    rule = host.harness.rules.get(rule_id)
    assert rule.status == "active"
    assert host.harness.rules.trial(rule_id).breached == ()
    assert await host.harness.validate_candidates() == []

    # the prompt now holds it as validated, the mailbox holds the notice of the session that never saw it
    prompt = await host.session("after-6")
    assert f"- **{rule_id}**: {RULE}" in prompt and "### Provisional rules" not in prompt
    assert "1 pending diagnostic notice" in prompt
    assert [found.id for found, _ in host.harness.rules.search("payment breach")] == [rule_id]
    effect = host.harness.rules.effectiveness()[rule_id]
    assert (effect.notices_before, effect.notices_after) == (2, 1)

    # the file on disk says the same, and the journal tells the story in order
    host.harness.close()
    assert f"- **{rule_id}**: {RULE}" in (host.root / "harness_rules.md").read_text(encoding="utf-8")
    events = [json.loads(line)["type"] for line in (host.root / "journal.jsonl").read_text().splitlines()]
    told = [event for event in events if event in ("notice", "rule_add", "ack", "rule_promote")]
    assert told == ["notice", "notice", "rule_add", "ack", "ack", "notice", "rule_promote"]

    # retiring is final, and the next prompt is without it
    host.harness.rules.retire(rule_id, reason="superseded by a broader rule")
    assert RULE not in await host.session("after-7")
