"""`ruleproof explain`: why a rule stands in the context now, or why it does not."""

from __future__ import annotations

from typing import Annotated

import typer

from ruleproof.core import ids
from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.layout import paragraph
from ruleproof.surfaces.cli.opening import opened
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb


@verb("ruleproof explain r-9772c134b8", "ruleproof explain r-9772c134b8 --task 'change a flight'")
def explain(
    rule: Annotated[str, typer.Argument(metavar="ID", help="The rule.")],
    task: Annotated[str | None, typer.Option(help="What the agent is about to do.")] = None,
) -> Reply:
    """Say why a rule is in the context now, or why not."""
    with opened() as harness:
        found = harness.composer.explain(ids.rule_id(rule), task)
    data = {"rule_id": found.rule_id, "included": found.included, "why": found.why, "reason": found.reason}
    where = "is in the context" if found.included else "is not in the context"
    code = Exit.PROBLEMS if found.why == "absent" else Exit.DONE
    return Reply(data, paragraph(f"{found.rule_id} {where} ({found.why}). {found.reason}"), code)
