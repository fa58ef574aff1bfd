"""`/chapters-rule` for hosts that have slash commands: propose and list. It decides nothing, since a line of text shows
no person; the answer is for a person to read, because a list names rules that nobody approved.
"""

from __future__ import annotations

from ruleproof.core.draft import Draft
from ruleproof.core.review import Row
from ruleproof.core.rulecommand import Add, Listing, parse_command
from ruleproof.engine.approve import review
from ruleproof.engine.desk import Desk
from ruleproof.engine.propose import Proposed, propose
from ruleproof.errors import Refused


def run_command(desk: Desk, line: str) -> str:
    """What `line` asked, as lines for a person. Raises Refused, with the usage, for what is not understood."""
    asked = parse_command(line)
    if isinstance(asked, Add):
        return said(propose(desk, Draft(asked.category, asked.text)))
    if isinstance(asked, Listing):
        rows = review(desk, asked)
        return "\n".join(map(listed, rows)) if rows else "No pool rule to show."
    rule = desk.rule_id(asked.rule)
    raise Refused(
        f"{asked.verb} needs a person at a terminal; nothing was changed.",
        hint=f"Run `ruleproof {asked.verb} {rule}` in a terminal of your own.",
    )


def said(made: Proposed) -> str:
    """What came of a proposal, in words."""
    rule, checked = made.rule, made.checked
    if not made.created:
        return f"{rule.id} says exactly this; nothing was written."
    parts = [f"{rule.id} is proposed ({checked.tokens} of {checked.cap} tokens)."]
    parts.append(f"It binds nothing before a person approves it: `ruleproof approve {rule.id}`.")
    if checked.redacted:
        parts.append(f"Redacted before it was written: {', '.join(checked.redacted)}.")
    if checked.near:
        near = ", ".join(f"{rule} ({share} % of its words)" for rule, share in checked.near)
        parts.append(f"Nearly the same: {near}.")
    parts += [f"It {sign.message}." for sign in checked.signs]
    return " ".join(parts)


def listed(row: Row) -> str:
    """One rule in one line."""
    return (
        f"{row.id} [{row.standing}] ({row.category}) {row.title}"
        f" | {row.digest}, {row.tokens} tokens, evidence {row.evidence} | {row.provenance}"
    )
