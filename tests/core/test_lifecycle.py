"""The lifecycle table: every cell, once for deciding and once for folding."""

from __future__ import annotations

import itertools

import pytest

from ruleproof.core.lifecycle import TRANSITIONS, decide, may_follow
from ruleproof.core.rule import Rule, Status
from ruleproof.core.rulebook import Rulebook
from ruleproof.errors import NotFound, Refused

STATUSES: tuple[Status, ...] = ("candidate", "active", "retired", "unknown")
LEGAL = {
    ("candidate", "promote"): "active",
    ("candidate", "retire"): "retired",
    ("candidate", "update"): "candidate",
    ("active", "retire"): "retired",
    ("active", "update"): "active",
}
FOLLOWS = {
    ("candidate", "candidate"), ("candidate", "active"), ("candidate", "retired"),
    ("active", "active"), ("active", "retired"),
}  # fmt: skip


def rule(status: Status, **fields: object) -> Rule:
    return Rule("r-0123456789", "2026-01-01T00:00:00+00:00", "Verify before a retry.", status=status, **fields)  # type: ignore[arg-type]


def test_the_table_has_exactly_the_legal_moves() -> None:
    assert TRANSITIONS == LEGAL


@pytest.mark.parametrize(("status", "move"), list(itertools.product(STATUSES, ("promote", "retire", "update"))))
def test_every_cell_is_decided_as_the_table_says(status: Status, move: str) -> None:
    if (status, move) in LEGAL:
        assert decide(rule(status), move, "r-0123456789") == LEGAL[status, move]  # type: ignore[arg-type]
    else:
        with pytest.raises(Refused):
            decide(rule(status), move, "r-0123456789")  # type: ignore[arg-type]


@pytest.mark.parametrize("move", ("promote", "retire", "update"))
def test_a_missing_rule_is_not_found(move: str) -> None:
    with pytest.raises(NotFound, match="r-0123456789"):
        decide(None, move, "r-0123456789")  # type: ignore[arg-type]


@pytest.mark.parametrize(("before", "after"), list(itertools.product(STATUSES, STATUSES)))
def test_the_fold_follows_the_same_table(before: Status, after: Status) -> None:
    assert may_follow(before, after) == ((before, after) in FOLLOWS)
    book = Rulebook()
    book.feed(rule(before))
    book.feed(rule(after, reason="second"))
    standing = book.rules["r-0123456789"]
    if after == "unknown":
        assert standing.status == ("retired" if before == "retired" else "unknown")
        assert not standing.in_force
    else:
        assert (standing.reason == "second") == ((before, after) in FOLLOWS)
        assert standing.status == (after if (before, after) in FOLLOWS else before)


@pytest.mark.parametrize("first", ("candidate", "active", "retired"))
def test_a_file_may_begin_in_any_known_status(first: Status) -> None:
    book = Rulebook()
    book.feed(rule(first))
    assert not book.problems
    assert book.rules["r-0123456789"].status == first
