"""Scored search over pool rules, learned rules and whatever else is registered, by an inverted index.

Score = for every query term 2 where a topic holds it, 1.5 the category, 1 the title, 1 the summary; a match gains at
most 0.1 by the age of its own record and, where this machine approved the rule, the core bonus. What matches no term is
no result. The bonus is added at query time and stands in no index.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import date
from heapq import nsmallest
from itertools import islice

from ruleproof.core.text import one_line, tokenise

HALVES = {"topic": 4, "category": 3, "title": 2, "summary": 2}
"""Weight of each field in half points, per query term."""

RECENT = ((30, 0.1), (180, 0.05))
"""(days, bonus): a record at most so old gains so much; less than half a point, so age never outranks a hit."""

RULE = "rule"
"""The kind of pool rules: the one that needs an approval to be seen by an agent."""

DEFAULT_LIMIT = 50
_DROPPED = frozenset(["the", "and"])

Words = tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Document:
    """One thing that can be found. `at`: when it was written, ISO-8601, by its own record; "" = unknown."""

    id: str
    kind: str
    title: str
    project: str = ""
    category: str = ""
    summary: str = ""
    topics: tuple[str, ...] = ()
    at: str = ""
    path: str = ""


@dataclass(frozen=True, slots=True)
class Query:
    """What is asked. `project` is always meant exactly: "" finds only what belongs to no project."""

    text: str
    project: str
    category: str = ""
    kinds: tuple[str, ...] = ()
    """Empty: every kind."""
    approved_only: bool = False
    """Pool rules that this machine did not approve are as if they did not exist: set for every caller but a person."""
    bonus: float = 0.15
    limit: int = DEFAULT_LIMIT


@dataclass(frozen=True, slots=True)
class Hit:
    """One result. `matched`: (term, field) pairs that answered."""

    document: Document
    score: float
    matched: tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True)
class Found:
    """The best results, and how many there are in all."""

    hits: tuple[Hit, ...] = ()
    total: int = 0


@dataclass(slots=True)
class _Bits:
    """Positions of one (field, word), and the same as a bit set once it was asked for."""

    positions: list[int] = field(default_factory=list)
    counted: int = 0
    mask: int = 0

    def bits(self) -> int:
        if self.counted != len(self.positions):
            space = bytearray(self.positions[-1] // 8 + 1)
            for position in self.positions:
                space[position >> 3] |= 1 << (position & 7)
            self.mask, self.counted = int.from_bytes(space, "little"), len(self.positions)
        return self.mask


class Index:
    """Documents by word. A document's position never changes; one that was replaced or removed leaves a hole."""

    def __init__(self, documents: Iterable[Document] = (), aliases: Mapping[str, str] | None = None) -> None:
        self._documents: list[Document] = []
        self._at: dict[str, int] = {}
        self._alive = 0
        self._ordered = 0
        self._top = ""
        self._words: dict[tuple[str, str], _Bits] = {}
        self._aliases = _classes(aliases or {})
        for document in sorted(documents, key=lambda document: document.id):
            self.put(document)

    def __len__(self) -> int:
        return len(self._at)

    def put(self, document: Document) -> None:
        """Add the document, or replace the one with its id."""
        self.remove(document.id)
        position = len(self._documents)
        self._documents.append(document)
        self._at[document.id] = position
        self._alive |= 1 << position
        if document.id > self._top:
            self._ordered |= 1 << position
            self._top = document.id
        for key in _keys(document):
            self._words.setdefault(key, _Bits()).positions.append(position)

    def remove(self, document_id: str) -> None:
        """Forget the document: no search finds it from now on."""
        position = self._at.pop(document_id, None)
        if position is not None:
            self._alive ^= 1 << position

    def search(self, query: Query, approved: Collection[str], today: date) -> Found:
        """The best `query.limit` documents. `approved`: ids of the rules in force here. Ties go to the smaller id."""
        answers = [
            (term, name, self._any(name, alternatives))
            for term, alternatives in _terms(query.text, self._aliases)
            for name in HALVES
        ]
        planes: list[int] = []
        matched = 0
        for _, name, mask in answers:
            _add(planes, mask, HALVES[name])
            matched |= mask
        matched &= self._allowed(query, approved)
        core, recent = self._positions(approved), self._recent(today)
        classes = [
            (halves / 2 + bonus, mask)
            for halves, group in _groups(matched, planes, len(planes) - 1, 0)
            for bonus, mask in _bonuses(group, core, query.bonus, recent)
        ]
        hits: list[Hit] = []
        for score, mask in sorted(classes, key=lambda pair: -pair[0]):
            for found in self._first(mask, query.limit - len(hits)):
                position = self._at[found.id]
                why = tuple((term, name) for term, name, bits in answers if bits >> position & 1)
                hits.append(Hit(found, score, why))
            if len(hits) >= query.limit:
                break
        return Found(tuple(hits), matched.bit_count())

    def _bits(self, name: str, word: str) -> int:
        found = self._words.get((name, word))
        return found.bits() if found else 0

    def _any(self, name: str, alternatives: Sequence[Words]) -> int:
        """Documents in whose field stand all words of one of the alternatives."""
        mask = 0
        for words in alternatives:
            part = self._bits(name, words[0])
            for word in words[1:]:
                part &= self._bits(name, word)
            mask |= part
        return mask

    def _allowed(self, query: Query, approved: Collection[str]) -> int:
        mask = self._alive & self._bits("=project", query.project)
        if query.category:
            mask &= self._bits("=category", query.category.casefold())
        if query.kinds:
            mask &= self._union(("=kind", kind) for kind in query.kinds)
        if query.approved_only:
            rules = self._bits("=kind", RULE)
            mask &= ~rules | self._positions(approved)
        return mask

    def _union(self, keys: Iterable[tuple[str, str]]) -> int:
        mask = 0
        for name, word in keys:
            mask |= self._bits(name, word)
        return mask

    def _positions(self, ids: Collection[str]) -> int:
        mask = 0
        for found in ids:
            if (position := self._at.get(found)) is not None:
                mask |= 1 << position
        return mask

    def _recent(self, today: date) -> list[tuple[float, int]]:
        """(gain, documents so new), the newest first; a day ahead of ours may be today elsewhere."""
        newest = today.toordinal() + 1
        return [(gain, self._union(("=day", str(newest - back)) for back in range(days + 2))) for days, gain in RECENT]

    def _first(self, mask: int, count: int) -> list[Document]:
        """The `count` documents of `mask` with the smallest ids; positions in `_ordered` follow the ids."""
        held = [*islice(_bits_of(mask & self._ordered), count), *_bits_of(mask & ~self._ordered)]
        return nsmallest(count, map(self._documents.__getitem__, held), key=lambda document: document.id)


