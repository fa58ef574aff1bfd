"""The pool's index: one small text file a topic or category and month, made from the rule files alone.

Every machine makes the same bytes: dates come from the files' own text, order from dates and paths, never from file
times, a locale or what anybody approved. A shard is written again only when one of its entries changed.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass

from ruleproof.core.ids import digest
from ruleproof.core.proposal import Proposal
from ruleproof.core.text import one_line

_DAY = re.compile(r"\d{4}-\d{2}-\d{2}")
_OUTSIDE_SLUG = re.compile(r"[^a-z0-9]+")
MAX_LABEL = 80
UNDATED = "----"
_Key = tuple[str, str, str]
"""Project, label, month."""


@dataclass(frozen=True, slots=True)
class Entry:
    """What the index holds of one file. `labels`: its topics and its category, in the form they are compared in."""

    path: str
    day: str
    title: str
    labels: tuple[str, ...]

    @property
    def project(self) -> str:
        return self.path.split("/", 2)[1]

    @property
    def month(self) -> str:
        """`2026-09`, or `undated`."""
        return self.day[:7] if self.day != UNDATED else "undated"


def entry_of(rule: Proposal) -> Entry:
    """The entry of a rule file."""
    found = _DAY.match(rule.authored_at)
    labels = (_label(text) for text in (*rule.topics, rule.category))
    title = one_line(rule.title or rule.text, MAX_LABEL)
    return Entry(rule.place.path, found.group() if found else UNDATED, title, tuple(sorted({*labels} - {""})))


def _label(text: str) -> str:
    return one_line(text.casefold(), MAX_LABEL)


def shard_path(project: str, label: str, month: str) -> str:
    """`index/<project>/<slug>-<hash>/<month>.md`: two labels never share a folder, whatever their script."""
    slug = _OUTSIDE_SLUG.sub("-", label)[:40].strip("-") or "topic"
    return f"index/{project}/{slug}-{digest(label)[:8]}/{month}.md"


def shards(entries: Iterable[Entry]) -> dict[str, bytes]:
    """Every shard of the pool: path -> bytes."""
    made = changed({}, {entry.path: entry for entry in entries})
    return {path: data for path, data in made.items() if data is not None}


def changed(before: Mapping[str, Entry], after: Mapping[str, Entry]) -> dict[str, bytes | None]:
    """The shards that differ between two states of the pool (path of the file -> entry): bytes, or None = remove."""
    touched: set[_Key] = set()
    for path in before.keys() | after.keys():
        old, new = before.get(path), after.get(path)
        if old is not new and old != new:
            touched.update(key for entry in (old, new) if entry for key in _keys(entry))
    groups: dict[_Key, list[Entry]] = {key: [] for key in touched}
    months = {key[2] for key in touched}
    for entry in after.values() if touched else ():
        if entry.month in months:
            for key in _keys(entry):
                if key in groups:
                    groups[key].append(entry)
    return {shard_path(*key): _shard(key[1], group) if group else None for key, group in sorted(groups.items())}


def _keys(entry: Entry) -> Iterator[_Key]:
    for label in entry.labels:
        yield entry.project, label, entry.month


def _shard(label: str, entries: list[Entry]) -> bytes:
    by_path = sorted(entries, key=lambda entry: entry.path)
    newest = sorted(by_path, key=lambda entry: entry.day, reverse=True)
    lines = [f"{entry.day} | {entry.title} | {entry.path}" for entry in newest]
    return "\n".join([f"# {label}", f"entries: {len(lines)}", "", *lines, ""]).encode("utf-8", "replace")
