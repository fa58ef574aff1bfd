"""`ruleproof rules adopt`: a person puts a pool rule on trial in this workspace. No agent can."""

from __future__ import annotations

from typing import Annotated

import typer

from ruleproof.surfaces.cli.governing import ask
from ruleproof.surfaces.cli.layout import paragraph
from ruleproof.surfaces.cli.opening import distrust, opened
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.verb import verb


@verb("ruleproof rules adopt ha/001 --metric outcome", "ruleproof rules adopt ha/001 --tag payment")
def adopt(
    out: Output,
    rule_id: Annotated[str, typer.Argument(metavar="ID", help="A pool rule, such as ha/001.")],
    metric: Annotated[str | None, typer.Option(help="The metric that it is to improve.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="When it applies, beside its topics. May be repeated.")] = None,
    again: Annotated[bool, typer.Option("--again", help="Try a text again that evidence retired here.")] = False,
) -> Reply:
    """Put a pool rule on trial here, as a candidate.

    It shows the rule and asks you to type its digest: its text reaches contexts here, so a terminal and a person are
    needed, as for `ruleproof approve`. A rule that is in force here is refused: it stands in every notice, so that it
    could be withheld from nobody. Its evidence from elsewhere counts for nothing.
    """
    from ruleproof.surfaces.cli.rules import value_of

    with opened(make=True) as harness:
        governance = harness.governance
        showing = governance.show(rule_id)
        shared = showing.row.rule
        decision = ask(out, governance, "adopt", showing, shared.id)
        added = governance.adopt(harness.rules, shared.id, decision, metric=metric, tags=tag or (), again=again)
        rule = added.rule
        said = f"{rule.id} is on trial, as a {rule.status}, with the text of {shared.id}."
        if not added.created:
            said = f"{rule.id} says the same and is {rule.status}; nothing was added."
        elif rule.rule != shared.text:
            said += " Its text was made harmless for one line of a context; `ruleproof rules show` shows it."
        data = {"rule": value_of(harness, rule), "created": added.created, "redacted": list(added.redacted)}
        warning = distrust(harness)
    return Reply(data, paragraph(said), notes=(warning,) if warning else ())
