"""The continuation notice with the rules in force, and nothing of any other rule. Over budget: refused before anything.

What somebody approved and what is not in force now is told to whoever asked for the notice, beside it and never in it.
A new approval is named in every notice for a week after the first that named it was delivered, so that neither a notice
that nobody read nor one that somebody else asked for hides it; composing remembers nothing.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from contextlib import suppress
from dataclasses import dataclass

from ruleproof.core.approval import newly_approved
from ruleproof.core.continuation import Chapter, continuation_notice
from ruleproof.core.corerules import Block, OverBudget, compose
from ruleproof.core.problems import Problem
from ruleproof.core.proposal import Proposal
from ruleproof.core.rulecheck import check_other_user, out_of_force
from ruleproof.engine.desk import Desk
from ruleproof.errors import RuleproofError


@dataclass(frozen=True, slots=True)
class Notice:
    """The text, the block in it, and the ids in it whose approval is new."""

    text: str
    block: Block | None
    fresh: tuple[str, ...]
    shown: tuple[tuple[str, str], ...] = ()
    """(id, digest) of the rules in the block."""
    absent: tuple[Problem, ...] = ()
    """Why rules that were approved here do not stand in it."""


def core_rules(desk: Desk) -> Block | None:
    """The CORE RULES block; None where no rule is in force. Raises Refused, with figures, over the budget."""
    return _block(desk, desk.in_force())


def _block(desk: Desk, rules: Sequence[Proposal]) -> Block | None:
    made = compose(rules, desk.cap, desk.count)
    if isinstance(made, OverBudget):
        raise made.refusal()
    return made


def compose_notice(
    desk: Desk, title: str, *, handoff: str = "", chapters: Sequence[Chapter] = (), ancestry: str = ""
) -> Notice:
    """The notice for a new or compacted session. Raises Refused where the approved rules are over the budget."""
    rules = desk.in_force()
    block = _block(desk, rules)
    held = {rule.id: rule.digest for rule in rules}
    approvals = desk.decisions.read(desk.key).approvals
    fresh = tuple(
        rule for rule in newly_approved(approvals, desk.decisions.noticed(desk.key), desk.now()) if rule in held
    )
    text = continuation_notice(
        title,
        project=desk.name,
        project_key=desk.key,
        block=block.text if block else None,
        fresh=fresh,
        handoff=handoff,
        chapters=chapters,
        ancestry=ancestry,
    )
    return Notice(text, block, fresh, tuple(held.items()), _absent(desk, held))


def delivered(desk: Desk, notice: Notice) -> None:
    """Somebody was given the notice: remember since when its new approvals were named. Never raises.

    Where that cannot be written, the next notices go on naming them.
    """
    with suppress(RuleproofError, OSError):
        approvals, known = desk.decisions.read(desk.key).approvals, desk.decisions.noticed(desk.key)
        stood = [
            fact for rule, digest in notice.shown if (fact := approvals.latest.get(rule)) and fact.digest == digest
        ]
        if any(fact not in known for fact in stood):
            desk.require_writable()
            now = desk.at()
            desk.decisions.mark_noticed(desk.key, {fact: known.get(fact, now) for fact in stood})


def _absent(desk: Desk, held: Collection[str]) -> tuple[Problem, ...]:
    """Why the block lacks what was approved here; files are read again only where it lacks something."""
    approvals = desk.decisions.read(desk.key).approvals
    missing = [rule for rule, fact in approvals.latest.items() if fact.status != "revoked" and rule not in held]
    found = out_of_force(desk.read(missing), approvals.of(missing), desk.disputed()) if missing else ()
    return (*found, *check_other_user(desk.decisions.overruled(desk.key), approvals))
