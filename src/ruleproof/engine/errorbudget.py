"""The places of trials in the one error budget: numbers are given when a trial starts and never given back."""

from __future__ import annotations

from ruleproof.core.evidence import budget
from ruleproof.core.rule import Rule
from ruleproof.core.rulebook import Rulebook

PAID = ("promoted:anytime:", "promoted:paired replay:")
"""How the verdict of a rule begins that was promoted out of the budget."""


def next_number(book: Rulebook) -> int:
    """The number of a trial that starts now, from 1: every rule ever put on trial counts, forgotten ones too."""
    tried = [rule.trial.number for rule in book.all() if rule.trial is not None]
    gone = sum(name.startswith("r-") and name not in book.rules for name in book.tombstones)
    return 1 + max(len(tried) + gone, *tried, 0)


def place_of(book: Rulebook, rule: Rule) -> int:
    """The number of a trial that recorded none: its place among all rules ever on trial. Later ones never move it."""
    born = rule.created_at, rule.id
    before = sum(other.trial is not None and (other.created_at, other.id) < born for other in book.all())
    return 1 + before + sum(name.startswith("r-") and name not in book.rules for name in book.tombstones)


def level_of(book: Rulebook, rule: Rule, alpha: float) -> float:
    """The level at which the rule may be promoted now, in (0, alpha]. Its trial has a number.

    Only promotions that paid for themselves from this budget raise it: what another gate let through is no discovery.
    """
    others = (other.trial for other in book.all() if other.trial is not None and other.id != rule.id)
    promoted = sum(trial.verdict.startswith(PAID) for trial in others)
    number = rule.trial.number if rule.trial is not None and rule.trial.number else place_of(book, rule)
    return budget.level(number, promoted, alpha)
