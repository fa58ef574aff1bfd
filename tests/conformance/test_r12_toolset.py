"""R12: what a program and an agent can do with rules, through the public facade."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from ruleproof.config import HarnessConfig
from ruleproof.errors import Refused
from ruleproof.harness import Harness

AGENT_FACING = (
    "harness_mailbox_list", "harness_mailbox_read", "harness_mailbox_ack", "harness_trace_inspect", "harness_history",
    "harness_journal", "harness_rule_add", "harness_rule_retire", "harness_rule_status", "harness_rules_search",
    "harness_rules_list", "harness_reflect", "harness_evalset_list", "harness_evalset_attach",
    "chapters_rule_propose", "chapters_search",
)  # fmt: skip


def test_r12_the_agent_facing_operations_have_the_names_of_the_document(tmp_path: Path) -> None:
    harness = Harness.create(HarnessConfig(harness_root=tmp_path / "w"), state_dir=tmp_path / "state")
    assert harness.toolset.names() == AGENT_FACING
    assert [spec.name for spec in harness.toolset.specs()] == list(AGENT_FACING)


def test_r12_the_loop_from_notice_to_rule_runs_through_the_tools_alone(tmp_path: Path) -> None:
    harness = Harness.create(HarnessConfig(harness_root=tmp_path / "w"), state_dir=tmp_path / "state")
    harness.report("s-1", {"agent_reliability": 0.2})

    async def agent() -> None:
        call = harness.toolset.call
        waiting = (await call("harness_mailbox_list"))["pending"]
        assert isinstance(waiting, list) and len(waiting) == 1
        notice_id = waiting[0]["id"]
        assert (await call("harness_mailbox_read", {"notice_id": notice_id}))["ok"] is True
        assert (await call("harness_trace_inspect", {"trace_id": "s-1"}))["ok"] is True
        assert (await call("harness_history", {"metric": "agent_reliability"}))["ok"] is True
        args = {"rule": "Check the payment before retrying.", "rationale": "It paid twice.", "notice_id": notice_id}
        added = await call("harness_rule_add", args)
        assert added["created"] is True
        rule_id = added["rule"]["id"]  # type: ignore[index]
        assert (await call("harness_mailbox_ack", {"notice_id": notice_id, "rule_id": rule_id}))["ok"] is True
        assert (await call("harness_mailbox_list"))["pending"] == []
        found = (await call("harness_rules_search", {"query": "payment breach"}))["rules"]
        listed = (await call("harness_rules_list", {"status": "candidate"}))["rules"]
        assert isinstance(found, list) and isinstance(listed, list)
        assert found[0]["id"] == listed[0]["id"] == rule_id and found[0]["score"] > 0
        assert (await call("harness_reflect"))["ok"] is True
        assert (await call("harness_rule_retire", {"rule_id": rule_id, "reason": "superseded"}))["ok"] is True

    asyncio.run(agent())
    assert harness.rules.candidates() == [] and harness.rules.active() == []
    (rule,) = harness.rules.all()
    assert rule.status == "retired" and rule.reason == "superseded"


@pytest.mark.parametrize(
    ("query", "more", "said"),
    [
        (None, {}, "The query is NoneType, not text."),
        ("a", {"statuses": ("bogus",)}, "'bogus' is no status"),
        ("a", {"statuses": "active"}, "list of some of candidate, active, retired"),
        ("a", {"limit": "x"}, "The limit is 'x'."),
        ("a", {"limit": -1}, "The limit is -1."),
    ],
)
def test_r12_a_search_that_means_nothing_is_refused_by_name(
    query: Any, more: dict[str, Any], said: str, tmp_path: Path
) -> None:
    harness = Harness.create(HarnessConfig(harness_root=tmp_path / "w"), state_dir=tmp_path / "state")
    harness.rules.add("Verify the payment first.")
    with pytest.raises(Refused) as refused:
        harness.rules.search(query, **more)
    assert said in str(refused.value)


def test_r12_programs_list_search_retire_and_count_effects(tmp_path: Path) -> None:
    harness = Harness.create(HarnessConfig(harness_root=tmp_path / "w"), state_dir=tmp_path / "state")
    rule = harness.rules.add("Verify the payment first.", "It paid twice.", metric="agent_reliability")
    assert [found.id for found in harness.rules.candidates()] == [rule.id]
    ((found, score),) = harness.rules.search("payment breach")
    assert found.id == rule.id and score == 0.5
    harness.report("s-1", {"agent_reliability": 0.2})
    effect = harness.rules.effectiveness()[rule.id]
    assert (effect.notices_before, effect.notices_after) == (0, 1)
    assert harness.rules.retire(rule.id, reason="superseded by a broader rule").status == "retired"
    assert harness.rules.search("payment breach") == []
