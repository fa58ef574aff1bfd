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
        ("from", row.provenance),
        ("evidence", row.evidence),
        ("topics", ", ".join(row.rule.topics) or None),
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
    }


def ask(out: Output, governance: Governance, verb: str, showing: Showing | None, rule_id: str) -> Decision:
    """Show the rule and let a person type its digest (of a revocation: the id). Raises Refused without a terminal."""
    from ruleproof.core.approval import Decision, require_person

    governance.desk.require_here()
    if not out.interactive:
        require_person(Decision("none", ""), verb)
    require_person(governance.decision("", ""), verb)
    if showing is None:
        typed = str(typer.prompt(f"Type {rule_id} to {verb} it", default="", show_default=False, err=True))
        if typed.strip() != rule_id:
            raise Refused(f"What was typed is not {rule_id}.", hint="Nothing was changed.")
        return governance.decision("", "")
    out.note(shown(showing.row))
    if verb == "approve":
        out.note(showing.plan.says)
    asked = f"To {verb} it, type the digest (the first 8 digits will do)"
    typed = str(typer.prompt(asked, default="", show_default=False, err=True))
    return governance.decision(showing.row.rule.digest, typed)


def from_stdin() -> str:
    """A one-time token, read from standard input: on a command line others could read it."""
    import sys

    return sys.stdin.readline().strip()
