"""Which sessions failed, as a person or another checker says: CSV, a JSON object, or JSON rows.

1, true, yes and y mean failed; 0, false, no and n mean it did not; anything else is a Problem. A session that is
labelled both ways is left out, and said so.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from ruleproof.codec.jsonstream import values
from ruleproof.codec.textstream import Item, head, lines
from ruleproof.codec.transcripts.base import BadRecord, identity, kind, refused
from ruleproof.codec.transcripts.scores import column
from ruleproof.codec.transcripts.scores_csv import cut, header
from ruleproof.core.ids import shown
from ruleproof.core.problems import Problem

WORDS: Mapping[str, bool] = dict.fromkeys(("1", "true", "yes", "y"), True) | dict.fromkeys(
    ("0", "false", "no", "n"), False
)


def read_labels(chunks: Iterable[bytes]) -> tuple[Mapping[str, bool], tuple[Problem, ...]]:
    """Session -> whether it failed, and what could not be read.

    Takes CSV with `session` (or `session_id`) and `failed`; an object session -> failed; or rows of
    {"session": ..., "failed": ...} in an array or on lines.
    """
    first, stream = head(chunks)
    labels: dict[str, bool] = {}
    twice: set[str] = set()
    problems: list[Problem] = []
    for item in values(stream) if first[:1] in ("{", "[") else _rows(lines(stream)):
        if isinstance(item.value, Problem):
            problems.append(item.value)
            continue
        for session, given in _pairs(item.value):
            try:
                session_id, failed = identity(session, "the session id"), word(given)
                if labels.setdefault(session_id, failed) != failed:
                    twice.add(session_id)
            except BadRecord as bad:
                problems.append(refused(item, str(bad)))
    for session_id in sorted(twice):
        del labels[session_id]
        problems.append(Problem("two-labels", "The session is labelled both ways; it was left out.", session_id))
    return labels, tuple(problems)


def _pairs(value: object) -> Iterable[tuple[object, object]]:
    """(session, label) as they were given, to be refused later if they are none."""
    if not isinstance(value, Mapping):
        return [(None, None)]
    session = column(value, "session")
    if session is None and "failed" not in value:
        return value.items()
    return [(value[session] if session else None, value.get("failed"))]


def _rows(items: Iterator[Item]) -> Iterator[Item]:
    first = next(items, None)
    if first is None:
        return
    names, delimiter = header(str(first.value))
    if column(dict.fromkeys(names), "session") is None or "failed" not in names:
        yield Item(refused(first, "the header does not name session and failed; nothing was read"), first.where)
        return
    for item in items:
        try:
            cells = cut(str(item.value), delimiter)
            if len(cells) != len(names):
                raise BadRecord(f"the line has {len(cells)} fields, the header {len(names)}")
            yield Item(dict(zip(names, cells, strict=True)), item.where)
        except BadRecord as bad:
            yield Item(refused(item, str(bad)), item.where)


def word(value: object) -> bool:
    """Whether `value` means failed. Raises BadRecord for a word or figure that is in neither list."""
    if isinstance(value, (bool, int, str)):
        text = str(value).strip().casefold()
        if text in WORDS:
            return WORDS[text]
        raise BadRecord(f"the label is {shown(value)}, none of {', '.join(WORDS)}")
    raise BadRecord(f"the label is {kind(value)}, not yes or no")
