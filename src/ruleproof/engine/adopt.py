"""Adopt: put a shared rule on trial in this workspace, as a candidate like any other. A person's act.

The text reaches contexts, so whoever adopts shows what whoever approves shows: that a person is there and saw this very
file. A rule in force here stands in every notice, so that no session could be without it; adopting it is refused.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import TYPE_CHECKING

from ruleproof.core.approval import Decision, require_seen
from ruleproof.core.problems import Problem
from ruleproof.core.proposal import Proposal
from ruleproof.core.rule import Rule
from ruleproof.core.text import normalise
from ruleproof.engine.add_rule import Added, Draft
from ruleproof.engine.desk import Desk
from ruleproof.errors import Refused

if TYPE_CHECKING:
    from ruleproof.engine.rules import Rules


def adopt(
    desk: Desk,
    rules: Rules,
    rule_id: str,
    decision: Decision,
    *,
    metric: str | None = None,
    tags: Sequence[str] = (),
    again: bool = False,
) -> Added:
    """The candidate that stands now; its tags are `tags` and then the topics of the shared rule, none: global.

    The shared rule's evidence is a claim and counts for nothing. Raises what approving and adding raise.
    """
    desk.require_here()
    rule = desk.one(rule_id)
    require_seen(rule, decision, "adopt", desk.disputed())
    _require_out_of_force(rule, desk.in_force())
    if not rules.validating:
        raise Refused(
            "rule_validation is off, so that no rule is on trial here.", hint="Set it to true, then adopt the rule."
        )
    rationale = f"Adopted from the pool: {rule.id}."
    origin = f"{rule.id}@{rule.digest}"
    return rules.draft(Draft(rule.text, rationale, None, metric, (*tags, *rule.topics), "person", again, origin))


def on_trial(rules: Iterable[Rule], in_force: Collection[str]) -> tuple[Problem, ...]:
    """The candidates whose shared rule was approved meanwhile: each session sees them, their trial shows nothing."""
    found = []
    for rule in rules:
        shared = rule.pool.partition("@")[0]
        if shared in in_force:
            message = (
                f"on trial here, and {shared} was approved meanwhile: it stands in every notice, for every session"
            )
            hint = f"`ruleproof rules retire {rule.id}` ends the trial; `ruleproof revoke {shared}` goes on with it."
            found.append(Problem("approved-on-trial", message, rule.id, "warning", hint))
    return tuple(found)


def _require_out_of_force(rule: Proposal, in_force: Iterable[Proposal]) -> None:
    same = [held.id for held in in_force if held.id == rule.id or normalise(held.text) == normalise(rule.text)]
    if same:
        raise Refused(
            f"{same[0]} is in force here and stands in every notice, so no session could be without this text.",
            hint=f"`ruleproof revoke {same[0]}` first; approve it again when its trial has shown that it helps.",
        )
