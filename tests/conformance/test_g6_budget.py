"""G6: over the budget the composition refuses with figures for every rule, before anything is written; never a cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.desk import PROJECT, Desk
from tests.conformance.person import Person

from ruleproof.core.corerules import Block, OverBudget
from ruleproof.core.review import plan
from ruleproof.core.tokencount import estimate_tokens
from ruleproof.errors import Refused


def test_g6_approving_over_the_budget_is_refused_with_total_cap_figures_and_a_way_out(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    one, two = (desk.propose("security", f"Rule {word}. " + "Check the archive. " * 90) for word in ("one", "two"))
    desk.approve(one.id)
    desk.cap = 600
    made = plan(desk.in_force(), desk.cap, estimate_tokens, add=two)
    assert made.before <= desk.cap < made.after and str(made.after) in made.says
    with pytest.raises(Refused) as refused:
        desk.approve(two.id)
    said = str(refused.value)
    assert all(part in said for part in (str(made.after), "600", f"{one.id}=", f"{two.id}=", "never clipped", "Revoke"))
    assert len(desk.ledger.read(PROJECT).facts) == 1 and "Rule one." in desk.notice()


def test_g6_a_budget_that_shrank_refuses_the_notice_whole_and_a_revocation_mends_it(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    rules = [
        desk.propose("security", f"Rule {word}. " + "Check the archive. " * 30) for word in ("one", "two", "three")
    ]
    for rule in rules:
        desk.approve(rule.id)
    whole = desk.block()
    assert isinstance(whole, Block)
    desk.cap = whole.tokens - 1
    over = desk.block()
    assert isinstance(over, OverBudget) and len(over.per_rule) == 3
    with pytest.raises(Refused, match="never clipped"):
        desk.notice()
    desk.revoke(over.cheapest[0][0])
    assert isinstance(desk.block(), Block)
    desk.cap = 1
    assert isinstance(desk.block(), OverBudget)


def test_g6_equal_to_the_budget_passes(tmp_path: Path) -> None:
    desk = Desk(tmp_path / "a", tmp_path / "pool")
    desk.approve(desk.propose("security", "Check the archive first.").id)
    made = desk.block()
    assert isinstance(made, Block)
    desk.cap = made.tokens
    assert desk.block() == Block(made.text, made.tokens, made.tokens, made.per_rule)


def test_g6_a_rule_has_one_figure_everywhere_and_the_figures_of_a_refusal_add_up(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    first = person.json("propose", "security", "Check the archive before starting a restore.")
    second = person.json("propose", "security", "Before tagging:\n- run the replay\n- read the log")
    rows = person.rows()
    assert {row["id"]: row["tokens"] for row in (first, second)} == {rule: row["tokens"] for rule, row in rows.items()}
    assert person.approve(first["id"]).code == person.approve(second["id"]).code == 0
    heading = person.json("notice")["tokens"] - first["tokens"] - second["tokens"]
    monkeypatch.setenv("HARNESS_CORE_RULES_BUDGET_TOKENS", str(heading + first["tokens"]))
    said = person("notice").err
    figures = f"heading={heading}, {first['id']}={first['tokens']}, {second['id']}={second['tokens']}."
    assert figures in said and f"hold {heading + first['tokens'] + second['tokens']} tokens" in said


def test_g6_what_can_be_proposed_fits_alone_and_what_cannot_fit_alone_is_refused(
    person: Person, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = "Check the archive before a restore. " * 40
    rule = person.propose(text)
    assert person.approve(rule).code == 0
    whole = person.json("notice")["tokens"]
    for cap, code in ((whole, 0), (whole - 1, 1)):
        monkeypatch.setenv("HARNESS_CORE_RULES_BUDGET_TOKENS", str(cap))
        other = person("propose", "security", text.replace("archive", "servers"), "--json")
        assert other.code == code, other
        if code == 0:
            assert person.revoke(rule).code == 0
            assert person.approve(other.json["id"]).code == 0, "exactly at the cap"
    assert "for all approved rules together" in other.json["error"]["message"]
