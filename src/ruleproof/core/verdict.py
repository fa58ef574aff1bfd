"""What a validator says of a candidate, and a recheck of an active rule."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

Outcome = Literal["promote", "retire", "inconclusive", "pending", "keep"]
"""`inconclusive`: the trial ended without an answer; the rule retires, and its text may be tried again. `keep`: a
recheck ended, and the rule stays active.
"""


@dataclass(frozen=True, slots=True)
class Verdict:
    """`reason` says it in words with its figures; `details` holds the figures themselves."""

    rule_id: str
    outcome: Outcome
    validator: str
    reason: str
    details: Mapping[str, object] = field(default_factory=dict)

    @property
    def decided(self) -> bool:
        """Whether the trial is over."""
        return self.outcome != "pending"
