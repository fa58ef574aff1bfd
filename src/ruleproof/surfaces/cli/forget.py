"""`ruleproof forget`: remove the text of a rule, notice, case or session everywhere, and keep a tombstone."""

from __future__ import annotations

from typing import Annotated

import typer

from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.layout import paragraph
from ruleproof.surfaces.cli.opening import opened
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.verb import verb


@verb("ruleproof forget r-9772c134b8 --reason 'it names a customer'", lenient=True)
def forget(
    out: Output,
    what: Annotated[str, typer.Argument(metavar="ID", help="A rule, notice, case or session.")],
    reason: Annotated[str, typer.Option(help="Why; it stays with the tombstone, so name nothing in it.")],
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> Reply:
    """Remove a text from every file of the workspace. This cannot be undone.

    What stays is a tombstone: the id (of a session an alias), a digest of the text, the reason and the time.
    """
    from ruleproof.edge.housekeeping import Housekeeping
    from ruleproof.engine.forget import forget as forget_it

    with opened() as harness:
        if out.interactive and not yes and not typer.confirm("Its text will be gone for good. Forget it?", err=True):
            return Reply({"id": what, "forgotten": False}, "Nothing was changed.", Exit.PROBLEMS)
        gone = forget_it(harness.workspace, what, reason, folder=Housekeeping(harness.config.root))
    data = {
        "id": gone.id,
        "kind": gone.kind,
        "records": gone.records,
        "files": list(gone.files),
        "kept": list(gone.kept),
    }
    where = f" in {', '.join(gone.files)}" if gone.files else ""
    said = f"The {gone.kind} {gone.id} is forgotten: {gone.records} records were removed or rewritten{where}."
    if gone.kept:
        said += (
            f" Its words still stand, in words of their own, in {', '.join(gone.kept)}; forget these too if need be."
        )
    return Reply(data, paragraph(said))
