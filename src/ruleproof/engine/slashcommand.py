"""`/chapters-rule` for hosts that have slash commands: propose and list. It decides nothing, since a line of text shows
no person. The answer is for a person to read, because a list names rules that nobody approved; where it may get into a
prompt it holds no byte of their files.
"""

from __future__ import annotations

from ruleproof.core.draft import Draft
from ruleproof.core.review import Row
from ruleproof.core.rulecommand import Add, Help, Listing, parse_command
from ruleproof.engine.approve import review
from ruleproof.engine.desk import Desk
from ruleproof.engine.propose import Proposed, propose
from ruleproof.errors import Refused

MAX_ID = 48
"""A writer chooses the first part of an id: a longer one could be a sentence."""


def run_command(desk: Desk, line: str, *, texts: bool = True) -> str:
    """What `line` asked, as lines for a person. `texts`: whether the lines may hold what rule files say.

    Raises Refused, with the usage, for what is not understood.
    """
    asked = parse_command(line)
    if isinstance(asked, Help):
        return asked.says
    if isinstance(asked, Add):
        amends = desk.rule_id(asked.amends) if asked.amends else ""
        return said(propose(desk, Draft(asked.category, asked.text, amends=amends)))
    if isinstance(asked, Listing):
        rows = review(desk, asked)
        lines = [listed(row) if texts else numbered(row) for row in rows]
        more = () if texts else ("`ruleproof review` in a terminal shows the texts.",)
        return "\n".join([*lines, *more]) if rows else "No pool rule to show."
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
    parts = [f"{rule.id} is proposed; in the notice it costs {checked.tokens} of {checked.cap} tokens."]
    parts.append(f"It binds nothing before a person approves it: `ruleproof approve {rule.id}`.")
    if checked.redacted:
        parts.append(f"Redacted before it was written: {', '.join(checked.redacted)}.")
    if checked.near:
        near = ", ".join(f"{rule} ({share} % of its words)" for rule, share in checked.near)
        parts.append(f"Nearly the same: {near}.")
    parts += [f"Look again: {sign.message} ({sign.code})." for sign in checked.signs]
    return " ".join(parts)


def listed(row: Row) -> str:
    """One rule in one line."""
    return (
        f"{row.id} [{row.standing}] ({row.category}) {row.title}"
        f" | {row.digest}, {row.tokens} tokens, evidence {row.evidence} | {row.provenance}"
    )


def numbered(row: Row) -> str:
    """One rule in one line without a byte of its file: which it is, where it stands, how long it is."""
    name = row.id if len(row.id) <= MAX_ID else "(an id too long to be shown)"
    return f"{name} [{row.standing}] {row.digest}, {row.tokens} tokens"
