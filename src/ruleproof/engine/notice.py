"""The continuation notice with the rules in force, and nothing of any other rule. Over budget: refused before anything.

A notice that names fresh approvals is remembered only after it was composed; where that cannot be written, the next one
names them again.
"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from ruleproof.core.approval import newly_approved
from ruleproof.core.continuation import Chapter, continuation_notice
from ruleproof.core.corerules import Block, OverBudget, compose
from ruleproof.engine.desk import Desk
from ruleproof.errors import RuleproofError


@dataclass(frozen=True, slots=True)
class Notice:
    """The text, the block in it, and the ids in it whose approval is newer than the last notice."""

    text: str
    block: Block | None
    fresh: tuple[str, ...]


def core_rules(desk: Desk) -> Block | None:
    """The CORE RULES block; None where no rule is in force. Raises Refused, with figures, over the budget."""
    made = compose(desk.in_force(), desk.cap, desk.count)
    if isinstance(made, OverBudget):
        raise made.refusal()
    return made


def compose_notice(
    desk: Desk, title: str, *, handoff: str = "", chapters: Sequence[Chapter] = (), ancestry: str = ""
) -> Notice:
    """The notice for a new or compacted session. Raises Refused where the approved rules are over the budget."""
    block = core_rules(desk)
    held = {rule for rule, _ in block.per_rule} if block else set()
    approvals = desk.decisions.read(desk.key).approvals
    fresh = tuple(rule for rule in newly_approved(approvals, desk.decisions.noticed(desk.key)) if rule in held)
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
    if fresh:
        with suppress(RuleproofError, OSError):
            desk.require_writable()
            desk.decisions.mark_noticed(desk.key, [approvals.latest[rule] for rule in sorted(held)])
    return Notice(text, block, fresh)
