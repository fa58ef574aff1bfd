"""`ruleproof review`: every pool rule of this project with what a person needs to decide about it."""

from __future__ import annotations

from typing import Annotated

import typer

from ruleproof.surfaces.cli.governing import governed, shown, value_of
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb


@verb("ruleproof review", "ruleproof review --proposed --category security")
def review(
    proposed: Annotated[bool, typer.Option("--proposed", help="Only what waits for a decision.")] = False,
    all_: Annotated[bool, typer.Option("--all", help="Revoked rules too.")] = False,
    category: Annotated[str, typer.Option(help="Only rules of this category.")] = "",
) -> Reply:
    """Show the pool rules of this project.

    Text, digest, tokens, where each comes from, its evidence, what looks odd. It is for people: a proposed rule reaches
    no prompt. `ruleproof approve` decides, one rule at a time.
    """
    from ruleproof.core.rulecommand import Listing

    governance = governed()
    rows = governance.review(Listing(proposed, all_, category.casefold()))
    data = {
        "project": governance.project.key,
        "canonical": governance.project.canonical,
        "rules": [value_of(row) for row in rows],
    }
    return Reply(data, "\n\n".join(map(shown, rows)) if rows else "No pool rule to show.")
