"""Chats in the shape of the OpenAI API: {"messages": [...]} a record, or a bare list of messages; tool calls included.

Also `from_messages`, which makes a session of the messages that a live turn left behind. A record without an id is
named by the digest of its bytes, so that the same record is the same session wherever it lies.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from typing import Literal

from ruleproof.codec.textstream import Item
from ruleproof.codec.transcripts.base import (
    BadRecord,
    Record,
    costs,
    each,
    first_of,
    identity,
    kind,
    mapping,
    moment,
    refused,
    score,
)
from ruleproof.codec.transcripts.turns import Turns, tool_list
from ruleproof.core.ids import opaque
from ruleproof.core.problems import Problem
from ruleproof.core.session import Session

name = "openai"
title = (
    'OpenAI-style chats: {"messages": [...], id, task_id, tools, reward} a line or element, or bare lists of messages'
)
splits: Literal["json", "lines"] = "json"


def sniff(first: object) -> bool:
    if isinstance(first, list):
        return bool(first) and _is_message(first[0])
    return isinstance(first, Mapping) and (isinstance(first.get("messages"), list) or _is_message(first))


def read(items: Iterator[Item]) -> Iterator[Record]:
    """A session a record. Messages that stand bare, in one array or on lines of their own, are one session."""
    bare: _Bare | None = None
    for item in items:
        if bare and (bare.group != item.group or not _is_message(item.value)) and not _is_noise(bare, item):
            yield bare.session()
            bare = None
        if _is_message(item.value):
            bare = bare or _Bare(item.group)
            bare.add(item)
        else:
            yield from each([item], _session)
    if bare:
        yield bare.session()


def from_messages(
    session_id: str, messages: Iterable[object], *, task_id: str | None = None, tools: object = None
) -> Session:
    """The session that `messages` (of the user, the agent and its tools, in order) make up, without scores.

    `tools`: a list of tools as the API takes it, or name -> schema. Raises Refused if `session_id` is no id.
    """
    turns = Turns()
    for message in messages:
        turns.message(message)
    return _built(opaque(session_id), turns, task_id=task_id, tools=tool_list(tools))


class _Bare:
    """Messages without a record around them, collected into one session."""

    def __init__(self, group: int) -> None:
        self.group, self._turns, self._digest, self._note = group, Turns(), sha256(), ""

    def add(self, item: Item) -> None:
        self._note = self._note or item.note
        self._digest.update(item.digest.encode())
        self._turns.message(item.value)

    def session(self) -> Session:
        return _built(f"chat-{self._digest.hexdigest()[:12]}", self._turns, note=self._note)


def _is_noise(bare: _Bare, item: Item) -> bool:
    """A broken record in the middle of bare messages does not end their session."""
    return bare.group == item.group and not isinstance(item.value, (Mapping, list))


def _is_message(value: object) -> bool:
    if not isinstance(value, Mapping) or "messages" in value:
        return False
    return isinstance(value.get("role"), str) and ("content" in value or "tool_calls" in value or "parts" in value)


def _session(item: Item) -> Iterator[Record]:
    value = item.value
    record = {"messages": value} if isinstance(value, list) else mapping(value)
    messages = record.get("messages")
    if not isinstance(messages, list):
        raise BadRecord(f"messages is {kind(messages)}, not a list")
    metadata = record.get("metadata")
    metadata = metadata if isinstance(metadata, Mapping) else {}
    task = first_of({**metadata, **record}, "task_id")
    given = first_of(record, "session_id", "id", "conversation_id")
    given = first_of(metadata, "session_id") if given is None else given
    session_id = f"chat-{item.digest[:12]}" if given is None else identity(given, "the session id")
    turns = Turns()
    for message in messages:
        turns.message(message)
    turns.stop(record.get("finish_reason"))
    scores, problem = _outcome(record, item)
    if problem:
        yield problem
    usage = record.get("usage")
    yield _built(
        session_id,
        turns,
        task_id=None if task is None else identity(task, "task_id"),
        tools=tool_list(record.get("tools") or record.get("functions")),
        started_at=moment(first_of(record, "created_at", "created", "timestamp")),
        scores=scores,
        usage=usage if isinstance(usage, Mapping) else {},
        note=item.note,
    )


def _outcome(record: Mapping[str, object], item: Item) -> tuple[dict[str, float | None], Problem | None]:
    field = next((field for field in ("reward", "score") if field in record), None)
    if field is None:
        return {}, None
    try:
        return {"outcome": score(record[field])}, None
    except BadRecord as bad:
        return {"outcome": None}, refused(item, f"{field}: {bad}; the session is kept without an outcome")


def _built(
    session_id: str,
    turns: Turns,
    *,
    task_id: str | None = None,
    tools: Mapping[str, str] | None = None,
    started_at: str | None = None,
    scores: Mapping[str, float | None] | None = None,
    usage: Mapping[str, object] | None = None,
    note: str = "",
) -> Session:
    traces = turns.done()
    used = usage or {}
    spent = {
        "calls": sum(len(trace.calls) for trace in traces),
        "input_tokens": first_of(used, "prompt_tokens", "input_tokens"),
        "output_tokens": first_of(used, "completion_tokens", "output_tokens"),
    }
    return Session(
        session_id,
        traces,
        task_id,
        started_at,
        tools or {},
        scores or {},
        costs(spent),
        (*([note] if note else []), *turns.notes),
    )
