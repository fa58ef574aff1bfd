"""`ruleproof notice`: the continuation notice with the rules that are in force here, to standard output or a file."""

from __future__ import annotations

from functools import partial
from pathlib import Path
from typing import Annotated

import typer

from ruleproof.surfaces.cli.governing import governed
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb


@verb(
    "ruleproof notice --title 'Restore of the archive'",
    "ruleproof notice --title Restore --handoff 'Then tag it.' --to notice.md",
)
def notice(
    title: Annotated[str, typer.Option(help="What the session goes on with.")] = "Session",
    handoff: Annotated[str, typer.Option(help="What the last session left to do.")] = "",
    to: Annotated[Path | None, typer.Option(metavar="FILE", help="Write it there instead.")] = None,
) -> Reply:
    """Print the notice that a session begins with.

    For a new or a compacted session. It holds, word for word, the pool rules that you approved on this machine, and
    nothing of any other. Over the budget it refuses, says what each rule costs, and writes nothing. What you approved
    and what is not in force now (its file changed, say) is named on standard error.
    """
    from ruleproof.edge import fs
    from ruleproof.engine.notice import delivered

    governance = governed()
    made = governance.notice(title, handoff=handoff)
    tokens = made.block.tokens if made.block else 0
    data = {
        "text": made.text,
        "rules": [rule for rule, _ in made.block.per_rule] if made.block else [],
        "tokens": tokens,
        "newly_approved": list(made.fresh),
        "absent": [problem.as_json() for problem in made.absent],
    }
    notes = tuple(f"Not in the notice: {problem}" for problem in made.absent)
    if to is None:
        return Reply(data, made.text, notes=notes, then=partial(delivered, governance.desk, made))
    fs.write_atomic(to, made.text.encode("utf-8", "replace") + b"\n")
    delivered(governance.desk, made)
    return Reply({**data, "file": str(to)}, f"Written to {to}.", notes=notes)
