"""Plain score files in JSON: {"session": ..., "metric": ..., "value": ...} a line or element; no transcript.

`session_id`, `name` and `score` are taken for the same. null and "" are missing; a value that is no number from 0 to 1
is a Problem that names the line. A session id is text and stays what it was.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Literal

from ruleproof.codec.textstream import Item
from ruleproof.codec.transcripts.base import BadRecord, Record, ScoreRow, each, identity, mapping, score

name = "scores"
title = "scores in JSON Lines: {session, metric, value}, value from 0 to 1 or null"
splits: Literal["json", "lines"] = "json"

COLUMNS = {
    "session": ("session", "session_id"),
    "metric": ("metric", "name"),
    "value": ("value", "score"),
    "task": ("task", "task_id"),
}
"""What a field may be called."""


def column(names: Mapping[str, object], field: str) -> str | None:
    """The name under which `names` holds `field`, or None."""
    return next((alias for alias in COLUMNS[field] if alias in names), None)


def sniff(first: object) -> bool:
    return isinstance(first, Mapping) and all(column(first, field) for field in ("session", "metric", "value"))


def read(items: Iterator[Item]) -> Iterator[Record]:
    return each(items, lambda item: [row(mapping(item.value), item)])


def row(record: Mapping[str, object], item: Item) -> ScoreRow:
    """One score. Raises BadRecord with the reason."""
    fields = {field: record.get(column(record, field) or "") for field in COLUMNS}
    for field in ("session", "metric", "value"):
        if column(record, field) is None:
            raise BadRecord(f"the record has no {field} ({' or '.join(COLUMNS[field])})")
    value = None if fields["value"] == "" else score(fields["value"], fields["metric"])
    task = fields["task"]
    return ScoreRow(
        identity(fields["session"], "the session id"),
        identity(fields["metric"], "the metric"),
        value,
        None if task in (None, "") else identity(task, "the task id"),
        item.where,
    )
