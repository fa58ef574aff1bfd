"""The transcript formats, in the order in which they are asked whether a file is theirs, and the way to read a file.

The first bytes tell JSON from CSV; the first value that some format knows tells the format. Strict about a format that
the caller names, total about what a file holds. A session that comes twice with the same content counts once; one that
comes again with other content is left out and named: one session is one piece of evidence.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ruleproof.codec.jsonstream import values
from ruleproof.codec.textstream import Item, head, lines
from ruleproof.codec.transcripts import claude_code, openai, otlp, scores, scores_csv, tau
from ruleproof.codec.transcripts.base import Format, Record, fingerprint
from ruleproof.core.ids import shown
from ruleproof.core.problems import Problem
from ruleproof.core.session import Session
from ruleproof.errors import Refused

FORMATS: tuple[Format, ...] = (tau, otlp, claude_code, openai, scores, scores_csv)
NAMES = ", ".join(each.name for each in FORMATS)

_LOOK = 50  # leading records in which the format is looked for


def pick(first: object, name: str | None = None) -> Format:
    """The format called `name`, or else the one that knows `first`, a decoded value (or a line of text).

    Raises Refused, with the list of names, for a name or a value that none has.
    """
    found = next((each for each in FORMATS if (each.name == name if name else each.sniff(first))), None)
    if found:
        return found
    thing = f"{shown(name)} is not a transcript format" if name else "No transcript format knows this record"
    raise Refused(f"{thing}.", hint=f"The formats are {NAMES}.")


def read_sessions(
    chunks: Iterable[bytes], *, format: str | None = None, told: Callable[[str], object] | None = None
) -> Iterator[Record]:
    """The sessions and scores in a stream of bytes, as they become complete, with a Problem for each bad record.

    `format` is one of `FORMATS` by name; None looks at the first records; `told` hears the name of the format, once it
    is known and before the first session. Raises Refused at once for an unknown name;
    nothing that the bytes hold raises. Memory: the largest record, the open sessions, and a digest a session.
    """
    named = pick(None, format) if format is not None else None
    return _once(_read(chunks, named, told or _nobody))


def _read(chunks: Iterable[bytes], named: Format | None, told: Callable[[str], object]) -> Iterator[Record]:
    first, stream = head(chunks)
    if not first:
        yield Problem("empty", "The file is empty, or blank for its first mebibyte.", severity="warning")
        return
    if scores_csv.sniff(first) and named in (None, scores):
        named = scores_csv
    if named:
        told(named.name)
        yield from named.read(lines(stream) if named.splits == "lines" else values(stream))
        return
    items = values(stream)
    seen: list[Item] = []
    for item in items:
        seen.append(item)
        known = next((each for each in FORMATS if each.splits == "json" and each.sniff(item.value)), None)
        if known:
            told(known.name)
            yield from known.read(_again(seen, items))
            return
        if len(seen) == _LOOK:
            break
    hint = f"Name it, if it is one of {NAMES}."
    yield Problem("unknown-format", "No transcript format knows the first records.", "line 1", hint=hint)


def _nobody(_: str) -> None:
    """Nobody listens."""


def _again(seen: list[Item], rest: Iterator[Item]) -> Iterator[Item]:
    while seen:
        yield seen.pop(0)
    yield from rest


def _once(records: Iterator[Record]) -> Iterator[Record]:
    seen: dict[str, str] = {}
    for record in records:
        if isinstance(record, Session):
            content = fingerprint(record)[:16]
            if record.id in seen:
                yield _repeat(record.id, seen[record.id] == content)
                continue
            seen[record.id] = content
        yield record


def _repeat(session_id: str, same: bool) -> Problem:
    if same:
        return Problem("repeated-session", "The session stands here twice; it counts once.", session_id, "info")
    return Problem(
        "two-sessions",
        "Another session of this id came before, with other content; this one was left out.",
        session_id,
        hint="Give each session an id of its own.",
    )
