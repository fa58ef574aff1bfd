"""Which rules matter now: an index over rule texts and tags, the lexical scorer, and why each rule ranked.

Score = (2 x query tokens among the tags + query tokens in the text only) / query tokens, in [0, 2]; ties go to the
newer rule, then to the smaller id. Text is rule, rationale and metric. A posting is a list of positions and, once asked
for, a bit set; positions follow age, so the best rules of one score are the highest bits, and a common tag costs no
walk.
"""

from __future__ import annotations

from bisect import bisect_left, insort
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from operator import itemgetter
from typing import Protocol

from ruleproof.core.rule import Rule
from ruleproof.core.text import tokenise

TAG_WEIGHT = 2
_MASKS = ("active", "candidate", "retired", "unknown", "tagged", "resting")
_FLIP = str.maketrans("0123456789abcdef", "fedcba9876543210")
_MAX_LATE = 64
_MAX_CACHED = 512


@dataclass(frozen=True, slots=True)
class Ranked:
    """A rule, its score, and the query tokens that its tags and its text answered."""

    rule: Rule
    score: float
    tags: tuple[str, ...] = ()
    words: tuple[str, ...] = ()

    @property
    def why(self) -> str:
        """In words."""
        if not self.score:
            return "no word in common with the query; ranked by age alone"
        parts = []
        if self.tags:
            parts.append(f"tags match {', '.join(self.tags)} (double weight)")
        if self.words:
            parts.append(f"text matches {', '.join(self.words)}")
        return "; ".join(parts)


class Scorer(Protocol):
    """Ranks rules of the index that `wanted` admits; best first, at most `limit`, zero scores last by age."""

    def __call__(self, index: Index, query: Sequence[str], wanted: int, limit: int) -> list[tuple[str, float]]: ...


class Index:
    """Every rule of a workspace by token. Follow a rulebook with `change`; ask with `rank`."""

    def __init__(self) -> None:
        self._keys: list[tuple[str, str]] = []
        self._ids: list[str] = []
        self._at: dict[str, int] = {}
        self._rules: dict[str, Rule] = {}
        self._tagged: defaultdict[str, list[int]] = defaultdict(list)
        self._worded: defaultdict[str, list[int]] = defaultdict(list)
        self._bits: dict[str, tuple[int, int, int, int]] = {}
        self._masks: dict[str, int] = dict.fromkeys(_MASKS, 0)
        self._late: dict[str, Rule] = {}

    def load(self, rules: Iterable[Rule]) -> None:
        """Index many rules at once; the index must be empty."""
        marked: dict[str, list[int]] = {name: [] for name in _MASKS}
        for key, rule in sorted(((_key(rule), rule) for rule in rules), key=itemgetter(0)):
            self._rules[rule.id] = rule
            position = self._append(key, rule)
            for name in _marks(rule):
                marked[name].append(position)
        self._masks = {name: _extend(0, positions, 0) for name, positions in marked.items()}

    def change(self, before: Rule | None, rule: Rule) -> None:
        """Follow one change of the rulebook."""
        self._rules[rule.id] = rule
        if rule.id in self._late:
            self._late[rule.id] = rule
            return
        position = self._at.get(rule.id)
        if position is None:
            key = _key(rule)
            if self._keys and key < self._keys[-1]:
                self._late[rule.id] = rule
                if len(self._late) > _MAX_LATE:
                    self._rebuild()
                return
            position = self._append(key, rule)
        elif before is not None:
            self._mark(position, before, False)
        self._mark(position, rule, True)

    def _append(self, key: tuple[str, str], rule: Rule) -> int:
        position = len(self._ids)
        self._keys.append(key)
        self._ids.append(rule.id)
        self._at[rule.id] = position
        tags, words = _rule_tokens(rule)
        for token in tags:
            self._tagged[token].append(position)
        for token in words:
            self._worded[token].append(position)
        return position

    def _mark(self, position: int, rule: Rule, on: bool) -> None:
        bit = 1 << position
        for name in _marks(rule):
            self._masks[name] = self._masks[name] | bit if on else self._masks[name] & ~bit

    def _rebuild(self) -> None:
        rules = list(self._rules.values())
        self.__init__()  # type: ignore[misc]
        self.load(rules)

    # --- questions -------------------------------------------------------------------------------------------------

    def rank(
        self,
        query: Sequence[str],
        limit: int,
        *,
        statuses: Sequence[str],
        tagged_only: bool = False,
        in_force: bool = False,
    ) -> list[Ranked]:
        """The best `limit` rules of `statuses`, zero scores last by age; `in_force` leaves out paused and held ones."""
        tokens = tuple(dict.fromkeys(query))
        wanted = 0
        for status in statuses:
            wanted |= self._masks[status]
        if tagged_only:
            wanted &= self._masks["tagged"]
        if in_force:
            wanted &= ~self._masks["resting"]
        late = [
            rule
            for rule in self._late.values()
            if rule.status in statuses and (rule.tags or not tagged_only) and (rule.in_force or not in_force)
        ]
        found: list[Ranked] = []
        for position, hits in self._best(tokens, wanted, limit):
            found.append(self._ranked(tokens, position, hits))
        for rule in late:
            insort(found, _ranked(tokens, rule), key=_rank_key)
        return found[: max(0, limit)]

    def _ranked(self, tokens: Sequence[str], position: int, hits: int) -> Ranked:
        rule = self._rules[self._ids[position]]
        if not hits:
            return Ranked(rule, 0.0)
        tags = tuple(token for token in tokens if _holds(self._tagged.get(token), position))
        words = tuple(token for token in tokens if _holds(self._worded.get(token), position))
        return Ranked(rule, hits / len(tokens), tags, words)

    def _best(self, tokens: Sequence[str], wanted: int, limit: int) -> Iterator[tuple[int, int]]:
        """(position, hits) of the `limit` best positions in `wanted`, by bit-sliced counting."""
        planes: list[int] = []
        for token in tokens:
            tagged, worded = self._bit_sets(token)
            _add(planes, worded & wanted, 0)
            _add(planes, tagged & wanted, 1)
        left = limit
        for hits, members in _descend(planes, len(planes) - 1, wanted, 0):
            while members and left > 0:
                position = members.bit_length() - 1
                members ^= 1 << position
                left -= 1
                yield position, hits
            if left <= 0:
                return

    def _bit_sets(self, token: str) -> tuple[int, int]:
        in_tags, in_words = self._tagged.get(token, ()), self._worded.get(token, ())
        if not in_tags and not in_words:
            return 0, 0
        tagged, worded, upto_tagged, upto_worded = self._bits.get(token, (0, 0, 0, 0))
        tagged = _extend(tagged, in_tags, upto_tagged)
        worded = _extend(worded, in_words, upto_worded)
        if len(self._bits) >= _MAX_CACHED:
            self._bits.clear()
        self._bits[token] = tagged, worded, len(in_tags), len(in_words)
        return tagged, worded


