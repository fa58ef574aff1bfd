"""`ruleproof hook`: what a host calls when a session starts or is compacted, and when a person types /chapters-rule."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Mapping
from functools import partial
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ruleproof.errors import RuleproofError
from ruleproof.surfaces.cli.governing import governed
from ruleproof.surfaces.cli.opening import opened
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.engine.notice import Notice
    from ruleproof.governance import Governance

log = logging.getLogger("ruleproof")


@verb("ruleproof hook claude-code", "ruleproof hook claude-code < event.json")
def hook(host: Annotated[Literal["claude-code"], typer.Argument(help="Which host calls.")]) -> Reply:
    """Print the notice for a session of a host.

    So the approved rules are there again after a compaction. Where no rule is in force it prints nothing at all; over
    the budget it says so on standard error and prints nothing. Where there is a workspace, it records which rules the
    session was shown. A typed /chapters-rule is answered here, too, and kept from the prompt.
    """
    from ruleproof.engine.notice import delivered

    event, governance = _event(), governed()
    if event.get("hook_event_name") == "UserPromptExpansion":
        said = _answer(governance, event)
        return Reply({"host": host, **said}, json.dumps(said) if said else "")
    source = event.get("source")
    known = source if source in ("startup", "resume", "clear", "compact") else "startup"
    made = governance.notice(f"Session ({known})")
    notes = tuple(f"Not in the notice: {problem}" for problem in made.absent)
    session = event.get("session_id")
    if made.block and isinstance(session, str) and session:
        _record(governance, made, session)
    text = made.text if made.block else ""
    data = {"host": host, "text": text, "absent": [problem.as_json() for problem in made.absent]}
    return Reply(data, text, notes=notes, then=partial(delivered, governance.desk, made))


def _answer(governance: Governance, event: Mapping[str, object]) -> dict[str, object]:
    """What the host is told about a typed command: that it is done, and what the person is shown; {} if not ours."""
    from ruleproof.core.rulecommand import NAME

    if event.get("command_name") != NAME:
        return {}
    typed = event.get("command_args")
    try:
        reason = governance.command(typed if isinstance(typed, str) else "", texts=False)
    except RuleproofError as error:
        reason = f"{error.message} {error.hint}".strip()
    return {"decision": "block", "reason": reason}


def _event() -> Mapping[str, object]:
    """What the host says on standard input; nothing where that is not understood."""
    try:
        value = json.loads(sys.stdin.read() or "{}") if not sys.stdin.isatty() else {}
    except (ValueError, RecursionError):
        value = {}
    return value if isinstance(value, dict) else {}


def _record(governance: Governance, made: Notice, session: str) -> None:
    """Remember what the session was shown, where there is a workspace; a notice never fails because of that."""
    if not governance.config.root.is_dir():
        return
    try:
        with opened() as harness:
            harness.noticed(made, session)
    except Exception as error:
        log.warning("what the session was shown could not be recorded: %s", error)
