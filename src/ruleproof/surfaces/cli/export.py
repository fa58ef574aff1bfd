"""`ruleproof export`: print the rules in force here as the file of another system. It writes none."""

from __future__ import annotations

from typing import Annotated, Literal

import typer

from ruleproof.surfaces.cli.governing import governed
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb


@verb("ruleproof export agents-md", "ruleproof export cursor --json")
def export(
    target: Annotated[Literal["agents-md", "claude-md", "cursor"], typer.Argument(help="For which kind of file.")],
) -> Reply:
    """Print the rules in force for another system.

    It only prints: a file that is committed would become instructions on every other machine, where nobody approved
    them.
    """
    from ruleproof.engine.share import exported

    text = exported(governed().desk, target)
    return Reply({"target": target, "text": text}, text or "No rule is in force here.")
