"""`ruleproof pause`: take a rule, or every rule, out of force at the next context, and put it back."""

from __future__ import annotations

from typing import Annotated

import typer

from ruleproof.surfaces.cli.layout import paragraph
from ruleproof.surfaces.cli.opening import opened
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb


@verb("ruleproof pause r-9772c134b8", "ruleproof pause --all", "ruleproof pause --all --resume")
def pause(
    rule: Annotated[str | None, typer.Argument(metavar="ID", help="The rule.")] = None,
    all_: Annotated[bool, typer.Option("--all", help="Every rule.")] = False,
    resume: Annotated[bool, typer.Option("--resume", help="Put it back in force.")] = False,
) -> Reply:
    """Take a rule, or all of them, out of force, or put it back.

    It takes effect at the next context and is journaled. HARNESS_PAUSE=1 pauses everything in one process.
    """
    from ruleproof.engine import change_rule

    if all_ == (rule is not None):
        raise typer.BadParameter("give either a rule id or --all", param_hint="ID")
    with opened() as harness:
        if rule is None:
            change_rule.pause_all(harness.workspace, not resume)
            who = "Every rule"
        else:
            who = change_rule.pause(harness.workspace, rule, not resume).id
        left = resume and rule is not None and harness.workspace.rulebook.all_paused
    said = f"{who} is {'back in force' if resume else 'out of force'} from the next context on."
    if left:
        said = f"{who} is resumed, but everything is paused; `ruleproof pause --all --resume` ends that."
    return Reply({"rule_id": rule, "all": all_, "paused": not resume}, paragraph(said))
