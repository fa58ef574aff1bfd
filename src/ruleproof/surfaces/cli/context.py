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
    from ruleproof.core.trial import Exposure
    from ruleproof.harness import Harness


@verb(
    "ruleproof context",
    "ruleproof context --task 'change a flight'",
    "ruleproof context --task 'change a flight' --session session-17 > prompt.txt",
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
    tokens: Annotated[
        Literal["exact", "estimate"],
        typer.Option(help="exact counts (needs the extra `tokens`); estimate errs upwards."),
    ] = "estimate",
) -> Reply:
    """Print the text that a system prompt gets.

    It goes to standard output as it is; what it costs goes to standard error. Without --session nothing is written, and
    no trial takes it for shown.
    """
    if session is not None and (at or diff):
        raise typer.BadParameter("a session gets the context of now; leave out --at and --diff", param_hint="--session")
    then, since = moment(at, "--at"), moment(diff, "--diff")
    with opened() as harness:
        composer = harness.composer
        made = _at(harness, then, task) if then else composer.context(task, session)
        if session is not None:
            _shown(harness, session, made)
        count, counted = made.tokens, "estimated from above"
        if tokens == "exact":
            count, counted = _exact(made.text), "exact, o200k"
        notes = [note for note in (distrust(harness), *made.warnings) if note]
        text = made.text
        if since:
            before = _at(harness, since, task)
            text = "\n".join(
                difflib.unified_diff(
                    before.text.split("\n"),
                    made.text.split("\n"),
                    f"context {since}",
                    f"context {then or 'now'}",
                    lineterm="",
                )
            )
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


def _at(harness: Harness, then: str, task: str | None) -> Context:
    """The context of then; empty where the workspace is not trusted, as that of now is: somebody may paste it."""
    from ruleproof.core.context import Context

    return harness.composer.at(then, task) if harness.trust.trusted else Context("")


def _shown(harness: Harness, session: str, made: Context) -> None:
    from ruleproof.codec.records import exposure_to
    from ruleproof.core import ids

    workspace, session_id = harness.workspace, ids.opaque(session)
    held: dict[str, Exposure] = {**dict.fromkeys(made.rules, "shown"), **dict.fromkeys(made.withheld, "withheld")}
    if held:
        workspace.append_exposure(exposure_to(session_id, held, workspace.now()))


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
