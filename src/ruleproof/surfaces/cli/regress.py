"""`ruleproof regress`: replay the eval-set with the rules of now, and say which cases got worse. Made for CI."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ruleproof.errors import RuleproofError
from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.junit import figures, junit
from ruleproof.surfaces.cli.layout import paragraph, table
from ruleproof.surfaces.cli.opening import distrust, opened
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.config import HarnessConfig
    from ruleproof.edge.replaycommand import CommandReplay
    from ruleproof.engine.ports import Replay
    from ruleproof.engine.regress import CaseResult, RegressionReport


@verb(
    "ruleproof regress --replay replays:run --junit regress.xml",
    "ruleproof regress --command 'python replay.py {case} {context}' --sample 20",
)
def regress(
    out: Output,
    replay: Annotated[
        str | None, typer.Option(metavar="MODULE:FUNCTION", help="Runs a case again: called with case and context.")
    ] = None,
    command: Annotated[
        str | None, typer.Option(metavar="TEMPLATE", help="The same as a command; {case} and {context} become files.")
    ] = None,
    evaluator: Annotated[
        str | None, typer.Option(metavar="MODULE:FUNCTION", help="Scores a replay; without it, its messages are.")
    ] = None,
    sample: Annotated[int | None, typer.Option(min=0, help="Only so many cases, wins first; 0: all.")] = None,
    junit_: Annotated[Path | None, typer.Option("--junit", metavar="FILE", help="Write JUnit XML too.")] = None,
) -> Reply:
    """Replay the eval-set and compare it with its captured scores.

    Wins come first, newest first. A command prints the id of the new session as its last line, or one JSON object. The
    exit code is 0 when nothing regressed, 1 when a case did, and 5 when nothing could be replayed.
    """
    import asyncio

    from ruleproof.edge.fs import write_atomic

    if replay is not None and command is not None:
        raise typer.BadParameter("give --replay or --command, not both", param_hint="--replay")
    commands: list[CommandReplay] = []

    def made(config: HarnessConfig) -> Replay:
        from ruleproof.edge.replaycommand import CommandReplay

        if replay is not None:
            return _loaded(replay, "--replay")
        commands.append(CommandReplay(command or "", timeout_s=config.replay_timeout_s))
        return commands[0]

    def progress(done: int, total: int, result: CaseResult) -> None:
        out.note(f"[{done}/{total}] {result.kind} {result.case_id}: {result.status} {figures(result)}".rstrip())

    wired = replay is not None or command is not None
    try:
        with contextlib.redirect_stdout(sys.stderr):  # what the host's functions print is no part of our document
            scoring = _loaded(evaluator, "--evaluator") if evaluator is not None else None
            with opened(evaluator=scoring, replay=made if wired else None) as harness:
                if not harness.trust.trusted:
                    return Reply({"trusted": False}, paragraph(distrust(harness)), Exit.UNCHECKED)
                found = asyncio.run(harness.run_regression(sample=sample, progress=progress))
    finally:
        for one in commands:
            one.close()
    if junit_ is not None:
        write_atomic(junit_, junit(found))
    warning, data = _warning(found), found.as_json()
    if not warning:
        return Reply(data, _text(found, wired), _code(found))
    return Reply({**data, "warning": warning}, _text(found, wired), _code(found), notes=(f"Warning: {warning}",))


def _loaded(name: str, option: str) -> Callable[..., Any]:
    from ruleproof.edge.replaycommand import load_function

    try:
        return load_function(name)
    except RuleproofError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None


def _warning(found: RegressionReport) -> str:
    """What a run that compared some cases and skipped others does not say; empty where nothing was skipped."""
    skipped = found.count("skipped")
    if not skipped or not found.replayed:
        return ""
    return (
        f"{skipped} of {len(found.results)} cases were skipped, so nothing is claimed about them; "
        f"{found.replayed} were compared."
    )


def _code(found: RegressionReport) -> Exit:
    if not found.clean:
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
