"""Scores and reports: what an evaluator says of one turn of one session.

A score lies in [0, 1], higher is better. A missing score is None: never 0, never health. NaN, infinities, booleans and
values outside the range are refused at the door.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from sys import float_info
from types import MappingProxyType
from typing import Literal

from ruleproof.core.ids import shown
from ruleproof.errors import Refused

Source = Literal["checker", "trace", "judge", "caller"]
"""A checker looked at the outcome, `trace` computed signals, a judge model gave an opinion, a caller gave a value."""

DEFAULT_THRESHOLD = 0.5
_MOST = float_info.max
_NOTHING: Mapping[str, Mapping[str, float]] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Score:
    """One metric of one report. `signals`: trace id -> signal -> value in [0, 1]; `flagged`: trace ids to look at."""

    metric: str
    value: float | None
    threshold: float = DEFAULT_THRESHOLD
    source: Source = "caller"
    reason: str = ""
    flagged: tuple[str, ...] = ()
    signals: Mapping[str, Mapping[str, float]] = field(default_factory=lambda: _NOTHING)

    @property
    def breached(self) -> bool:
        """Strictly below its threshold. A missing value never breaches."""
        return self.value is not None and self.value < self.threshold


@dataclass(frozen=True, slots=True)
class Report:
    """What is known of one turn of a session. `at` is ISO-8601 UTC. `turn` starts at 1; 0 = not numbered."""

    session_id: str
    scores: tuple[Score, ...]
    at: str
    turn: int = 0
    task_id: str | None = None
    costs: Mapping[str, float] = field(default_factory=dict)

    @property
    def scored(self) -> bool:
        """Whether any metric has a value: a report without one is an outage, neither a breach nor health."""
        return any(score.value is not None for score in self.scores)


def checked_value(metric: str, value: object) -> float | None:
    """`value` as a score in [0, 1], or None where it is missing. Raises Refused for a boolean, a NaN, a text, a 7."""
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        raise Refused(
            f"score {metric!r} is {type(value).__name__} {shown(value)}, not a number.",
            hint="Give a number from 0 to 1, or None where it is missing.",
        )
    if not 0 <= value <= 1:
        raise Refused(
            f"score {metric!r} is {_figure(value)}, outside 0 to 1.",
            hint="Scale it to 0..1 (higher is better), or give None where it is missing.",
        )
    return float(value)


def checked_cost(name: str, value: object) -> float:
    """`value` as a cost >= 0 (tokens, seconds, money, steps). Raises Refused otherwise."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value <= _MOST:
        raise Refused(f"cost {name!r} is {_figure(value)}.", hint="Give a finite number >= 0.")
    return float(value)


def _figure(value: object) -> str:
    """A figure for a message; an integer may have more digits than Python prints."""
    if isinstance(value, int) and abs(value) > _MOST:
        return f"an integer of {value.bit_length()} bits"
    return repr(value) if isinstance(value, float) else shown(value)
