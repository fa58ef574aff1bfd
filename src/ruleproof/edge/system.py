"""The clock and chance: the only module that may ask the system for the time, for random bytes or for a new id."""

from __future__ import annotations

import secrets
import time
from datetime import UTC, datetime


class System:
    """The port `engine.ports.System` on the real machine."""

    def now(self) -> datetime:
        """The time, UTC, with an offset."""
        return datetime.now(UTC)

    def monotonic(self) -> float:
        """Seconds that never run backwards."""
        return time.monotonic()

    def hex(self, digits: int) -> str:
        """`digits` random lower-case hex digits (an even number)."""
        return secrets.token_hex(digits // 2)
