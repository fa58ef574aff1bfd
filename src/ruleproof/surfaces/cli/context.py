"""`ruleproof context`: the text that a system prompt gets, now or at a moment in the past, and what it costs."""

from __future__ import annotations

import difflib
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ruleproof.surfaces.cli.opening import distrust, opened
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.core.context import Context
    from ruleproof.harness import Harness


@verb(
    "ruleproof context",
    "ruleproof context --task 'change a flight'",
    "ruleproof context --task 'change a flight' --session session-17 > prompt.txt",
    "ruleproof context --session session-18 --task-id refund-4",
    "ruleproof context --at 2026-07-03T12:00",
    "ruleproof context --diff 2026-07-01",
)
def context(
    task: Annotated[str | None, typer.Option(help="What the agent is about to do: chooses the relevant rules.")] = None,
    at: Annotated[
        str | None, typer.Option(metavar="TIME", help="The context as it was then (ISO-8601; UTC unless it says).")
    ] = None,
    diff: Annotated[
        str | None, typer.Option(metavar="TIME", help="What changed since then, as a unified diff.")
    ] = None,
    session: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The session that gets it: recorded, so that its report counts in trials."),
    ] = None,
    task_id: Annotated[
        str | None,
        typer.Option(metavar="ID", help="The task that it works on, as `report --task` names it; puts it in a block."),
    ] = None,
    tokens: Annotated[
        Literal["exact", "estimate"],
        typer.Option(help="exact counts (needs the extra `tokens`); estimate errs upwards."),
    ] = "estimate",
) -> Reply:
    """Print the text that a system prompt gets.

    It goes to standard output as it is; what it costs goes to standard error. Without --session nothing is written, and
    no trial takes it for shown. --task is words that rules are chosen by; --task-id names a task that comes back: of
    every two sessions of it one sees a rule on trial, where the trial runs in blocks.
    """
    if task_id is not None and session is None:
        raise typer.BadParameter("a task has sessions; name this one with --session", param_hint="--task-id")
    if session is not None and (at or diff):
        raise typer.BadParameter("a session gets the context of now; leave out --at and --diff", param_hint="--session")
    then, since = moment(at, "--at"), moment(diff, "--diff")
    with opened() as harness:
        if session is not None:
            made = _given(harness, task, session, task_id)
        else:
            made = _at(harness, then, task) if then else harness.composer.context(task)
        count, counted = made.tokens, "estimated from above"
        if tokens == "exact":
            count, counted = _exact(made.text), "exact, o200k"
        notes = [note for note in (distrust(harness), *made.warnings) if note]
        text = made.text
        if since:
            text = _difference(_at(harness, since, task), made, since, then)
        notes.append(_cost(made, count, counted))
        data = {
            "text": made.text,
            "rules": list(made.rules),
            "withheld": list(made.withheld),
            "omitted": made.omitted,
            "tokens": count,
            "tokens_are": "exact" if tokens == "exact" else "estimate",
            "warnings": list(made.warnings),
            "trusted": harness.trust.trusted,
            **({"diff": text} if since else {}),
        }
        return Reply(data, text, notes=tuple(notes))


def _difference(before: Context, made: Context, since: str, then: str | None) -> str:
    old, new = before.text.split("\n"), made.text.split("\n")
    return "\n".join(difflib.unified_diff(old, new, f"context {since}", f"context {then or 'now'}", lineterm=""))


def _at(harness: Harness, then: str, task: str | None) -> Context:
    """The context of then; empty where the workspace is not trusted, as that of now is: somebody may paste it."""
    from ruleproof.core.context import Context

    return harness.composer.at(then, task) if harness.trust.trusted else Context("")


def _given(harness: Harness, task: str | None, session: str, task_id: str | None) -> Context:
    """The context of a session, which is recorded as what it saw."""
    from ruleproof.core import ids
    from ruleproof.engine.exposure import Exposures

    exposures, session_id = Exposures(harness.workspace), ids.opaque(session)
    works_on = ids.opaque(task_id, "task") if task_id is not None else None
    made = harness.composer.context(task, exposures.unit(session_id, works_on))
    exposures.saw(made, session_id, works_on)
    exposures.record(session_id, works_on)
    return made


def _exact(text: str) -> int:
    """Tokens of `text`, counted. Raises Refused where the extra is not installed."""
    from ruleproof.edge.tokens import exact_counter

    return exact_counter()(text)


def _cost(made: Context, count: int, counted: str) -> str:
    omitted = f", {made.omitted} left out as less relevant" if made.omitted else ""
    omitted += f", {len(made.withheld)} on trial withheld from this session" if made.withheld else ""
    return f"{len(made.rules)} rules{omitted}; {count:,} tokens ({counted})"


def moment(text: str | None, option: str) -> str | None:
    """A time of the command line as records have it: ISO-8601, UTC, microseconds. No offset means UTC."""
    if text is None:
        return None
    try:
        when = datetime.fromisoformat(text)
    except ValueError:
        raise typer.BadParameter(
            f"{text!r} is not a time such as 2026-07-03 or 2026-07-03T12:00+02:00", param_hint=option
        ) from None
    return (when if when.tzinfo else when.replace(tzinfo=UTC)).astimezone(UTC).isoformat(timespec="microseconds")
