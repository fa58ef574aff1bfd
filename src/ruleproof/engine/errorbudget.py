"""The places of trials in the one error budget: numbers are given when a trial starts and never given back.

What they are asked is kept beside each rulebook and follows its changes, so that an add or a look at a trial costs
nothing for the rules that are there already.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections.abc import Mapping
from dataclasses import dataclass, field
from weakref import WeakKeyDictionary

from ruleproof.core.evidence import budget
from ruleproof.core.rule import Rule
from ruleproof.core.rulebook import Rulebook

PAID = ("promoted:anytime:", "promoted:paired replay:")
"""How the verdict of a rule begins that was promoted out of the budget."""


def next_number(book: Rulebook) -> int:
    """The number of a trial that starts now, from 1: every rule ever put on trial counts, forgotten ones too."""
    tried = _tried(book)
    return 1 + max(len(tried.born) + _gone(book), tried.highest)


def place_of(book: Rulebook, rule: Rule) -> int:
    """The number of a trial that recorded none: its place among all rules ever on trial. Later ones never move it."""
    return 1 + bisect_left(_tried(book).born, (rule.created_at, rule.id)) + _gone(book)


def level_of(book: Rulebook, rule: Rule, alpha: float) -> float:
    """The level at which the rule may be promoted now, in (0, alpha]. Its trial has a number.

    Only promotions that paid for themselves from this budget raise it: what another gate let through is no discovery.
    """
    promoted = _tried(book).paid - _paid(book.get(rule.id))
    number = rule.trial.number if rule.trial is not None and rule.trial.number else place_of(book, rule)
    return budget.level(number, promoted, alpha)


@dataclass(frozen=True, slots=True)
class Beside:
    """What evidence of another kind says of a rule: the e-value that it lends, and itself as JSON values."""

    e_value: float = 1.0
    evidence: Mapping[str, object] = field(default_factory=dict)


def joint_level(level: float, other: float, alpha: float) -> float:
    """The level for one e-value of a rule where `other` is the e-value that evidence of another kind lends. In (0,
    alpha].

    e >= 1 / (level other) is e other >= 1 / level: each is a fair bet given all that the other has seen, so their
    product is one e-value and the rule pays once (ADR 6). What is lent pays for the many rules that were tried, and for
    no more: what decides reaches 1 / alpha by itself.
    """
    return min(max(level * other, 1e-300), alpha)


def lent(kind: str, beside: Beside) -> tuple[str, ...]:
    """What a verdict says of the other kind of evidence; nothing where there is none."""
    if not beside.evidence:
        return ()
    if beside.e_value <= 1.0:
        return (f"Its {kind} count beside it, and lend nothing (e-value {beside.e_value:.3g}).",)
    return (f"Its {kind} lend an e-value of {beside.e_value:.4g} to it.",)


class _Tried:
    """The rules ever put on trial: when each was born, in order, their highest number, how many were paid for."""

    def __init__(self, book: Rulebook) -> None:
        self.born: list[tuple[str, str]] = []
        self.highest = self.paid = 0
        for rule in book.all():
            self.change(None, rule)
        book.watch(self.change)

    def change(self, before: Rule | None, rule: Rule) -> None:
        """Follow one change of the rulebook."""
        if before is not None and _was_tried(before):
            del self.born[bisect_left(self.born, (before.created_at, before.id))]
        if rule.trial is not None and _was_tried(rule):
            insort(self.born, (rule.created_at, rule.id))
            self.highest = max(self.highest, rule.trial.number)
        self.paid += _paid(rule) - _paid(before)


_kept: WeakKeyDictionary[Rulebook, _Tried] = WeakKeyDictionary()


def _tried(book: Rulebook) -> _Tried:
    found = _kept.get(book)
    if found is None:
        found = _kept[book] = _Tried(book)
    return found


def _was_tried(rule: Rule) -> bool:
    """Whether it was ever on trial. A recheck is none: it promotes nothing, and has levels of its own."""
    return rule.trial is not None and rule.trial.was_run


def _paid(rule: Rule | None) -> bool:
    return rule is not None and rule.trial is not None and rule.trial.verdict.startswith(PAID)


def _gone(book: Rulebook) -> int:
    return sum(name.startswith("r-") and name not in book.rules for name in book.tombstones)
