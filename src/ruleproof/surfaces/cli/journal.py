"""`ruleproof journal`: what happened, newest last, read from the end of the file."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Annotated

import typer

from ruleproof.surfaces.cli.layout import paragraph
from ruleproof.surfaces.cli.opening import opened
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb

STATUSES = ("improved", "unchanged", "regressed", "skipped")
NAMED = 5
"""Regressed cases that a line names."""
_IDS = ("id", "notice_id", "rule_id", "session_id")
_SAID = ("why", "summary", "reason", "note", "rule", "mode", "metric")


@verb("ruleproof journal", "ruleproof journal --type rule_promote --type rule_retire --limit 50")
def journal(
    limit: Annotated[int, typer.Option(min=1, help="The newest so many events.")] = 20,
    type_: Annotated[
        list[str] | None, typer.Option("--type", help="Only events of this type. May be repeated.")
    ] = None,
) -> Reply:
    """Show the newest events of the journal, newest last."""
    from ruleproof.toolset.backwards import newest

    types = frozenset(type_ or ())

    def wanted(event: Mapping[str, object]) -> Mapping[str, object] | None:
        return event if not types or event.get("type") in types else None

    with opened() as harness:
        events, gave_up = newest(harness.workspace.ports.journal, wanted, limit)
    text = "\n".join(paragraph(_line(event), indent="    ") for event in events) or "No such event."
    return Reply({"events": events, "cut": gave_up}, text, notes=(gave_up,) if gave_up else ())


def text_of(event: Mapping[str, object], name: str) -> str:
    """A text of a foreign record; empty where it is none."""
    value = event.get(name)
    return value if isinstance(value, str) else ""


def _line(event: Mapping[str, object]) -> str:
    said = _regression(event) if event.get("type") == "regression" else _first(event, _SAID)
    parts = (text_of(event, "ts")[:19], text_of(event, "type"), _first(event, _IDS), said)
    return " ".join(part for part in parts if part)


def _regression(event: Mapping[str, object]) -> str:
    """How many cases ended how, and which regressed."""
    results = event.get("results")
    listed = [one for one in results if isinstance(one, dict)] if isinstance(results, list) else []
    worse = [text_of(one, "case_id") for one in listed if one.get("status") == "regressed"][:NAMED]
    said = []
    for name in STATUSES:
        count = event.get(name)
        if isinstance(count, int) and count:
            named = ", ".join(worse) + (", ..." if count > len(worse) else "") if name == "regressed" and worse else ""
            said.append(f"{count} {name}" + (f" ({named})" if named else ""))
    return ", ".join(said) or "no case"


def _first(event: Mapping[str, object], names: tuple[str, ...]) -> str:
    return next((text for name in names if (text := text_of(event, name))), "")
