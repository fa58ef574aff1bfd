"""`ruleproof install`: let a host of agents in this project get the notice, and keep its agent from deciding."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Literal

import typer

from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb

SETTINGS = Path(".claude") / "settings.local.json"
"""This user's own settings of the project: approvals are this machine's, so what shows them is, too."""


@verb("ruleproof install claude-code --dry-run", "ruleproof install claude-code --uninstall")
def install(
    host: Annotated[Literal["claude-code"], typer.Argument(help="Which host.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change, write nothing.")] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Take our entries out again.")] = False,
) -> Reply:
    """Add our hook and deny rules to a host's settings.

    The hook prints the notice when a session starts, is resumed, cleared or compacted. The deny rules keep the agent
    from `ruleproof approve`, `revoke`, `review`, `search` and `command`. Every other setting stays as it is.
    """
    from ruleproof.codec.hostsettings import with_ours, without_ours
    from ruleproof.config import find_project
    from ruleproof.edge import fs

    file = find_project(None) / SETTINGS
    before = (fs.read_bytes(file) or b"").decode("utf-8-sig", "replace")
    after = (without_ours if uninstall else with_ours)(before)
    change = "\n".join(difflib.unified_diff(before.splitlines(), after.splitlines(), "now", "then", lineterm=""))
    data = {"host": host, "file": str(file), "changed": bool(change), "diff": change}
    if dry_run or not change:
        return Reply(data, change or f"{file} needs no change.")
    fs.write_atomic(file, after.encode())
    return Reply(data, f"{file} was changed.\n{change}")
