"""The circuit breaker: at most `max_notices` notices in a sliding window, then one call for a person, then silence.

A notice that falls into the silence is held, never lost: once the window has drained, held notices are posted oldest
first, as many as the window takes, and a new one never overtakes them. Times are seconds on any one clock, given as
arguments; the breaker is folded from what happened, so every process that reads the same events has the same one.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from functools import reduce
from typing import Literal

Decision = Literal["post", "needs_human", "hold"]
Happening = Literal["post", "needs_human", "hold", "release", "recovery"]


@dataclass(frozen=True, slots=True)
class BreakerPolicy:
    """`max_notices` a window of `window_s` seconds; 0 or less notices = no breaker."""

    max_notices: int = 5
    window_s: float = 600.0


@dataclass(frozen=True, slots=True)
class Breaker:
    """Times of the notices in the window, whether it tripped, and how many notices are held back."""

    policy: BreakerPolicy = field(default_factory=BreakerPolicy)
    times: tuple[float, ...] = ()
    tripped: bool = False
    held: int = 0


def decide(breaker: Breaker, now: float) -> tuple[Decision, Breaker]:
    """What becomes of a notice that is wanted now, and the breaker after it. Call `release` first.

    `post`: post it. `needs_human`: post the call for a person in its place. `hold`: keep it for `release`.
    """
    breaker = _at(breaker, now)
    word: Decision = "post"
    if breaker.policy.max_notices > 0:
        if breaker.tripped or breaker.held:
            word = "hold"
        elif len(breaker.times) >= breaker.policy.max_notices:
            word = "needs_human"
    return word, happened(breaker, word, now)


def release(breaker: Breaker, now: float) -> tuple[int, Breaker]:
    """How many held notices may be posted now, oldest first, and the breaker once they are.

    None while it is tripped and the window has not drained; then as many as `decide` would have posted.
    """
    breaker = _at(breaker, now)
    limit = breaker.policy.max_notices
    if limit <= 0:
        count = breaker.held
    elif breaker.tripped:
        count = 0
    else:
        count = max(0, min(breaker.held, limit - len(breaker.times)))
    for _ in range(count):
        breaker = happened(breaker, "release", now)
    return count, breaker


def happened(breaker: Breaker, what: Happening, at: float) -> Breaker:
    """The breaker after one event. `release`: one held notice was posted.

    `recovery` opens it; give it only where a `Judgement` says `recovered`: an outage never does.
    """
    breaker = _at(breaker, at)
    match what:
        case "post" | "release":
            times = (*breaker.times, at) if breaker.policy.max_notices > 0 else ()
            held = max(0, breaker.held - 1) if what == "release" else breaker.held
            return replace(breaker, times=times, held=held)
        case "needs_human":
            return replace(breaker, tripped=True)
        case "hold":
            return replace(breaker, held=breaker.held + 1)
        case "recovery":
            return replace(breaker, times=(), tripped=False)


def fold(policy: BreakerPolicy, events: Iterable[tuple[float, Happening]]) -> Breaker:
    """The breaker after events in the order in which they were recorded."""
    return reduce(lambda breaker, event: happened(breaker, event[1], event[0]), events, Breaker(policy))


def _at(breaker: Breaker, now: float) -> Breaker:
    """Drop times outside the window (a clock that was set back leaves them in the future) and close a drained trip."""
    times = tuple(time for time in breaker.times if abs(now - time) < breaker.policy.window_s)
    if times == breaker.times and not (breaker.tripped and not times):
        return breaker
    return replace(breaker, times=times, tripped=breaker.tripped and bool(times))