def _bonuses(group: int, core: int, bonus: float, recent: Iterable[tuple[float, int]]) -> Iterator[tuple[float, int]]:
    """The parts of `group` with one bonus each: approved or not, by age."""
    for gain, fresh in (*recent, (0.0, group)):
        part = group & fresh
        group ^= part
        yield gain + max(0.0, bonus), part & core
        yield gain, part & ~core


def _bits_of(mask: int) -> Iterator[int]:
    """Positions of the bits of `mask`, the lowest first."""
    while mask:
        low = mask & -mask
        yield low.bit_length() - 1
        mask ^= low


def _keys(document: Document) -> Iterator[tuple[str, str]]:
    yield "=project", document.project
    yield "=kind", document.kind
    yield "=category", document.category.casefold()
    with suppress(ValueError):
        yield "=day", str(date.fromisoformat(document.at[:10]).toordinal())
    texts = {"category": (document.category,), "title": (document.title,), "summary": (document.summary,)}
    for name, values in ({"topic": document.topics} | texts).items():
        for word in {word for value in values for word in tokenise(value)}:
            yield name, word


def _add(planes: list[int], mask: int, halves: int) -> None:
    """Add `halves` to the count of every document in `mask`; plane i holds bit i of all counts."""
    for bit in range(halves.bit_length()):
        if halves >> bit & 1:
            carry, plane = mask, bit
            while carry:
                while plane >= len(planes):
                    planes.append(0)
                planes[plane], carry = planes[plane] ^ carry, planes[plane] & carry
                plane += 1


def _groups(mask: int, planes: Sequence[int], plane: int, value: int) -> Iterator[tuple[int, int]]:
    """(count, documents of `mask` with that count), for every count that occurs."""
    if not mask:
        return
    if plane < 0:
        yield value, mask
        return
    high = mask & planes[plane]
    yield from _groups(high, planes, plane - 1, value | 1 << plane)
    yield from _groups(mask ^ high, planes, plane - 1, value)


def _terms(text: str, aliases: Mapping[Words, tuple[Words, ...]]) -> list[tuple[str, list[Words]]]:
    """(term, what answers it) for every distinct word of the query, and for every alias of several words in it."""
    words = dict.fromkeys(word for word in tokenise(text) if word not in _DROPPED)
    terms = [(word, [(word,), *aliases.get((word,), ())]) for word in words]
    for label, others in aliases.items():
        if len(label) > 1 and words.keys() >= set(label):
            terms.append((" ".join(label), list(others)))
    return terms


def _classes(aliases: Mapping[str, str]) -> dict[Words, tuple[Words, ...]]:
    """Each label's other names, as words: labels that a chain of aliases connects belong together."""
    above: dict[str, str] = {}

    def top(label: str) -> str:
        while above.setdefault(label, label) != label:
            above[label] = label = above[above[label]]
        return label

    for label, target in aliases.items():
        above[top(label)] = top(target)
    groups: dict[str, set[Words]] = {}
    for label in above:
        if words := tokenise(label):
            groups.setdefault(top(label), set()).add(words)
    return {words: tuple(sorted(group - {words})) for group in groups.values() for words in group if len(group) > 1}


@dataclass(frozen=True, slots=True)
class Packed:
    """Results as lines, within a budget of tokens. The first line is always there; `used` says what all lines cost."""

    lines: tuple[str, ...]
    total: int
    requested: int
    used: int

    @property
    def shown(self) -> int:
        return len(self.lines)

    @property
    def remaining(self) -> int:
        return max(0, self.requested - self.used)


def pack(found: Found, max_tokens: int, count: Callable[[str], int]) -> Packed:
    """The results in their order until one does not fit; nothing is skipped and `total` counts what was left out."""
    lines: list[str] = []
    used = 0
    for hit in found.hits:
        text = line(hit)
        cost = count(text)
        if lines and used + cost > max_tokens:
            break
        lines.append(text)
        used += cost
    return Packed(tuple(lines), found.total, max_tokens, used)


def line(hit: Hit) -> str:
    """`score | date | kind | title | path (topics: ...)`, one line whatever the fields hold."""
    document = hit.document
    day = document.at[:10] if document.at else "----"
    text = f"{hit.score:.2f} | {day} | {document.kind} | {document.title} | {document.path or document.id}"
    if document.topics:
        text += f" (topics: {', '.join(document.topics)})"
    return one_line(text, 400)
