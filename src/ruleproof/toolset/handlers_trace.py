"""Traces: the recorded evidence behind notices, found by notice, trace or session. All of it is data."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from ruleproof.codec.reading import items, mapping, texts
from ruleproof.core import ids
from ruleproof.errors import NotFound, Refused
from ruleproof.toolset.arguments import TraceInspect
from ruleproof.toolset.bounded import rows
from ruleproof.toolset.handlers_mailbox import DUMPS, read_dump
from ruleproof.toolset.spec import Bench, Result

LOOKED_AT = 200
"""Dumps that one question opens, newest first."""
MATCHES = 5


@dataclass(slots=True)
class _Search:
    found: list[Result]
    looked_at: int
    total: int


def trace_inspect(bench: Bench, args: TraceInspect) -> Result:
    """The newest dumps about a notice, a trace or a session. Raises NotFound with how many were looked at."""
    search = _search(bench, args.trace_id)
    if not search.found:
        raise NotFound(
            f"No dump speaks of {ids.shown(args.trace_id)}: {search.looked_at} of {search.total} were looked at, "
            "newest first.",
            hint="harness_mailbox_read shows the ids that a notice has.",
        )
    dumps, cut = rows(search.found, keep="first")
    return {
        "untrusted": True,
        "trace_id": args.trace_id,
        "dumps": dumps,
        "looked_at": search.looked_at,
        "total": search.total,
        "cut": cut,
    }


def _search(bench: Bench, wanted: str) -> _Search:
    """Dumps that speak of `wanted`: the one of that notice, else the newest few."""
    names = [name[:-5] for name in bench.workspace.ports.files.names(DUMPS) if _is_dump(name)]
    search = _Search([], 0, len(names))
    for name in [wanted] if wanted in names else reversed(names[-LOOKED_AT:]):
        dump = read_dump(bench, name)
        search.looked_at += 1
        matched = None if dump is None else "notice" if name == wanted else _speaks_of(dump, wanted)
        if matched is not None:
            search.found.append({"name": name, "matched": matched, "dump": dump})
            if len(search.found) == MATCHES:
                break
    return search


def _is_dump(name: str) -> bool:
    """Whether a file of a folder that others may have filled can be one of ours."""
    try:
        ids.component(name.removesuffix(".json"))
    except Refused:
        return False
    return name.endswith(".json")


def _speaks_of(dump: Mapping[str, object], wanted: str) -> str | None:
    """`session` or `trace` where the dump is about it."""
    if dump.get("session_id") == wanted:
        return "session"
    traces = {*texts(dump.get("flagged_traces")), *mapping(dump.get("signal_breakdown"))}
    for score in map(mapping, items(dump.get("scores"))):
        traces |= {*texts(score.get("flagged_traces")), *mapping(score.get("per_trace_signals"))}
    return "trace" if wanted in traces else None
