"""The lexical scorer and its index: the index must rank as the plain formula does, whatever happened before."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleproof.core.retrieval import Index, query_tokens, score
from ruleproof.core.rule import Rule

WORDS = ["payment", "retry", "order", "breach", "agent_reliability", "flight", "注文", "état"]
TAGS = ["payment", "breach:agent_reliability", "trend:agent_reliability", "flight", "注文"]


def rule(number: int, text: str, tags: tuple[str, ...] = (), status: str = "active", minute: int | None = None) -> Rule:
    when = f"2026-01-01T00:{number if minute is None else minute:02d}:00+00:00"
    return Rule(f"r-{number:010x}", when, text, "why", tags=tags, status=status)  # type: ignore[arg-type]


def test_the_formula_by_hand() -> None:
    one = rule(1, "Verify the payment status", ("payment", "breach:agent_reliability"))
    assert score(query_tokens("payment breach"), one) == 2.0  # both among the tags
    assert score(query_tokens("payment status"), one) == 1.5  # one tag, one word
    assert score(query_tokens("status verify nothing"), one) == pytest.approx(2 / 3)
    assert score(query_tokens("payment payment"), one) == 2.0  # a set: repeats count once
    assert score((), one) == 0.0


def test_a_signature_falls_into_its_condition_and_its_whole_metric() -> None:
    assert query_tokens("breach:agent_reliability") == ("breach", "agent_reliability")


def test_ties_go_to_the_newer_rule_then_to_the_smaller_id() -> None:
    index = Index()
    index.load([rule(1, "payment", minute=5), rule(2, "payment", minute=5), rule(3, "payment", minute=1)])
    ranked = index.rank(query_tokens("payment"), 10, statuses=("active",))
    assert [found.rule.id[-1] for found in ranked] == ["1", "2", "3"]


def test_without_an_overlap_age_decides() -> None:
    index = Index()
    index.load([rule(1, "payment"), rule(2, "order"), rule(3, "retry")])
    ranked = index.rank(query_tokens("nothing"), 2, statuses=("active",))
    assert [(found.rule.id[-1], found.score) for found in ranked] == [("3", 0.0), ("2", 0.0)]


def test_each_ranked_rule_says_why() -> None:
    index = Index()
    index.load([rule(1, "Verify the payment order", ("payment",))])
    found = index.rank(query_tokens("payment order"), 1, statuses=("active",))[0]
    assert (found.tags, found.words) == (("payment",), ("order",))
    assert "payment" in found.why and "order" in found.why
    nothing = index.rank(query_tokens("zebra"), 1, statuses=("active",))[0]
    assert "age alone" in nothing.why


rules = st.builds(
    rule,
    st.integers(0, 40),
    st.lists(st.sampled_from(WORDS), min_size=1, max_size=4).map(" ".join),
    st.lists(st.sampled_from(TAGS), max_size=3).map(tuple),
    st.sampled_from(["active", "candidate", "retired"]),
    st.integers(0, 5),
)
changes = st.tuples(st.integers(0, 40), st.sampled_from(["active", "candidate", "retired"]), st.booleans())


@settings(max_examples=150, deadline=None)
@given(
    st.lists(rules, max_size=25),
    st.lists(rules, max_size=90),
    st.lists(changes, max_size=20),
    st.lists(st.sampled_from([*WORDS, "zebra"]), max_size=4, unique=True),
    st.integers(0, 12),
    st.booleans(),
    st.booleans(),
)
def test_the_index_ranks_as_the_formula_does(
    first: list[Rule],
    later: list[Rule],
    moves: list[tuple[int, str, bool]],
    query: list[str],
    limit: int,
    tagged: bool,
    in_force: bool,
) -> None:
    """Loaded, added out of order, moved and paused: same rules, same order, same scores as sorting everything."""
    index, known = Index(), {}
    for item in first:
        known.setdefault(item.id, item)
    index.load(known.values())
    index.rank(query, 3, statuses=("active",))  # warms the bit sets, which later additions have to extend
    for item in later:
        if item.id not in known:
            known[item.id] = item
            index.change(None, item)
    for number, status, paused in moves:
        before = known.get(f"r-{number:010x}")
        if before is not None:
            known[before.id] = replace(before, status=status, paused=paused)
            index.change(before, known[before.id])
    tokens = query_tokens(*query)
    wanted = [
        item
        for item in known.values()
        if item.status in ("active", "candidate") and (item.tags or not tagged) and (item.in_force or not in_force)
    ]
    wanted.sort(key=lambda item: item.id)
    wanted.sort(key=lambda item: item.created_at, reverse=True)
    wanted.sort(key=lambda item: score(tokens, item), reverse=True)
    got = index.rank(tokens, limit, statuses=("active", "candidate"), tagged_only=tagged, in_force=in_force)
    assert [(found.rule.id, found.score) for found in got] == [
        (item.id, score(tokens, item)) for item in wanted[:limit]
    ]
