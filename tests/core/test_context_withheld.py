"""Which withheld rules a context would have held: an answer that does not depend on the coin of the rule itself."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.context import Banner, Context, InForce, Settings, compose
from ruleproof.core.recheck import Comparison
from ruleproof.core.render import Progress, Renderer
from ruleproof.core.retrieval import Ranked
from ruleproof.core.rule import Rule
from ruleproof.core.trial import TrialState

WATCH = Comparison("t", "00ff", "d", 0.5)


def made(count: int, tagged: int) -> list[Rule]:
    return [
        Rule(f"r-{n:010x}", "t", f"Rule number {n}.", tags=("x",) if n < tagged else (), status="active",
             trial=TrialState(watch=WATCH))
        for n in range(count)
    ]  # fmt: skip


def context(rules: list[Rule], withheld: frozenset[str], query: bool, topk: int, budget: int) -> Context:
    order = sorted((rule for rule in rules if rule.tags), key=lambda rule: rule.id[::-1])
    return compose(
        InForce(
            tuple(rule for rule in rules if not rule.tags),
            tuple(rule for rule in rules if rule.tags),
            checked=tuple(rules),
        ),
        ("x",) if query else (),
        rank=lambda _, limit: [Ranked(rule, 1.0) for rule in order[:limit]],
        renderer=Renderer(lambda _: Progress(0, 1)),
        settings=Settings(topk=topk, max_tokens=budget),
        banner=Banner(),
        count=len,
        withheld=withheld,
    )


@given(st.integers(1, 8), st.integers(0, 8), st.sets(st.integers(0, 7)), st.booleans(), st.integers(0, 5), st.data())
def test_a_rule_is_withheld_exactly_where_it_would_be_shown_if_its_own_coin_fell_otherwise(
    count: int, tagged: int, out: set[int], query: bool, topk: int, data: st.DataObject
) -> None:
    rules = made(count, tagged)
    whole = len(context(rules, frozenset(), False, topk, 0).text)
    budget = data.draw(st.sampled_from([0, whole, whole - 1]))
    withheld = frozenset(rule.id for n, rule in enumerate(rules) if n in out)
    for rule in rules:
        shown = context(rules, withheld - {rule.id}, query, topk, budget)
        kept_out = context(rules, withheld | {rule.id}, query, topk, budget)
        assert rule.id not in kept_out.rules and rule.rule not in kept_out.text
        assert (rule.id in shown.rules) == (rule.id in kept_out.withheld)
        assert not set(kept_out.rules) & set(kept_out.withheld)


def test_the_place_of_a_withheld_rule_goes_to_the_next_and_nothing_says_that_it_is_missing() -> None:
    rules = made(6, 6)
    best = context(rules, frozenset(), True, 2, 0).rules
    without = context(rules, frozenset({best[0]}), True, 2, 0)
    assert len(without.rules) == 2 and without.withheld == (best[0],) and best[1] in without.rules
    assert "3 active rules are not shown here" in without.text


def test_without_withholding_the_groups_of_active_rules_are_the_very_same() -> None:
    rules = InForce(tuple(made(2, 0)), tuple(made(2, 2)))
    left = rules.without(frozenset({"r-none"}))
    assert left.globals is rules.globals and left.tagged is rules.tagged
