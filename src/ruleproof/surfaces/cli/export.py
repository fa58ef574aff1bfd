"""`ruleproof export`: print the rules in force here as the file of another system, or write one that git ignores."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ruleproof.errors import Refused
from ruleproof.surfaces.cli.governing import governed
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.engine.share import Target

NONE = "No rule is in force here."


@verb("ruleproof export agents-md", "ruleproof export claude-md --write CLAUDE.local.md")
def export(
    target: Annotated[Literal["agents-md", "claude-md", "cursor"], typer.Argument(help="For which kind of file.")],
    write: Annotated[
        Path | None, typer.Option("--write", metavar="FILE", help="Write it there, if git ignores that file.")
    ] = None,
) -> Reply:
    """Print the rules in force for another system.

    A file that is committed would become instructions on every other machine, where nobody approved them. So --write
    takes only a file that git ignores and does not track, and replaces nothing but an earlier export.
    """
    from ruleproof.engine.share import exported

    text = exported(governed().desk, target)
    if write is None:
        return Reply({"target": target, "text": text}, text or NONE)
    file = Path.cwd() / write
    wrote = _written(file, text, target)
    data = {"target": target, "text": text, "file": str(file), "written": wrote}
    said = f"Written to {file}." if wrote else "Nothing was written."
    return Reply(data, said if text else f"{NONE} {said}")


def _written(file: Path, text: str, target: Target) -> bool:
    """Write the export, or nothing where there is neither a rule nor a file. Raises Refused."""
    from ruleproof.config.sources import git_environment
    from ruleproof.edge.hostfiles import read_text, write_text
    from ruleproof.edge.ignored import require_ignored
    from ruleproof.engine.share import export_head

    require_ignored(file, git_environment())
    held = read_text(file, file.parent)
    if held and not held.startswith(export_head(target)):
        raise Refused(f"{file} is there and is no export of this kind.", hint="Name another file; nothing was written.")
    if not text and held is None:
        return False
    write_text(file, text and f"{text}\n")
    return True
