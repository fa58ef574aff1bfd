"""What doctor says of approvals and the budget: every way out of force has a name."""

from __future__ import annotations

from dataclasses import replace

from ruleproof.core.approval import CurationFact, fold
from ruleproof.core.corerules import HEADING
from ruleproof.core.proposal import Place, Proposal
from ruleproof.core.rulecheck import check_rules, superseded


def words(text: str) -> int:
    return len(text.split())


def rule(number: int, **fields: object) -> Proposal:
    place = Place("p-1", "hA", f"{number:03d}-a-b.md", number)
    return replace(Proposal(place, "x", "T", "one two three\n", f"{number}" * 64), **fields)  # type: ignore[arg-type]


def core(number: int, digest: str = "", status: str = "core") -> CurationFact:
    return CurationFact(f"hA/{number:03d}", digest or f"{number}" * 64, status, "t")  # type: ignore[arg-type]


def named(rules: list[Proposal], *facts: CurationFact, cap: int = 1_000, disputed: tuple[str, ...] = ()) -> list[str]:
    return [f"{one.code} {one.where}" for one in check_rules(rules, fold(facts), cap, words, disputed)]


def test_a_sound_project_has_no_complaint() -> None:
    assert named([rule(1), rule(2)], core(1), core(2, status="revoked")) == []


def test_every_way_out_of_force_is_named() -> None:
    facts = (core(1, "x" * 64), core(2), core(3, status="unknown"), core(4))
    assert named([rule(1), rule(3), rule(4)], *facts, disputed=(rule(4).place.path,)) == [
        "changed-since-approval hA/001",
        "orphan-approval hA/002",
        "unknown-status hA/003",
        f"disputed {rule(4).place.path}",
    ]


def test_both_digests_of_a_changed_file_are_shown() -> None:
    (problem,) = check_rules([rule(1)], fold([core(1, "f" * 64)]), 1_000, words)
    assert "f" * 12 in problem.message and "1" * 12 in problem.message


def test_an_amendment_and_its_original_in_force_together_are_named() -> None:
    new = rule(2, amends="hA/001")
    assert superseded(new, fold([core(1)])) == "hA/001"
    assert superseded(new, fold([core(1, status="revoked")])) == superseded(rule(3), fold([core(1)])) == ""
    assert named([rule(1), new], core(1), core(2)) == ["amended-in-force hA/002"]
    assert named([rule(1), new], core(1)) == []


def test_the_budget_is_named_from_four_fifths_on() -> None:
    used = words(HEADING) + 5
    assert named([rule(1)], core(1), cap=2 * used) == []
    assert named([rule(1)], core(1), cap=used) == ["near-budget coreRulesBudgetTokens"]
    assert named([rule(1)], core(1), cap=used - 1) == ["over-budget coreRulesBudgetTokens"]
