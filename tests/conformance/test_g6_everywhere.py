"""G6 on every way out: over the budget the library, the commands, the hook and the export refuse in the same words."""

from __future__ import annotations

import json

import pytest
from tests.conformance.person import TEXT, Person

from ruleproof.errors import Refused
from ruleproof.harness import Harness


def test_g6_over_the_budget_every_way_out_refuses_with_the_same_figures_and_writes_nothing(person: Person) -> None:
    person.ok("init", "--yes")
    one, two = person.propose(), person.propose("Run the replay before tagging.")
    assert person.approve(one).code == person.approve(two).code == 0
    held = person.json("notice")["tokens"]
    settings = person.folder / "ruleproof.toml"
    settings.write_text(f"coreRulesBudgetTokens = {held - 1}\n")
    before = sorted(person.folder.rglob("*"))
    target = person.folder / "notice.md"
    said = set()
    for line in (
        ("notice", "--title", "T"),
        ("notice", "--to", str(target)),
        ("hook", "claude-code"),
        ("export", "agents-md"),
        ("export", "cursor"),
    ):
        done = person(*line, stdin=json.dumps({"session_id": "s-1"}))
        assert (done.code, done.out) == (1, ""), line
        said.add(done.err)
        said.add(f"Error: {person(*line, '--json').json['error']['message']}\n" + done.err.split("\n", 1)[1])
    harness = Harness.create(
        harness_root=person.folder / ".ruleproof", project_key="p", core_rules_budget_tokens=held - 1
    )
    for call in (
        lambda: harness.continuation_notice("T", session_id="s-1"),
        lambda: harness.governance.notice("T"),
    ):
        with pytest.raises(Refused) as refused:
            call()
        said.add(f"Error: {refused.value.message}\n{refused.value.hint}\n")
    (message,) = said
    assert f"hold {held} tokens, coreRulesBudgetTokens is {held - 1}: " in message and "never clipped" in message
    assert f"{one}=" in message and f"{two}=" in message and f"Revoke {two}; or {one}" in message
    assert sorted(person.folder.rglob("*")) == before, "no notice, no record of a session that was shown nothing"
    settings.write_text(f"coreRulesBudgetTokens = {held}\n")
    assert TEXT in person.ok("notice").out, "equal to the budget passes"
