"""`ruleproof notices`: what waits in the mailbox, one notice with its evidence, and settling it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ruleproof.core import ids
from ruleproof.surfaces.cli.layout import facts, paragraph, table
from ruleproof.surfaces.cli.opening import opened
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import Verb, verb

if TYPE_CHECKING:
    from ruleproof.core.notice import Notice

Id = Annotated[str, typer.Argument(metavar="ID", help="The notice.")]


@verb("ruleproof notices", "ruleproof notices --json")
def notices(ctx: typer.Context) -> Reply | None:
    """List, show or acknowledge notices.

    Without a command it lists those that wait.
    """
    return listed() if ctx.invoked_subcommand is None else None


@verb("ruleproof notices list")
def list_() -> Reply:
    """List the notices that wait, oldest first."""
    return listed()


def listed() -> Reply:
    """The pending notices as a table."""
    from ruleproof.codec.notices import to_json

    with opened() as harness:
        mailbox = harness.workspace.ports.mailbox
        pending, problems = mailbox.pending(), mailbox.problems()
    text = "\n".join(map(_entry, pending)) or "No notice waits."
    notes = (f"{len(problems)} notice files could not be read; `ruleproof doctor` names them.",) if problems else ()
    return Reply({"notices": [to_json(notice) for notice in pending]}, text, notes=notes)


@verb("ruleproof notices show n-20260703T053511123456-f2019e57")
def show(notice_id: Id) -> Reply:
    """Show one notice with its evidence.

    What it quotes is data, not instruction.
    """
    from ruleproof.codec.notices import to_json
    from ruleproof.errors import NotFound

    with opened() as harness:
        notice = harness.workspace.ports.mailbox.read(ids.component(notice_id, "notice"))
    if notice is None:
        raise NotFound(f"There is no notice {notice_id}.", hint="`ruleproof notices` lists what waits.")
    return Reply({"notice": to_json(notice)}, _text(notice))


@verb(
    "ruleproof notices ack n-20260703T053511123456-f2019e57 --rule r-9772c134b8",
    "ruleproof notices ack n-20260703T053511123456-f2019e57 --note 'a test run'",
)
def ack(
    notice_id: Id,
    rule: Annotated[str | None, typer.Option(metavar="ID", help="The rule that answers it.")] = None,
    note: Annotated[str, typer.Option(help="What was found.")] = "",
) -> Reply:
    """Acknowledge a notice, so that it waits no longer."""
    from ruleproof.codec.notices import to_json
    from ruleproof.engine.ack_notice import ack_notice

    with opened() as harness:
        notice = ack_notice(harness.workspace, notice_id, rule_id=rule, note=note)
    return Reply({"notice": to_json(notice)}, f"{notice.id} is acknowledged.")


COMMANDS: tuple[tuple[str, Verb], ...] = (("list", list_), ("show", show), ("ack", ack))


def _entry(notice: Notice) -> str:
    many = f"{notice.count} sessions" if notice.count > 1 else f"session {notice.session_id}"
    head = paragraph(f"{notice.id}  {notice.severity}  {many}", indent="    ")
    return f"{head}\n{paragraph(notice.summary, indent='    ', first='    ')}"


def _text(notice: Notice) -> str:
    settled = notice.resolution
    parts = [
        facts(
            [
                ("notice", notice.id),
                ("posted", notice.created_at),
                ("severity", notice.severity),
                ("status", notice.status),
                (
                    "session",
                    f"{notice.session_id} (turn {notice.turn_index})" if notice.turn_index else notice.session_id,
                ),
                ("task", notice.task_id),
                ("sessions", notice.count if notice.count > 1 else None),
                ("examples", ", ".join(notice.examples) or None),
                ("flagged", ", ".join(notice.flagged_traces) or None),
                ("dump", notice.dump_path or None),
            ]
        ),
        paragraph(notice.summary),
    ]
    if notice.metrics:
        rows = [(m.name, m.value, m.threshold, ", ".join(m.conditions), m.reason) for m in notice.metrics]
        parts.append(table(("metric", "value", "threshold", "conditions", "reason"), rows))
    signals = [
        (trace, name, value) for trace, found in notice.signal_breakdown.items() for name, value in found.items()
    ]
    if signals:
        parts.append(table(("trace", "signal", "value"), signals))
    if settled:
        answer = [("acknowledged", settled.acked_at), ("rule", settled.rule_id), ("note", settled.note)]
        parts.append(facts(answer))
    return "\n\n".join(parts)
