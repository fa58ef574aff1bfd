"""One metric of one session over time: fast and slow averages, and what a new value looks like beside them.

The averages are exponentially weighted, alpha = 2 / (span + 1); the first value sets both, and every comparison is made
after the update, so the slow average already holds the value that it is compared with. Only real values come here: a
missing score advances nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import floor
from typing import Literal

Condition = Literal["breach", "relative", "trend", "percentile"]
CONDITIONS: tuple[Condition, ...] = ("breach", "relative", "trend", "percentile")
"""In the order in which a score lists them. `breach` looks at the threshold alone; the others look at history."""


@dataclass(frozen=True, slots=True)
class TrendPolicy:
    """When a value counts as a decline. Margins are in score units, the floor in 0 to 1, spans and window in values."""

    enable_trend: bool = True
    """False: no history is kept, and only `breach` can apply."""
    ewma_fast_span: int = 3
    ewma_slow_span: int = 10
    trend_margin_cross: float = 0.05
    trend_min_samples: int = 4
    adaptive_threshold: bool = False
    adaptive_margin_drop: float = 0.15
    percentile_window: int = 0
    """How many recent values, this one included, the quantile is taken over; 0 = off."""
    percentile_floor: float = 0.25


@dataclass(frozen=True, slots=True)
class MetricState:
    """What is remembered of one metric: both averages, how many values went in, and the newest `percentile_window`."""

    fast: float
    slow: float
    count: int
    recent: tuple[float, ...] = ()


def advance(state: MetricState | None, value: float, policy: TrendPolicy) -> MetricState:
    """The state after `value`; None stands for a metric without history."""
    window = max(0, policy.percentile_window)
    if state is None:
        return MetricState(value, value, 1, (value,)[:window])
    return MetricState(
        fast=_moved(state.fast, value, policy.ewma_fast_span),
        slow=_moved(state.slow, value, policy.ewma_slow_span),
        count=state.count + 1,
        recent=(*state.recent, value)[-window:] if window else (),
    )


def conditions(state: MetricState | None, value: float, policy: TrendPolicy) -> tuple[Condition, ...]:
    """Which of relative, trend and percentile apply to `value`, given the state that already holds it."""
    if state is None or not policy.enable_trend:
        return ()
    enough = state.count >= policy.trend_min_samples
    found: list[Condition] = []
    if policy.adaptive_threshold and enough and value < state.slow - policy.adaptive_margin_drop:
        found.append("relative")
    if enough and state.fast < state.slow - policy.trend_margin_cross:
        found.append("trend")
    window = policy.percentile_window
    needed = min(max(policy.trend_min_samples, 2), window)
    if window > 0 and len(state.recent) >= needed and value < quantile(state.recent, policy.percentile_floor):
        found.append("percentile")
    return tuple(found)


def quantile(values: tuple[float, ...], share: float) -> float:
    """The `share` quantile (0 to 1) of at least one value, by linear interpolation between order statistics."""
    ordered = sorted(values)
    place = share * (len(ordered) - 1)
    below = floor(place)
    above = min(below + 1, len(ordered) - 1)
    return ordered[below] + (ordered[above] - ordered[below]) * (place - below)


def _moved(average: float, value: float, span: int) -> float:
    return average + (value - average) * 2.0 / (span + 1)
