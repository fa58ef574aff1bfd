"""`ruleproof regress`: replay the eval-set with the rules of now, and say which cases got worse. Made for CI."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.junit import figures, junit
from ruleproof.surfaces.cli.layout import paragraph, table
from ruleproof.surfaces.cli.opening import distrust
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.replaying import Function, Scoring, Template, replaying
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.engine.regress import CaseResult, RegressionReport

NAMED = 5
"""Missing metrics that a warning names."""


@verb(
    "ruleproof regress --replay replays:run --junit regress.xml",
    "ruleproof regress --command 'python replay.py {case} {context}' --sample 20",
)
def regress(
    out: Output,
    replay: Function = None,
    command: Template = None,
    evaluator: Scoring = None,
    sample: Annotated[int | None, typer.Option(min=0, help="Only so many cases, wins first; 0: all.")] = None,
    junit_: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML too.")] = None,
) -> Reply:
    """Replay the eval-set and compare it with its captured scores.

    Wins come first, newest first. A command prints the id of the new session as its last line, or one JSON object. The
    exit code is 0 when nothing regressed, 1 when a case did, and 5 when nothing could be replayed.
    """
    import asyncio

    from ruleproof.edge.fs import write_atomic

    def progress(done: int, total: int, result: CaseResult) -> None:
        out.note(f"[{done}/{total}] {result.kind} {result.case_id}: {result.status} {figures(result)}".rstrip())

    wired = replay is not None or command is not None
    with replaying(replay, command, evaluator) as harness:
        if not harness.trust.trusted:
            return Reply({"trusted": False}, paragraph(distrust(harness)), Exit.UNCHECKED)
        found = asyncio.run(harness.run_regression(sample=sample, progress=progress))
    if junit_ is not None:
        write_atomic(junit_, junit(found))
    warning, data = _warning(found), found.as_json()
    if not warning:
        return Reply(data, _text(found, wired), _code(found))
    return Reply({**data, "warning": warning}, _text(found, wired), _code(found), notes=(f"Warning: {warning}",))


def _warning(found: RegressionReport) -> str:
    """What a run that skipped cases, or metrics of cases, does not say; empty where it did not."""
    skipped, partly = found.count("skipped"), found.partly
    said = []
    if skipped and found.replayed:
        said.append(
            f"{skipped} of {len(found.results)} cases were skipped, so nothing is claimed about them; "
            f"{found.replayed} were compared."
        )
    if partly:
        names = sorted({name for result in partly for name in result.missing})
        said.append(
            f"{len(partly)} of {found.replayed} compared cases were compared in part: their replays lack "
            f"{', '.join(names[:NAMED])}{' and more' if len(names) > NAMED else ''}, so nothing is claimed about that."
        )
    return " ".join(said)


def _code(found: RegressionReport) -> Exit:
    if found.count("regressed"):
        return Exit.PROBLEMS
    return Exit.DONE if found.replayed else Exit.UNCHECKED


def _text(found: RegressionReport, wired: bool) -> str:
    counts = ", ".join(
        f"{found.count(status)} {status}"
        for status in ("improved", "unchanged", "regressed", "skipped")
        if found.count(status)
    )
    said = f"{len(found.results)} cases: {counts or 'none'}."
    if not found.replayed:
        said += " Nothing could be replayed, so nothing is claimed."
        if not found.results:
            said += " `ruleproof evalset capture` keeps a session as a case."
        elif not wired:
            said += " Give --replay or --command."
    if not found.results:
        return paragraph(said)
    rows = [(r.status, r.kind, r.case_id, r.session_id, figures(r)) for r in found.results]
    return f"{table(('status', 'kind', 'case', 'session', 'change'), rows, whole=2)}\n\n{paragraph(said)}"
