"""The recorded runs of tau-bench: a JSON array of tasks, each with its conversation (`traj`), reward and trial number.

A reward is the outcome, from a checker that looked at the database; the id is `task-<task>-trial-<trial>`. A tool's
answer that starts with `Error` is a failed call, as the benchmark's tools have it.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from ruleproof.codec.textstream import Item
from ruleproof.codec.transcripts.base import (
    BadRecord,
    Record,
    costs,
    each,
    identity,
    kind,
    mapping,
    refused,
    score,
)
from ruleproof.codec.transcripts.turns import Turns
from ruleproof.core.session import Session

name = "tau"
title = "tau-bench results: a JSON array of {task_id, trial, reward, traj, info}"
splits: Literal["json", "lines"] = "json"


def sniff(first: object) -> bool:
    return isinstance(first, Mapping) and isinstance(first.get("traj"), list) and "task_id" in first


def read(items: Iterator[Item]) -> Iterator[Record]:
    return each(items, _session)


def _session(item: Item) -> Iterator[Record]:
    record = mapping(item.value)
    messages = record.get("traj")
    if not isinstance(messages, list):
        raise BadRecord(f"traj is {kind(messages)}, not a list of messages")
    task = identity(record.get("task_id"), "task_id")
    trial = identity(record.get("trial", 0), "trial")
    turns = Turns()
    for message in messages:
        if isinstance(message, Mapping) and message.get("role") == "tool":
            content = message.get("content")
            failed = isinstance(content, str) and content.startswith("Error")
            turns.result(
                content, call_id=message.get("tool_call_id") or "", name=message.get("name") or "", failed=failed
            )
        else:
            turns.message(message)
    traces = turns.done()
    outcome = None
    try:
        outcome = score(record.get("reward"))
    except BadRecord as bad:
        yield refused(item, f"reward: {bad}; the session is kept without an outcome")
    info = record.get("info")
    yield Session(
        identity(f"task-{task}-trial-{trial}", "the session id"),
        traces,
        task_id=task,
        scores={"outcome": outcome},
        costs=costs(_costs(info if isinstance(info, Mapping) else {}, sum(len(trace.calls) for trace in traces))),
        notes=(*([item.note] if item.note else []), *turns.notes),
    )


def _costs(info: Mapping[str, object], calls: int) -> dict[str, object]:
    """The money that the agent and the simulated user cost; the recordings name only the second."""
    spent = costs({key: info.get(key) for key in ("agent_cost", "user_cost")})
    return {"calls": calls} | ({"money": sum(spent.values())} if spent else {})
