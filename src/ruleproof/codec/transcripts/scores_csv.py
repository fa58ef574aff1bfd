"""Plain score files in CSV: a header that names session, metric and value (or their other names), then a row a score.

A row is one line, so that a stray quote never swallows the rows after it. Comma, semicolon and tab are told apart by
the header. An empty value and `null` are missing; NaN, Infinity, true and 7 are Problems that name the line.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator
from typing import Literal

from ruleproof.codec.textstream import Item
from ruleproof.codec.transcripts.base import BadRecord, Record, each, refused
from ruleproof.codec.transcripts.scores import column, row
from ruleproof.codec.transcripts.scores import sniff as has_columns
from ruleproof.core.ids import shown
from ruleproof.core.problems import Problem

name = "scores-csv"
title = "scores in CSV with a header: session,metric,value"
splits: Literal["json", "lines"] = "lines"

_NUMBER = re.compile(r"[+-]?(\d+(\.\d*)?|\.\d+)([eE][+-]?\d+)?", re.ASCII)


def sniff(first: object) -> bool:
    return isinstance(first, str) and has_columns(dict.fromkeys(header(first)[0], ""))


def read(items: Iterator[Item]) -> Iterator[Record]:
    first = next(items, None)
    if first is None:
        return
    if not isinstance(first.value, str) or not sniff(first.value):
        problem = first.value if isinstance(first.value, Problem) else None
        yield problem or refused(first, "the header does not name session, metric and value; nothing was read")
        return
    names, delimiter = header(first.value)

    def build(item: Item) -> list[Record]:
        cells = cut(str(item.value), delimiter)
        if len(cells) != len(names):
            raise BadRecord(f"the line has {len(cells)} fields, the header {len(names)}")
        record: dict[str, object] = dict(zip(names, cells, strict=True))
        for field in ("value", "score"):
            if field in record:
                record[field] = number(str(record[field]), record.get(column(record, "metric") or ""))
        return [row(record, item)]

    yield from each(items, build)


def header(line: str) -> tuple[list[str], str]:
    """The column names (lower case, without blanks around) and the delimiter, which is the one that cuts most."""
    delimiter = max(",;\t", key=line.count)
    try:
        return [cell.strip().casefold() for cell in cut(line, delimiter)], delimiter
    except BadRecord:
        return [], delimiter


def cut(line: str, delimiter: str) -> list[str]:
    """The fields of one line. Raises BadRecord where the quotes do not close."""
    try:
        return next(csv.reader([line], delimiter=delimiter, strict=True), [])
    except csv.Error as error:
        raise BadRecord(f"not CSV: {error}") from None


def number(cell: str, metric: object) -> float | None:
    """The number in a cell; None where it is empty or null. Raises BadRecord for anything else, with the metric."""
    text = cell.strip()
    if text.casefold() in ("", "null"):
        return None
    if not _NUMBER.fullmatch(text):
        raise BadRecord(f"score {shown(metric)} is {shown(text)}, not a number")
    return float(text)
