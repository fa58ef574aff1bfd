"""What every transcript format shares: its protocol, the rows it may give, and how a field is read or refused.

Total: a record that cannot be read raises `BadRecord` inside its own module and leaves it as a `Problem`; the rest
loads. An id is text; a whole number is taken as its digits; anything else (a fraction, a list, true) is refused.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from math import isfinite
from typing import Literal, Protocol

from ruleproof.codec.textstream import Item
from ruleproof.core.ids import digest, opaque, shown
from ruleproof.core.problems import Problem
from ruleproof.core.score import checked_cost, checked_value
from ruleproof.core.session import Session
from ruleproof.core.text import one_line
from ruleproof.errors import Refused


@dataclass(frozen=True, slots=True)
class ScoreRow:
    """One score that a file gives of a session: no transcript, only the figure. None = missing, never 0."""

    session_id: str
    metric: str
    value: float | None
    task_id: str | None = None
    where: str = ""


Record = Session | ScoreRow | Problem


class Format(Protocol):
    """One recorded format: a module with these names. `splits`: what `read` is fed, JSON values or lines of text."""

    name: str
    title: str
    splits: Literal["json", "lines"]

    def sniff(self, first: object) -> bool:
        """Whether `first`, a decoded value or a line of text, looks like this format. Never raises."""
        ...

    def read(self, items: Iterator[Item]) -> Iterator[Record]:
        """The sessions or score rows of the stream, as they become complete, with a Problem for each bad record."""
        ...


_SURROGATE = re.compile("[\ud800-\udfff]")


class BadRecord(ValueError):
    """This record cannot be read; the message says why. Never leaves `codec.transcripts`."""


def each(items: Iterable[Item], build: Callable[[Item], Iterable[Record]]) -> Iterator[Record]:
    """`build` over every item; a record that it cannot read becomes a Problem that names where it is."""
    for item in items:
        if isinstance(item.value, Problem):
            yield item.value
            continue
        try:
            yield from build(item)
        except BadRecord as bad:
            yield refused(item, str(bad))
        except RecursionError:
            yield refused(item, "the record is nested too deeply")


def refused(item: Item, reason: str) -> Problem:
    return Problem("bad-record", f"{reason[:1].upper()}{reason[1:]}.", item.where)


def kind(value: object) -> str:
    """The JSON type of `value`, as a word for a message."""
    if isinstance(value, bool):
        return "a boolean"
    names = {dict: "an object", list: "a list", str: "a text", int: "a number", float: "a number"}
    return "nothing" if value is None else names.get(type(value), type(value).__name__)


def mapping(value: object, what: str = "the record") -> Mapping[str, object]:
    if isinstance(value, Mapping):
        return value
    raise BadRecord(f"{what} is {kind(value)}, not an object")


def identity(value: object, what: str) -> str:
    """`value` as an id: text, or a whole number's digits. Raises BadRecord."""
    if isinstance(value, int) and not isinstance(value, bool):
        value = str(value)
    try:
        return opaque(value)
    except Refused:
        shape = f"{shown(value)}, not a usable id" if isinstance(value, str) else f"{kind(value)}, not a text"
        raise BadRecord(f"{what} is {shape}") from None


def first_of(record: Mapping[str, object], *names: str) -> object:
    """The first of the named fields that is present and not null, or None."""
    return next((record[name] for name in names if record.get(name) is not None), None)


def canonical(value: object) -> str:
    """`value` as JSON with sorted keys. Text is parsed first and kept as it is where it is no JSON; "" is `{}`."""
    try:
        if isinstance(value, str):
            value = json.loads(value, parse_constant=_no_constant) if value.strip() else {}
        return clean(json.dumps(value, sort_keys=True, ensure_ascii=False, separators=(",", ":"), default=str))
    except RecursionError:
        return "(nested too deeply)"
    except (ValueError, TypeError):
        return clean(value) if isinstance(value, str) else "(not a JSON value)"


def _no_constant(token: str) -> object:
    raise ValueError(token)


def clean(text: str) -> str:
    """`text` with U+FFFD for every lone surrogate."""
    return text if text.isascii() else _SURROGATE.sub("\ufffd", text)


def score(value: object, metric: object = "score") -> float | None:
    """`value` as a score. Raises BadRecord with the metric and the reason."""
    try:
        return checked_value(one_line(str(metric), 60), value)
    except Refused as error:
        raise BadRecord(error.message.rstrip(".")) from None


def costs(given: Mapping[str, object]) -> dict[str, float]:
    """Those of the given costs that are finite numbers >= 0; a cost that is no such number is left out."""
    kept: dict[str, float] = {}
    for name, value in given.items():
        try:
            kept[name] = checked_cost(name, value)
        except (Refused, OverflowError):
            continue
    return kept


def moment(value: object) -> str | None:
    """`value` as ISO-8601 with offset: such a text, or seconds since 1970; None for anything else."""
    try:
        if isinstance(value, str):
            return value if datetime.fromisoformat(value).tzinfo else None
        if isinstance(value, (int, float)) and not isinstance(value, bool) and isfinite(value):
            return datetime.fromtimestamp(value, UTC).isoformat()
    except (ValueError, OverflowError, OSError):
        pass
    return None


def fingerprint(session: Session) -> str:
    """What the session says, as a digest: equal for two recordings of the same content, notes of the reader apart."""
    return digest(repr(replace(session, notes=())))
