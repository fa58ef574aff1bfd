"""Foreign text as data: sanitized, redacted, and never more than an answer may hold, with figures for what was cut.

Whatever notices, traces, journals and stored rules hold was written by models, tools and other systems. It leaves the
toolset through here and nowhere else.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from math import isfinite
from typing import Literal, TypeVar

from ruleproof.core.secrets import redact_json
from ruleproof.core.text import sanitize_text

T = TypeVar("T")
ANSWER = 60_000
"""Characters that the foreign part of one answer may hold: about 15,000 tokens."""
LONGEST, ITEMS, DEPTH, KEY = 2000, 100, 12, 200
WHOLE = 100_000
"""`longest` for texts that have a limit of their own: rules."""
_SLACK = 8192
"""Characters beyond a cut that redaction still sees, so that no credential is halved before it is recognised."""
_NODE = 8
"""What a value costs beside its text."""


class Bounded:
    """Bounds one value, or several that share a budget. `cut` tells in figures what is missing."""

    def __init__(self, budget: int = ANSWER, *, longest: int = LONGEST, items: int = ITEMS) -> None:
        self._left, self._longest, self._items = budget, longest, items
        self._texts = self._characters = self._parts = 0

    def of(self, value: object) -> object:
        """`value` as plain JSON values without control characters, credentials, NaN and infinities.

        Sanitized first: what hides inside a credential would hide it from redaction.
        """
        return self._ended(redact_json(self._shape(value, DEPTH)))

    @property
    def cut(self) -> str | None:
        """What was cut, in words; None where nothing was."""
        said = [f"texts shortened: {self._texts}, by {self._characters} characters"] if self._texts else []
        said += [f"items left out: {self._parts}"] if self._parts else []
        return "; ".join(said) or None

    def add(self, other: Bounded) -> None:
        """Take over what another one cut."""
        self._texts += other._texts
        self._characters += other._characters
        self._parts += other._parts

    def leave_out(self, count: int) -> None:
        """Say that `count` more items are missing."""
        self._parts += count

    def _shape(self, value: object, depth: int) -> object:
        """A copy of bounded depth, width and size. Where room is short, plain fields come before nested ones."""
        self._left -= _NODE
        if value is None or isinstance(value, (bool, int)):
            return value
        if isinstance(value, float):
            return value if isfinite(value) else None
        if isinstance(value, str):
            over = max(0, len(value) - self._longest)
            self._texts += over > 0
            self._characters += over
            self._left -= len(value) - over
            return sanitize_text(value[: self._longest + _SLACK], 0)
        if not isinstance(value, (Mapping, list, tuple)):
            return type(value).__name__
        if not depth:
            self._parts += len(value)
            return None
        if isinstance(value, Mapping):
            plain_first = sorted(value.items(), key=lambda field: isinstance(field[1], (Mapping, list, tuple)))
            shaped = {_key(key): self._shape(item, depth - 1) for key, item in self._few(plain_first)}
            return {key: shaped[key] for key in map(_key, value) if key in shaped}
        return [self._shape(item, depth - 1) for item in self._few(value)]

    def _few(self, values: Iterable[T]) -> Iterator[T]:
        """The first of them, as long as there is room."""
        taken = 0
        for value in values:
            if taken >= self._items or self._left <= 0:
                self._parts += 1
            else:
                taken += 1
                yield value

    def _ended(self, value: object) -> object:
        """The texts at their final length: only now that no credential can be halved."""
        if isinstance(value, str):
            return sanitize_text(value, self._longest)
        if isinstance(value, Mapping):
            return {sanitize_text(key, KEY): self._ended(item) for key, item in value.items()}
        return [self._ended(item) for item in value] if isinstance(value, list) else value


def _key(key: object) -> str:
    return sanitize_text(str(key)[: KEY + _SLACK], 0)


def rows(
    values: Sequence[object],
    *,
    keep: Literal["first", "last"],
    budget: int = ANSWER,
    longest: int = LONGEST,
    items: int = ITEMS,
) -> tuple[list[object], str | None]:
    """(as many bounded values as an answer holds, from that end and in their order; what was cut, in words).

    A value is shown or left out, and never cut to make room for another; at least one is shown.
    """
    kept: list[object] = []
    left, cut = budget, Bounded()
    for value in values if keep == "first" else reversed(values):
        one = Bounded(max(budget, 2 * longest), longest=longest, items=items)
        shown = one.of(value)
        left -= len(json.dumps(shown))
        if kept and left < 0:
            break
        kept.append(shown)
        cut.add(one)
    cut.leave_out(len(values) - len(kept))
    return (kept if keep == "first" else kept[::-1]), cut.cut
