"""What an agent can do about pool rules: propose, and find what a person approved. There is no way to approve."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import ruleproof.governance as governance
from ruleproof.config import HarnessConfig
from ruleproof.core.approval import Decision
from ruleproof.core.context import Context
from ruleproof.engine.replay import REPLAYING
from ruleproof.errors import Refused
from ruleproof.harness import Harness
from ruleproof.toolset.catalog import TOOLS

SECRET_TITLE = "Zebra crossing protocol for the vault."
TEXT = "Check the archive before starting a restore."


@dataclass
class Host:
    """A program with an agent, and the person at its side."""

    harness: Harness
    base: Path

    def call(self, name: str, **args: Any) -> dict[str, Any]:
        return self.harness.toolset.call_sync(name, args)

    def approve(self, rule: str) -> None:
        """A person at a terminal."""
        seen = self.harness.governance.show(rule).row.rule.digest
        self.harness.governance.approve(rule, Decision("terminal", seen, seen[:8]))

    def files(self) -> dict[str, bytes]:
        return {str(path): path.read_bytes() for path in self.base.rglob("*") if path.is_file()}


@pytest.fixture
def host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Host:
    base = tmp_path / "base"
    monkeypatch.setattr(governance, "default_base", lambda: base)
    monkeypatch.setattr(governance, "require_lasting", lambda base: None)
    config = HarnessConfig(harness_root=tmp_path / "w" / ".ruleproof", project_key="p")
    return Host(Harness.create(config, state_dir=tmp_path / "state"), base)


def test_opening_a_harness_and_searching_makes_nothing(host: Host) -> None:
    assert host.call("chapters_search", query="archive") == {"ok": True, "rules": [], "total": 0, "cut": None}
    assert host.harness.governance.approved() == ()
    assert not host.base.exists()


def test_an_agent_proposes_and_no_byte_of_it_comes_back_before_a_person_approves(host: Host) -> None:
    before = host.harness.continuation_notice("T")
    made = host.call("chapters_rule_propose", category="security", text=SECRET_TITLE, topics=["zebra"])
    assert made["ok"] and made["created"]
    found = host.call("chapters_search", query="zebra vault security protocol")
    assert (found["rules"], found["total"]) == ([], 0)
    assert host.harness.continuation_notice("T") == before
    everything = [host.call(name) for name in ("harness_reflect", "harness_rules_list", "harness_journal")]
    assert "ebra" not in json.dumps([found, *everything])
    host.approve(made["id"])
    (hit,) = host.call("chapters_search", query="zebra")["rules"]
    assert (hit["id"], hit["text"]) == (made["id"], SECRET_TITLE)
    assert SECRET_TITLE in host.harness.continuation_notice("T")


def test_what_an_agent_proposed_says_so_to_the_person(host: Host) -> None:
    made = host.call("chapters_rule_propose", category="security", text=TEXT)
    (row,) = host.harness.governance.review()
    assert (row.id, row.rule.origin, "an agent" in row.provenance) == (made["id"], "agent", True)


def test_inside_a_replay_nothing_is_proposed(host: Host) -> None:
    token = REPLAYING.set(Context(""))
    try:
        answer = host.call("chapters_rule_propose", category="security", text=TEXT)
    finally:
        REPLAYING.reset(token)
    assert "This is a replay" in answer["error"]
    assert not host.base.exists()


def test_the_same_text_twice_is_one_file(host: Host) -> None:
    first = host.call("chapters_rule_propose", category="security", text=TEXT)
    again = host.call("chapters_rule_propose", category="security", text=TEXT)
    assert (again["id"], again["created"]) == (first["id"], False)


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"category": "security", "text": "x"}, "characters"),
        ({"category": "two words", "text": TEXT}, "category"),
        ({"category": "security", "text": "word " * 2_000}, "coreRulesBudgetTokens"),
        ({"category": "security", "text": TEXT + "\u202e"}, "Refused"),
        ({"category": "security", "text": TEXT, "amends": "hA/001"}, "hA/001"),
        ({"category": "security", "text": TEXT, "status": "core"}, "no argument 'status'"),
        ({"category": "security", "text": TEXT, "approve": True}, "no argument 'approve'"),
    ],
)
def test_what_may_not_be_proposed_is_refused_and_nothing_is_written(host: Host, given: Any, said: str) -> None:
    answer = host.call("chapters_rule_propose", **given)
    assert answer["ok"] is False and said in answer["error"]
    assert not list(host.base.rglob("*.md"))


def test_no_tool_leads_to_an_approval_whatever_it_is_given(host: Host) -> None:
    """Every tool, called with every text that could mean a decision, leaves the ledger as it is."""
    made = host.call("chapters_rule_propose", category="security", text=TEXT)
    before = host.files()
    words = ("approve", "revoke", f"/chapters-rule approve {made['id']}", "core", made["id"])
    for tool in TOOLS:
        for word in words:
            if tool.name != "chapters_rule_propose":
                host.call(tool.name, **dict.fromkeys(tool.arguments.model_fields, word))
        assert host.call(f"{tool.name}_approve")["ok"] is False
    assert host.harness.governance.approved() == ()
    assert {name: data for name, data in host.files().items() if name in before} == before
    assert not (host.base / "approvals").exists()


@pytest.mark.parametrize("verb", ["approve", "revoke"])
def test_the_slash_command_of_a_host_sends_whoever_decides_to_a_terminal(host: Host, verb: str) -> None:
    made = host.call("chapters_rule_propose", category="security", text=TEXT)
    with pytest.raises(Refused, match="needs a person at a terminal") as refused:
        host.harness.command(f"/chapters-rule {verb} {made['id']}")
    assert f"`ruleproof {verb} {made['id']}`" in refused.value.hint
    assert not (host.base / "approvals").exists()


def test_the_slash_command_of_a_host_proposes_and_lists_for_the_person(host: Host) -> None:
    said = host.harness.command(f'/chapters-rule add security "{TEXT}"')
    assert "is proposed" in said and "binds nothing" in said
    listed = host.harness.command("/chapters-rule list --proposed")
    assert "[proposed] (security) Check the archive before starting a restore" in listed
    assert "'obey' is no verb" in host.harness.command("/chapters-rule obey")
    with pytest.raises(Refused, match="Usage"):
        host.harness.command("/chapters-rule add")
