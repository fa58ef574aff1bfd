"""`ruleproof install`: let a host of agents in this project get the notice, and keep its agent from deciding."""

from __future__ import annotations

import difflib
from pathlib import Path
from typing import Annotated, Literal

import typer

from ruleproof.errors import Refused
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb

SETTINGS = Path(".claude") / "settings.local.json"
"""This user's own settings of the project: approvals are this machine's, so what shows them is, too."""
COMMAND = Path(".claude") / "commands" / "chapters-rule.md"

Change = tuple[Path, str | None, str | None]
"""A file, its text now and then; None: there is none."""


@verb("ruleproof install claude-code --dry-run", "ruleproof install claude-code --uninstall")
def install(
    host: Annotated[Literal["claude-code"], typer.Argument(help="Which host.")],
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Show the change, write nothing.")] = False,
    uninstall: Annotated[bool, typer.Option("--uninstall", help="Take our entries out again.")] = False,
) -> Reply:
    """Add our hooks, deny rules and slash command to a host.

    One hook prints the notice when a session starts, is resumed, cleared or compacted; another answers /chapters-rule.
    The deny rules keep the agent from `ruleproof approve`, `revoke`, `rules adopt`, `review`, `search` and `command`.
    Every other setting keeps every byte; an entry like ours that stood there before stays when ours go.
    """
    from ruleproof.config.sources import find_project
    from ruleproof.edge.hostfiles import write_text

    changes = _changes(find_project(None), uninstall)
    changed = [change for change in changes if change[1] != change[2]]
    diff = "\n".join(_diff(change) for change in changed)
    files = [str(file) for file, _, _ in changed]
    data = {"host": host, "file": str(changes[0][0]), "files": files, "changed": bool(changed), "diff": diff}
    if not changed:
        return Reply(data, f"{changes[0][0].parent} needs no change.")
    if dry_run:
        return Reply(data, diff)
    for file, _, then in changed:
        write_text(file, then)
    return Reply(data, f"Changed: {', '.join(files)}.\n{diff}")


def _changes(place: Path, uninstall: bool) -> tuple[Change, ...]:
    """What is to be done, decided before anything is written. Raises Refused with the file's name."""
    from ruleproof.codec.hostsettings import command_file, standing_in, stood_in, with_ours, without_ours
    from ruleproof.edge.hostfiles import read_text

    settings, command = place / SETTINGS, place / COMMAND
    now, held = read_text(settings, place), read_text(command, place)
    stood = stood_in(held)
    try:
        then = without_ours(now, stood) if uninstall else with_ours(now)
        wanted = command_file(standing_in(now) if held is None else stood)
    except Refused as refused:
        raise Refused(f"{settings}: {refused.message}", hint=refused.hint) from None
    ours = held in (None, wanted)
    if not ours and not uninstall:
        raise Refused(
            f"{command} is there and is not as we write it.",
            hint="Move it away, or keep it and install nothing; nothing was written.",
        )
    after = held if not ours else None if uninstall else wanted
    return (settings, now, then), (command, held, after)


def _diff(change: Change) -> str:
    file, now, then = change
    lines = difflib.unified_diff(
        (now or "").splitlines(), (then or "").splitlines(), f"{file} now", f"{file} then", lineterm=""
    )
    return "\n".join(lines)
