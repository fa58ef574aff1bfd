"""What the error budget keeps beside a rulebook says what a walk over all rules would say, after every change."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleproof.core.evidence import budget
from ruleproof.core.rule import Rule
from ruleproof.core.rulebook import Rulebook, Tombstone
from ruleproof.core.trial import TrialState
from ruleproof.engine.errorbudget import PAID, joint_level, level_of, next_number, place_of

VERDICTS = [
    "",
    "promoted:anytime: no doubt",
    "promoted:paired replay: better",
    "promoted:0 of 5",
    "retired:anytime: worse",
]
STATUSES = ["candidate", "active", "retired", "unknown"]

records = st.builds(
    lambda key, minute, status, trial: Rule(
        f"r-{key:010x}", f"2026-01-01T00:{minute:02d}:00+00:00", "Ask first.", status=status, trial=trial
    ),
    st.integers(0, 9),
    st.integers(0, 3),
    st.sampled_from(STATUSES),
    st.none()
    | st.builds(
        lambda number, verdict: TrialState(number=number, verdict=verdict),
        st.integers(0, 12),
        st.sampled_from(VERDICTS),
    ),
)
forgotten = st.integers(0, 12).map(lambda key: Tombstone(f"r-{key:010x}", "d", "asked", "2026-01-01"))


@settings(max_examples=150, deadline=None)
@given(st.lists(records | forgotten, max_size=25), st.integers(0, 25))
def test_after_every_change_the_kept_figures_are_those_of_a_walk(
    stream: list[Rule | Tombstone], asked_from: int
) -> None:
    book, highest = Rulebook(), 0
    for turn, record in enumerate(stream):
        book.feed(record)
        if turn < asked_from:
            continue
        numbers = [rule.trial.number for rule in book.all() if rule.trial is not None]
        highest = max([highest, *numbers])
        gone = sum(name not in book.rules for name in book.tombstones)
        assert next_number(book) == 1 + max(len(numbers) + gone, highest)
        for rule in book.all():
            tried = [other for other in book.all() if other.trial is not None]
            earlier = [other for other in tried if (other.created_at, other.id) < (rule.created_at, rule.id)]
            assert place_of(book, rule) == 1 + len(earlier) + gone
            paid = sum(other.trial.verdict.startswith(PAID) for other in tried if other.trial and other.id != rule.id)
            number = rule.trial.number if rule.trial and rule.trial.number else place_of(book, rule)
            assert level_of(book, rule, 0.05) == pytest.approx(budget.level(number, paid, 0.05))


def test_a_number_that_was_given_is_not_given_again() -> None:
    book = Rulebook()
    rule = Rule("r-0000000001", "2026-01-01", "Ask first.", status="candidate", trial=TrialState(number=7))
    book.feed(rule)
    assert next_number(book) == 8
    book.feed(replace(rule, status="retired", trial=None))
    assert next_number(book) == 8


@pytest.mark.parametrize(
    ("level", "other", "joint"),
    [(0.0045, 1.0, 0.0045), (0.0045, 4.0, 0.018), (0.0045, 0.2, 0.0009), (0.0045, 1e9, 0.05), (0.0045, 0.0, 1e-300)],
)
def test_evidence_that_lost_lends_a_debt_and_what_is_lent_ends_at_alpha(level, other, joint):
    assert joint_level(level, other, 0.05) == pytest.approx(joint)
