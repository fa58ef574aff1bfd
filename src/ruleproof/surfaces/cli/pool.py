"""`ruleproof pool`: link this project to a shared pool, sync with it, and see how that stands."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated

import typer

from ruleproof.core.text import one_line
from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.governing import governed, unread
from ruleproof.surfaces.cli.layout import Cell, facts, paragraph
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.verb import Verb, verb

if TYPE_CHECKING:
    from ruleproof.edge.pool import SyncReport
    from ruleproof.governance import Governance


@verb("ruleproof pool", "ruleproof pool --json")
def pool(ctx: typer.Context) -> Reply | None:
    """Share rules with a team over git.

    Without a command it says how that stands.
    """
    return stands(governed()) if ctx.invoked_subcommand is None else None


@verb("ruleproof pool link ../team-rules.git", "ruleproof pool link https://git.example.com/team/rules.git")
def link(
    out: Output,
    address: Annotated[str, typer.Argument(metavar="ADDRESS", help="A local path, or an https address.")],
    create: Annotated[bool, typer.Option("--create", help="Make an empty pool where a local path is free.")] = False,
) -> Reply:
    """Link this project to a pool.

    The token of an https address is read from HARNESS_POOL_TOKEN, or asked for and kept in a file that only you can
    read. Nothing is sent before `ruleproof pool sync`. A project has one pool: linking it to another one loses no file
    and decides nothing.
    """
    governance = governed()
    token = ""
    if address.strip().lower().startswith("https:") and out.interactive:
        token = str(
            typer.prompt("Token (none: leave empty)", default="", show_default=False, hide_input=True, err=True)
        )
    before, last = governance.link(), governance.last_sync()
    made = governance.link_pool(address, token.strip(), create=create)
    data = {"address": made.address, "project": governance.project.key, "canonical": governance.project.canonical}
    note = governance.project.note
    notes = [note[:1].upper() + note[1:]] if note else []
    if before is not None and before.address != made.address:
        notes.append(
            f"Until now it was linked to {before.address}, which {_lacked(last)}. Every rule file stays here, and the "
            "next sync publishes all of this machine's own to the new pool."
        )
    return Reply(data, paragraph(f"Linked to {made.address}."), notes=tuple(notes))


@verb("ruleproof pool sync", "ruleproof pool sync --json")
def sync() -> Reply:
    """Bring what others proposed, publish our own.

    Nothing that comes is in force before you approve it. Without a connection nothing is lost: it says what waits.
    """
    governance = governed()
    report = governance.sync()
    data = {
        "mode": report.mode,
        "code": report.code,
        "detail": report.detail,
        "received": list(report.received),
        "published": list(report.published),
        "pending": list(report.pending),
        "problems": [problem.as_json() for problem in report.problems],
    }
    return Reply(data, _said(report), _code(report), notes=unread(governance))


@verb("ruleproof pool status", "ruleproof pool status --json")
def status() -> Reply:
    """Say which pool is linked and what the last sync said."""
    return stands(governed())


@verb("ruleproof pool accept rules/PROJECT/ha/001-security-check.md", "ruleproof pool accept rules/PROJECT/ha")
def accept(
    out: Output, path: Annotated[str, typer.Argument(metavar="PATH", help="A file as doctor names it, or its folder.")]
) -> Reply:
    """Take what the pool offers for a file in dispute, or for one under this machine's id.

    The second is for a machine that lost its record of what it wrote: from then on the file counts as its own. A
    person's act, at a terminal. Nothing is in force by it: a rule waits for a new approval.
    """
    from ruleproof.core.approval import Decision, require_person

    governance = governed()
    require_person(governance.decision("", "") if out.interactive else Decision("none", ""), "accept")
    offered = governance.offered(path)
    for one in offered:
        out.note(f"  {one_line(one, 300)}")
    if offered and not typer.confirm("Take what the pool offers for that?", err=True):
        return Reply({"path": path, "accepted": False, "paths": []}, "Nothing was changed.", Exit.PROBLEMS)
    taken = governance.accept(path)
    said = f"{', '.join(taken)}: what the pool offers is taken; review it."
    return Reply({"path": path, "accepted": True, "paths": list(taken)}, paragraph(said))


COMMANDS: tuple[tuple[str, Verb], ...] = (("link", link), ("sync", sync), ("status", status), ("accept", accept))


def stands(governance: Governance) -> Reply:
    """How sharing stands for this project on this machine."""
    linked, last = governance.link(), governance.last_sync()
    pending = last.get("pending")
    about: list[tuple[str, Cell]] = [
        ("project", governance.project.key),
        ("made from", governance.project.canonical),
        ("this machine", governance.own() or "(no id before the first proposal)"),
        ("rule files", str(governance.files.root)),
        ("pool", linked.address if linked else "(none: `ruleproof pool link ADDRESS`)"),
        ("last sync", _last(last) if linked else None),
        ("waiting", len(pending) if isinstance(pending, list) and linked else None),
        ("note", governance.project.note or None),
    ]
    data = {
        "project": governance.project.key,
        "canonical": governance.project.canonical,
        "harness": governance.own() or None,
        "rule_files": str(governance.files.root),
        "address": linked.address if linked else None,
        "last_sync": dict(last) or None,
    }
    return Reply(data, facts(about))


def _lacked(report: Mapping[str, object]) -> str:
    pending = report.get("pending")
    if not report or not isinstance(pending, list):
        return "was never synced with"
    return f"still lacked {len(pending)} of this machine's files" if pending else "had all of this machine's files"


def _last(report: Mapping[str, object]) -> str:
    if not report:
        return "never"
    detail = f" ({report.get('code')}: {report.get('detail')})" if report.get("detail") else ""
    return f"{report.get('at')}, {report.get('mode')}{detail}"


def _said(report: SyncReport) -> str:
    counts = f"{len(report.received)} received, {len(report.published)} published, {len(report.pending)} waiting"
    why = f" ({report.code}: {report.detail})" if report.code != "ok" else ""
    parts = [paragraph(f"{report.mode}{why}: {counts}.")]
    parts += [paragraph(f"{problem.severity}: {problem} [{problem.code}]", indent="  ") for problem in report.problems]
    return "\n".join(parts)


def _code(report: SyncReport) -> Exit:
    """Being offline is a normal state; a pool that refuses, or that offers what was refused, is not."""
    refused = report.code not in ("ok", "network")
    return Exit.PROBLEMS if refused or any(one.severity == "error" for one in report.problems) else Exit.DONE
