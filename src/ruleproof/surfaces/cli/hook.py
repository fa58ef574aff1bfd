"""`ruleproof hook`: what a host calls when a session starts, is resumed, cleared or compacted."""

from __future__ import annotations

import json
import sys
from typing import Annotated, Literal

import typer

from ruleproof.surfaces.cli.governing import governed
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb


@verb("ruleproof hook claude-code", "ruleproof hook claude-code < event.json")
def hook(host: Annotated[Literal["claude-code"], typer.Argument(help="Which host calls.")]) -> Reply:
    """Print the notice for a session of a host.

    So the approved rules are there again after a compaction. Where no rule is in force it prints nothing at all; over
    the budget it says so on standard error and prints nothing.
    """
    made = governed().notice(f"Session ({_source()})")
    return Reply({"host": host, "text": made.text if made.block else ""}, made.text if made.block else "")


def _source() -> str:
    """Why the host calls, as it says on standard input; `startup` where it says nothing that we know."""
    try:
        value = json.loads(sys.stdin.read() or "{}") if not sys.stdin.isatty() else {}
    except (ValueError, RecursionError):
        value = {}
    source = value.get("source") if isinstance(value, dict) else None
    return source if source in ("startup", "resume", "clear", "compact") else "startup"
