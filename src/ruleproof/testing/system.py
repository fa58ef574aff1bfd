"""A clock that is wound by hand and chance that repeats: the port `engine.ports.System` for tests."""

from __future__ import annotations

import hashlib
from datetime import UTC, datetime, timedelta


class FixedSystem:
    """Starts at `start` and moves only by `tick` seconds a call and by `pass_time`; ids follow from `seed`."""

    def __init__(self, start: str = "2026-07-03T05:35:11+00:00", *, tick: float = 0.0, seed: str = "seed") -> None:
        self._now = datetime.fromisoformat(start).astimezone(UTC)
        self._begin = self._now
        self._tick = timedelta(seconds=tick)
        self._seed, self._drawn = seed, 0

    def now(self) -> datetime:
        """The time on the hand-wound clock."""
        self._now += self._tick
        return self._now

    def monotonic(self) -> float:
        """Seconds since the clock was made."""
        return (self._now - self._begin).total_seconds()

    def hex(self, digits: int) -> str:
        """The next repeatable hex digits."""
        self._drawn += 1
        return hashlib.sha256(f"{self._seed} {self._drawn}".encode()).hexdigest()[:digits]

    def pass_time(self, seconds: float) -> None:
        """Wind the clock forward."""
        self._now += timedelta(seconds=seconds)
