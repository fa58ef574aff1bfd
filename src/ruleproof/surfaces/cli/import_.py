"""`ruleproof import`: existing instruction files become proposals, with where they come from."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.governing import governed
from ruleproof.surfaces.cli.layout import paragraph
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb


@verb("ruleproof import AGENTS.md --dry-run", "ruleproof import .cursor/rules/api.mdc --category api")
def import_(
    paths: Annotated[list[Path], typer.Argument(metavar="PATH...", help="Text files.")],
    category: Annotated[str, typer.Option(help="One word for all of them.")] = "general",
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Say what would be proposed, write nothing.")] = False,
) -> Reply:
    """Turn instruction files into proposals.

    A file that fits the budget stays whole; a larger one is cut at headings and blank lines, never inside a code fence.
    Nothing of it is in force before a person approves it.
    """
    from ruleproof.edge import fs
    from ruleproof.engine.share import Piece, import_file
    from ruleproof.errors import StoreError

    missing = [str(path) for path in paths if not path.is_file()]
    if missing:
        raise typer.BadParameter(f"{', '.join(missing)} is no file", param_hint="PATH")
    governance = governed()
    pieces: list[Piece] = []
    notes: list[str] = []
    for path in paths:
        try:
            raw = fs.read_bytes(path) or b""
        except StoreError as error:
            pieces.append(Piece(path.as_posix(), "", "refused", reason=f"{error.message} {error.hint}".strip()))
            continue
        made, odd = import_file(governance.desk, path.as_posix(), raw, category, write=not dry_run)
        pieces += made
        notes += map(str, odd)
    lines = []
    for piece in pieces:
        near = f"; nearly the same: {', '.join(piece.near)}" if piece.near else ""
        said = f"{piece.outcome} {piece.rule}".strip()
        lines.append(
            paragraph(f"{said}: {piece.title or '(no title)'} ({piece.source}){near} {piece.reason}", indent="  ")
        )
    data = {
        "dry_run": dry_run,
        "pieces": [
            {
                "source": piece.source,
                "title": piece.title,
                "outcome": piece.outcome,
                "rule": piece.rule or None,
                "tokens": piece.tokens,
                "near": list(piece.near),
                "reason": piece.reason,
            }
            for piece in pieces
        ],
    }
    refused = any(piece.outcome == "refused" for piece in pieces)
    text = "\n".join(lines) or "There is no text in it."
    return Reply(data, text, Exit.PROBLEMS if refused else Exit.DONE, notes=tuple(notes))
