"""`ruleproof lint-loaders`: which instruction files of a repository an agent's loader would cut or never load."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.layout import paragraph
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb


@verb("ruleproof lint-loaders", "ruleproof lint-loaders ../other-repository --json")
def lintloaders(
    folder: Annotated[Path, typer.Argument(metavar="FOLDER", help="The root of the repository.")] = Path("."),
) -> Reply:
    """Say which instruction files are cut or never loaded.

    Looks at AGENTS.md, CLAUDE.md, .claude/rules, .cursor/rules and their kin, and names the source of each limit.
    """
    from ruleproof.core.loaders import lint_loaders
    from ruleproof.edge.instructions import instruction_files

    if not folder.is_dir():
        raise typer.BadParameter(f"{folder} is no folder", param_hint="FOLDER")
    files = instruction_files(folder, lambda path: path.endswith((".md", ".mdc", ".cursorrules")) or "/rules/" in path)
    problems = [finding.as_problem() for finding in lint_loaders(files)]
    data = {"files": len(files), "problems": [problem.as_json() for problem in problems]}
    lines = [paragraph(f"{problem.severity}: {problem} [{problem.code}]", indent="  ") for problem in problems]
    bad = any(problem.severity == "error" for problem in problems)
    return Reply(data, "\n".join(lines) or "Nothing is cut or passed over.", Exit.PROBLEMS if bad else Exit.DONE)
