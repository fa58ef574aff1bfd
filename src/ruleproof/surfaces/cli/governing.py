"""How a command comes to the pool rules of a project, how rules are shown to a person, and how a person decides."""

from __future__ import annotations

from typing import TYPE_CHECKING

import typer

from ruleproof.errors import Refused
from ruleproof.surfaces.cli.layout import Cell, facts, paragraph, wrap
from ruleproof.surfaces.cli.output import harmless

if TYPE_CHECKING:
    from ruleproof.core.approval import Decision
    from ruleproof.core.review import Row
    from ruleproof.engine.approve import Showing
    from ruleproof.governance import Governance
    from ruleproof.surfaces.cli.output import Output

MOST_UNREAD = 5


def governed() -> Governance:
    """The pool rules of the project that this folder belongs to; needs no workspace and makes nothing."""
    from ruleproof.config import HarnessConfig
    from ruleproof.governance import Governance

    return Governance(HarnessConfig.load())


def shown(row: Row) -> str:
    """One rule in full: whoever decides has read it."""
    lines = [line for part in row.rule.text.split("\n") for line in wrap(harmless(part), 76)]
    about: list[tuple[str, Cell]] = [
        ("standing", row.standing),
        ("digest", row.digest),
        ("tokens", row.tokens),
        ("budget", row.budget or None),
        ("from", row.provenance),
        ("evidence", row.evidence),
        ("topics", ", ".join(row.rule.topics) or None),
        *(("file", f"{problem.message} ({problem.code})") for problem in row.problems),
        *(("sign", f"{sign.message} ({sign.code})") for sign in row.signs),
    ]
    head = paragraph(f"{row.id}  [{row.category}]  {row.title}", indent="    ")
    return "\n".join([head, *(f"    {line}".rstrip() for line in lines), facts(about)])


def value_of(row: Row) -> dict[str, object]:
    """One rule as JSON."""
    return {
        "id": row.id,
        "standing": row.standing,
        "category": row.category,
        "title": row.title,
        "text": row.rule.text,
        "digest": row.rule.digest,
        "tokens": row.tokens,
        "provenance": row.provenance,
        "evidence": dict(row.rule.evidence),
        "topics": list(row.rule.topics),
        "amends": row.rule.amends or None,
        "path": row.rule.place.path,
        "signs": [sign.as_json() for sign in row.signs],
        "problems": [problem.as_json() for problem in row.problems],
        "budget": row.budget or None,
    }


def unread(governance: Governance) -> tuple[str, ...]:
    """A line for each of the first files of the pool that no rule can be read from, and how many more there are."""
    from ruleproof.engine.approve import unreadable

    found = unreadable(governance.desk)
    named = [f"Not read: {problem}" for problem in found[:MOST_UNREAD]]
    more = len(found) - len(named)
    return (*named, f"Not read: {more} more; `ruleproof doctor` names them.") if more else tuple(named)


def require_decider(out: Output, governance: Governance, verb: str) -> None:
    """Raises Refused unless a person who decides here can be asked."""
    from ruleproof.core.approval import TOKEN_VERBS, Decision, require_person

    governance.desk.require_here()
    if out.json:
        hint = "Leave --json out" + (", or use a one-time token." if verb in TOKEN_VERBS else ".")
        raise Refused(f"{verb} needs a person, and with --json nobody can be asked.", hint=hint)
    if not out.interactive:
        require_person(Decision("none", ""), verb)
    require_person(governance.decision("", ""), verb)


def ask(
    out: Output, governance: Governance, verb: str, showing: Showing | None, rule_id: str, *, fit: bool = False
) -> Decision:
    """Show the rule and let a person type its digest (of a revocation: the id).

    `fit`: the block has to fit with it. Raises Refused without a terminal, and before anything is asked for a text that
    cannot be approved.
    """
    from ruleproof.core.approval import require_approvable

    require_decider(out, governance, verb)
    out.note(shown(showing.row) if showing else f"{rule_id}: its file cannot be read now.")
    if showing is None or verb == "revoke":
        typed = str(typer.prompt(f"Type {rule_id} to {verb} it", default="", show_default=False, err=True))
        if typed.strip() != rule_id:
            raise Refused(f"What was typed is not {rule_id}.", hint="Nothing was changed.")
        return governance.decision("", "")
    require_approvable(showing.row.rule, governance.desk.disputed())
    if fit and showing.decisive.refusal is not None:
        raise showing.decisive.refusal.refusal()
    asked = f"To {verb} it, type the digest (the first 8 digits will do)"
    typed = str(typer.prompt(asked, default="", show_default=False, err=True))
    return governance.decision(showing.row.rule.digest, typed)


def from_stdin() -> str:
    """A one-time token, read from standard input: on a command line others could read it."""
    import sys

    return sys.stdin.readline().strip()
