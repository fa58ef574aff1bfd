"""`ruleproof ingest`: recorded sessions of any known format, read in a stream; the same file twice changes nothing."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, BinaryIO

import typer

from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.layout import paragraph, table
from ruleproof.surfaces.cli.opening import opened, path_of
from ruleproof.surfaces.cli.output import Output, Reply, as_value
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.engine.ingest import IngestResult

BLOCK = 1 << 18
NAMED = 20
"""Problems that people are shown; JSON has them all."""


@verb(
    "ruleproof ingest gpt-4o-airline.json", "ruleproof ingest --dry-run scores.csv", "ruleproof ingest - < chats.jsonl"
)
def ingest(
    out: Output,
    files: Annotated[
        list[str], typer.Argument(metavar="FILE", help="Recorded sessions or scores; - reads standard input.")
    ],
    format_: Annotated[
        str | None, typer.Option("--format", metavar="NAME", help="The format, where it is not recognised.")
    ] = None,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Read and count; write nothing.")] = False,
) -> Reply:
    """Read recorded sessions, score them, post notices.

    There is one notice for each kind of failure, with its count and examples. Records that cannot be read are named
    and skipped. History is never evidence in a rule's trial.
    """
    from ruleproof.engine.ingest import ingest as ingest_it

    sources = [_opened(name) for name in files]
    results: list[tuple[str, IngestResult]] = []
    with contextlib.ExitStack() as stack, opened(make=True) as harness:
        for name, source, size in sources:
            stack.enter_context(contextlib.closing(source))
            with out.progress(size) as progress:
                done = ingest_it(
                    harness.workspace,
                    _chunks(source),
                    format=format_,
                    thresholds=harness.config.threshold,
                    weights=harness.config.signal_weights,
                    progress=progress,
                    dry_run=dry_run,
                    shadow=harness.config.mode == "observe_only",
                )
            results.append((name, done))
    bad = any(done.skipped > sum(problem.severity == "info" for problem in done.problems) for _, done in results)
    text = _text(results, dry_run)
    return Reply(
        {"files": [_data(*result) for result in results], "dry_run": dry_run},
        text,
        Exit.PROBLEMS if bad else Exit.DONE,
    )


def _opened(name: str) -> tuple[str, BinaryIO, int | None]:
    if name == "-":
        return "standard input", sys.stdin.buffer, None
    try:
        source = path_of(name).open("rb")
        return name, source, path_of(name).stat().st_size
    except OSError as error:
        raise typer.BadParameter(f"{name}: {error.strerror}", param_hint="FILE") from None


def _chunks(source: BinaryIO) -> Iterator[bytes]:
    while block := source.read(BLOCK):
        yield block


def _data(name: str, done: IngestResult) -> dict[str, object]:
    return {
        "file": name,
        "format": done.format,
        "read": done.read,
        "new": done.new,
        "known": done.known,
        "changed": done.changed,
        "skipped": done.skipped,
        "score_rows": done.score_rows,
        "notices": [notice.id for notice in done.notices],
        "problems": [as_value(problem) for problem in done.problems],
    }


def _text(results: list[tuple[str, IngestResult]], dry_run: bool) -> str:
    rows = [
        (
            Path(name).name,
            done.format or "unknown",
            done.read,
            done.new,
            done.known,
            done.changed,
            done.skipped,
            len(done.notices),
        )
        for name, done in results
    ]
    parts = [table(("file", "format", "read", "new", "known", "changed", "skipped", "notices"), rows)]
    for name, done in results:
        if done.notices:
            parts.append("\n".join(paragraph(f"{notice.id}: {notice.summary}", indent="  ") for notice in done.notices))
        if done.problems:
            lines = [paragraph(f"{name}: {problem}", indent="  ") for problem in done.problems[:NAMED]]
            more = len(done.problems) - NAMED
            parts.append("\n".join([*lines, *([f"and {more} more; --json lists them all"] if more > 0 else [])]))
    if dry_run:
        parts.append("Nothing was written.")
    return "\n\n".join(parts)
