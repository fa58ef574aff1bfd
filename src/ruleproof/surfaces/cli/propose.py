"""`ruleproof propose`: write a rule into the pool's checkout as a proposal, which binds nothing."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated

import typer

from ruleproof.core import ids
from ruleproof.surfaces.cli.governing import governed
from ruleproof.surfaces.cli.layout import paragraph
from ruleproof.surfaces.cli.opening import opened
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.engine.propose import Proposed
    from ruleproof.governance import Governance


@verb(
    "ruleproof propose security 'Check the archive before a restore.'",
    "ruleproof propose release - --topic tagging < rule.txt",
    "ruleproof propose security 'Check archive and digest.' --amends ha/001",
    "ruleproof propose --from r-9772c134b8 --category payments",
)
def propose(
    category: Annotated[str, typer.Argument(metavar="CATEGORY", help="One word, such as security.")] = "",
    text: Annotated[str, typer.Argument(metavar="TEXT", help="The rule; - reads standard input.")] = "",
    topic: Annotated[list[str] | None, typer.Option(help="A word by which to find it. May be repeated.")] = None,
    amends: Annotated[str, typer.Option(metavar="ID", help="The rule that it replaces, such as ha/001.")] = "",
    learned: Annotated[str, typer.Option("--from", metavar="ID", help="An active rule of the workspace.")] = "",
    of: Annotated[str, typer.Option("--category", help="The category, where --from gives the text.")] = "",
) -> Reply:
    """Propose a rule to the project's pool.

    It is written once and never changed, and it binds nothing: each person approves it on their own machine, or does
    not. Works without a workspace.
    """
    from ruleproof.engine.slashcommand import said

    governance = governed()
    if learned:
        if text or category or amends or topic or not of:
            raise typer.BadParameter("it takes --category and nothing else", param_hint="--from")
        made = _learned(governance, learned, of)
    else:
        if not category or not text or of:
            raise typer.BadParameter("give a category and a text, or --from and --category", param_hint="CATEGORY TEXT")
        if text == "-":
            text = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
        made = governance.propose(category, text, topics=topic or (), amends=amends)
    note = governance.project.note
    return Reply(value_of(made), paragraph(said(made)), notes=(note[0].upper() + note[1:],) if note else ())


def _learned(governance: Governance, rule_id: str, category: str) -> Proposed:
    with opened() as harness:
        rule = harness.rules.get(ids.rule_id(rule_id))
        return governance.propose_learned(rule, harness.rules.evidence(rule.id), category)


def value_of(made: Proposed) -> dict[str, object]:
    """A proposal as JSON."""
    return {
        "id": made.rule.id,
        "created": made.created,
        "digest": made.rule.digest,
        "path": made.rule.place.path,
        "tokens": made.checked.tokens,
        "cap": made.checked.cap,
        "redacted": list(made.checked.redacted),
        "near": [{"id": rule, "percent": share} for rule, share in made.checked.near],
        "signs": [sign.as_json() for sign in made.checked.signs],
    }
