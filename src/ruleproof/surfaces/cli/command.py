"""`ruleproof command`: the `/chapters-rule` grammar, for hosts that have slash commands."""

from __future__ import annotations

from typing import Annotated

import typer

from ruleproof.surfaces.cli.approve import approved
from ruleproof.surfaces.cli.governing import governed
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.revoke import revoked
from ruleproof.surfaces.cli.verb import verb


@verb(
    "ruleproof command '/chapters-rule list --proposed'",
    "ruleproof command '/chapters-rule add security \"Check the archive first.\"'",
)
def command(
    out: Output, line: Annotated[str, typer.Argument(metavar="LINE", help="The slash command, as one argument.")]
) -> Reply:
    """Do what a `/chapters-rule` line says.

    Approving and revoking need a person at a terminal here, too.
    """
    from ruleproof.core.rulecommand import Decide, parse_command

    asked = parse_command(line)
    if isinstance(asked, Decide):
        return (approved if asked.verb == "approve" else revoked)(out, asked.rule)
    said = governed().command(line)
    return Reply({"text": said}, said)
