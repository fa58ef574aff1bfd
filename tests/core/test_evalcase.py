"""Which cases speak about which rule, and which give way."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.evalcase import ON_DISK, EvalCase, select, target_metric, to_evict
from ruleproof.core.rule import Rule


def case(
    number: int, kind: str = "failure", *signature: str, replayable: bool = True, at: int | None = None
) -> EvalCase:
    made = EvalCase(f"c-{number:010x}", f"2026-01-{(at or number):02d}T00:00:00+00:00", f"s{number}")
    return replace(made, kind=kind, signature=signature, replay_input=ON_DISK if replayable else None)


def rule(metric: str | None = None, *tags: str) -> Rule:
    return Rule("r-0000000001", "", "Look.", metric=metric, tags=tags)


def chosen(rule: Rule, *cases: EvalCase) -> tuple[list[str], list[str]]:
    return tuple([one.session_id for one in found] for found in select(rule, cases))  # type: ignore[return-value]


def test_the_three_newest_matching_failures_and_the_two_newest_wins_are_chosen() -> None:
    cases = [case(n, "failure", "breach:m") for n in range(1, 6)] + [case(n, "win") for n in range(6, 10)]
    assert chosen(rule("m"), *cases) == (["s5", "s4", "s3"], ["s9", "s8"])


def test_of_one_moment_the_larger_id_is_the_newer() -> None:
    cases = [case(n, "failure", "breach:m", at=1) for n in range(1, 6)]
    assert chosen(rule("m"), *reversed(cases))[0] == ["s5", "s4", "s3"]


def test_a_case_without_an_input_is_never_chosen() -> None:
    cases = [case(1, "failure", "breach:m", replayable=False), case(2, "win", replayable=False)]
    assert chosen(rule("m"), *cases) == ([], [])


@pytest.mark.parametrize(
    ("of", "signature", "matches"),
    [
        (rule("m"), "breach:m", True),
        (rule("m"), "trend:m", False),
        (rule(None, "trend:m"), "trend:m", True),
        (rule(None, "m", "breach"), "breach:m", False),
        (rule(None), "breach:m", False),
        (rule("m"), "breach:mm", False),
        (rule(None, "breach:reply_tone"), "breach:Reply_Tone", True),
        (rule(None, "breach:" + "x" * 41), "breach:" + "X" * 60, True),
        (rule("M"), "breach:m", False),
        (rule("a:b"), "breach:a:b", True),
    ],
    ids=str,
)
def test_a_rule_is_about_its_tags_with_a_colon_and_about_breaches_of_its_metric(
    of: Rule, signature: str, matches: bool
) -> None:
    assert chosen(of, case(1, "failure", "other:x", signature))[0] == (["s1"] if matches else [])


def test_the_target_is_the_rules_metric_else_that_of_the_newest_failures_first_signature() -> None:
    failure = case(1, "failure", "trend:coherence", "breach:m")
    assert target_metric(rule("m"), [failure]) == "m"
    assert target_metric(rule(None, "trend:coherence"), [failure]) == "coherence"
    assert target_metric(rule(None), []) is None
    assert target_metric(rule(None), [case(1, "failure", "foreign")]) is None


kinds = st.lists(st.sampled_from(["failure", "win"]), max_size=12)


@given(kinds, st.integers(0, 12))
def test_eviction_takes_the_oldest_failures_never_a_win_and_leaves_room_for_one_more(
    kinds: list[str], cap: int
) -> None:
    cases = [case(n, kind) for n, kind in enumerate(kinds, 1)]
    gone = to_evict(cases, cap)
    if gone is None:
        assert cap and sum(kind == "failure" for kind in kinds) < len(kinds) + 1 - cap
        return
    assert all(one.kind == "failure" for one in gone)
    left = [one for one in cases if one not in gone]
    assert cap == 0 or len(left) < cap
    assert cap == 0 or len(cases) < cap or len(left) == cap - 1
    failures = [one for one in cases if one.kind == "failure"]
    assert failures[: len(gone)] == list(gone)
