"""The one lifecycle table. Deciding, folding, the diagram in the docs and the tests all read it.

    add -> candidate --promote--> active --retire--> retired        (rule_validation off: add -> active)
               \\----------------retire---------------^

Retired is final. A record that claims an illegal move is kept on disk, named as a problem, and changes nothing.
"""

from __future__ import annotations

from typing import Literal

from ruleproof.core.rule import Rule, Status
from ruleproof.errors import NotFound, Refused

Move = Literal["promote", "retire", "update"]
"""`update` keeps the status: pause, resume, accept, a folded trial, a recheck."""

TRANSITIONS: dict[tuple[Status, Move], Status] = {
    ("candidate", "promote"): "active",
    ("candidate", "retire"): "retired",
    ("candidate", "update"): "candidate",
    ("active", "retire"): "retired",
    ("active", "update"): "active",
}

BIRTHS: frozenset[Status] = frozenset({"candidate", "active", "retired"})
"""Statuses in which the first record of a rule may stand (a file of an older system may begin anywhere)."""

_REACHABLE: dict[Status, frozenset[Status]] = {
    before: frozenset(after for (start, _), after in TRANSITIONS.items() if start == before)
    for before in ("candidate", "active", "retired", "unknown")
}


def decide(rule: Rule | None, move: Move, rule_id: str) -> Status:
    """The status after `move`. Raises NotFound for a missing rule, Refused for a move that the table does not have."""
    if rule is None:
        raise NotFound(f"There is no rule {rule_id}.", hint="`ruleproof rules list --all` shows every id.")
    after = TRANSITIONS.get((rule.status, move))
    if after is not None:
        return after
    if rule.status == "retired":
        raise Refused(
            f"Rule {rule.id} is retired, and retired is final.",
            hint="Add the text anew if it deserves another trial.",
        )
    if rule.status == "unknown":
        raise Refused(f"Rule {rule.id} has a status that nobody knows.", hint="`ruleproof doctor` names the line.")
    raise Refused(f"Rule {rule.id} is {rule.status}; it cannot {move}.", hint="Only a candidate can be promoted.")


def may_follow(before: Status | None, after: Status) -> bool:
    """Whether a record with status `after` may follow one with `before` (None: the rule's first record)."""
    if before is None:
        return after in BIRTHS
    return after in _REACHABLE[before]