def query_tokens(*texts: str) -> tuple[str, ...]:
    """The distinct tokens of several texts, in order."""
    return tuple(dict.fromkeys(token for text in texts for token in tokenise(text)))


def score(query: Sequence[str], rule: Rule) -> float:
    """The lexical score of one rule, in [0, 2]; 0 for an empty query. `query` holds distinct tokens."""
    if not query:
        return 0.0
    tags, words = _rule_tokens(rule)
    return (TAG_WEIGHT * sum(token in tags for token in query) + sum(token in words for token in query)) / len(query)


def _rule_tokens(rule: Rule) -> tuple[frozenset[str], set[str]]:
    """(tokens of the tags, tokens of the text that no tag has)."""
    tags = _tag_tokens(rule.tags)
    words = set(tokenise(f"{rule.rule}\n{rule.rationale}\n{rule.metric or ''}"))
    words -= tags
    return tags, words


@lru_cache(maxsize=4096)
def _tag_tokens(tags: tuple[str, ...]) -> frozenset[str]:
    return frozenset(token for tag in tags for token in tokenise(tag))


def _ranked(query: Sequence[str], rule: Rule) -> Ranked:
    value = score(query, rule)
    if not value:
        return Ranked(rule, value)
    tags, words = _rule_tokens(rule)
    return Ranked(rule, value, tuple(t for t in query if t in tags), tuple(t for t in query if t in words))


def _marks(rule: Rule) -> Iterator[str]:
    yield rule.status
    if rule.tags:
        yield "tagged"
    if rule.paused or rule.held:
        yield "resting"


def _holds(positions: Sequence[int] | None, position: int) -> bool:
    if not positions:
        return False
    at = bisect_left(positions, position)
    return at < len(positions) and positions[at] == position


def _key(rule: Rule) -> tuple[str, str]:
    return rule.created_at, rule.id.translate(_FLIP)


def _rank_key(found: Ranked) -> tuple[float, tuple[int, ...], str]:
    return -found.score, tuple(-ord(c) for c in found.rule.created_at), found.rule.id


def _extend(bits: int, positions: Sequence[int], start: int) -> int:
    fresh = len(positions) - start
    if fresh <= 0:
        return bits
    if fresh < 8:
        for position in positions[start:]:
            bits |= 1 << position
        return bits
    room = bytearray(positions[-1] // 8 + 1)
    for position in positions[start:]:
        room[position >> 3] |= 1 << (position & 7)
    return bits | int.from_bytes(room, "little")


def _add(planes: list[int], bits: int, plane: int) -> None:
    while len(planes) < plane:
        planes.append(0)
    while bits:
        if plane == len(planes):
            planes.append(0)
        planes[plane], bits = planes[plane] ^ bits, planes[plane] & bits
        plane += 1


def _descend(planes: Sequence[int], plane: int, members: int, hits: int) -> Iterator[tuple[int, int]]:
    if not members:
        return
    if plane < 0:
        yield hits, members
        return
    upper = members & planes[plane]
    yield from _descend(planes, plane - 1, upper, hits + (1 << plane))
    yield from _descend(planes, plane - 1, members ^ upper, hits)
