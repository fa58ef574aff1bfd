"""Claude Code transcripts: JSON Lines, one event a line, each with its `sessionId`.

Lines are taken in the order of the file, a repeated `uuid` once. A file usually holds one session, but several may
interleave: a session stays open until the file ends or until MAX_OPEN others were touched since its last line. A line
that comes back to a session which was closed so makes a second one of that id, which the registry then names. Turns of
sub-agents (`isSidechain`) become traces of their own beside those of the main conversation.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from ruleproof.codec.textstream import Item
from ruleproof.codec.transcripts.base import (
    BadRecord,
    Record,
    costs,
    first_of,
    identity,
    kind,
    mapping,
    moment,
    refused,
)
from ruleproof.codec.transcripts.turns import Turns
from ruleproof.core.problems import Problem
from ruleproof.core.session import Session

name = "claude-code"
title = "Claude Code transcripts: JSON Lines with sessionId, type and message"
splits: Literal["json", "lines"] = "json"

MAX_OPEN = 32
_SPOKEN = ("user", "assistant")


def sniff(first: object) -> bool:
    if not isinstance(first, Mapping) or not isinstance(first.get("type"), str):
        return False
    return "sessionId" in first or ("leafUuid" in first and first["type"] == "summary")


def read(items: Iterator[Item]) -> Iterator[Record]:
    """Each session when it is closed. Lines of other types (summaries, snapshots, notices) are skipped."""
    live: dict[str, _Open] = {}
    for item in items:
        if isinstance(item.value, Problem):
            yield item.value
            continue
        try:
            record = mapping(item.value, "the line")
            if not isinstance(record.get("type"), str):
                raise BadRecord("the line has no type")
            if record["type"] not in _SPOKEN or record.get("isMeta") is True:
                continue
            message = mapping(record.get("message"), "the message")
            _check(message)
            session_id = identity(record.get("sessionId"), "sessionId")
        except BadRecord as bad:
            yield refused(item, str(bad))
            continue
        session = live.pop(session_id, None) or _Open(session_id)
        live[session_id] = session  # last in the order of touch
        session.add(record, message, item.note)
        if len(live) > MAX_OPEN:
            yield live.pop(next(iter(live))).session()
    for session in live.values():
        yield session.session()


def _check(message: Mapping[str, object]) -> None:
    content = message.get("content")
    if isinstance(content, str):
        return
    if not isinstance(content, list):
        raise BadRecord(f"the content of the message is {kind(content)}, not a text or a list of blocks")
    strange = next((block for block in content if not isinstance(block, Mapping)), None)
    if strange is not None:
        raise BadRecord(f"a block of the message is {kind(strange)}, not an object")


class _Open:
    """One session that may still grow."""

    def __init__(self, session_id: str) -> None:
        self._id = session_id
        self._main = Turns()
        self._sides: dict[str, Turns] = {}
        self._seen: set[str] = set()
        self._usage: dict[str, Mapping[str, object]] = {}
        self._started: str | None = None
        self._notes: list[str] = []

    def add(self, record: Mapping[str, object], message: Mapping[str, object], note: str) -> None:
        uuid = record.get("uuid")
        if isinstance(uuid, str):
            if uuid in self._seen:
                return
            self._seen.add(uuid)
        self._started = self._started or moment(record.get("timestamp"))
        self._notes += [note] if note else []
        turns = self._main
        if record.get("isSidechain") is True:
            agent = str(record.get("agentId") or "")
            turns = self._sides.setdefault(agent, Turns(f"side-{len(self._sides) + 1}-turn-"))
        turns.message({"role": record["type"], **message})
        if isinstance(message.get("usage"), Mapping):
            # Each block of a reply is a line of its own that repeats the figures of the whole reply.
            self._usage[str(message.get("id") or uuid or len(self._usage))] = mapping(message["usage"])

    def session(self) -> Session:
        every = [self._main, *self._sides.values()]
        traces = tuple(trace for turns in every for trace in turns.done())
        spent: dict[str, object] = {"calls": sum(len(trace.calls) for trace in traces)}
        for field in ("input_tokens", "output_tokens"):
            figures = costs({str(i): first_of(usage, field) for i, usage in enumerate(self._usage.values())})
            spent |= {field: sum(figures.values())} if figures else {}
        notes = (*dict.fromkeys(self._notes), *(note for turns in every for note in turns.notes))
        return Session(self._id, traces, started_at=self._started, costs=costs(spent), notes=notes)
