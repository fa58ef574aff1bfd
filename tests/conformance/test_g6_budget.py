"""G6: over the budget the composition refuses with figures for every rule, before anything is written; never a cut."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.conformance.desk import PROJECT, Desk

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
