"""What follows a promotion: an active rule is compared again, shown against withheld, under a coin of its own.

A *watch* runs while the rule is monitored, and all it can do is open a recheck. A *recheck* begins from nothing, leaves
the rule active while it is open, and ends kept or retired. At most one of them runs for a rule at a time.
"""

from __future__ import annotations

from dataclasses import dataclass

from ruleproof.core.evidence.assignment import assigned
from ruleproof.core.evidence.budget import share
from ruleproof.core.evidence.stream import Arm
from ruleproof.core.ids import digest
from ruleproof.core.renaming import is_alias

LIFE = 0.05
"""The chance that a rule that still helps is ever retired by a recheck, over all the rechecks of its life."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """A watch or a recheck as the rule's record has it. `key`, `digest` and `holdout` fix every arm, as in a trial."""

    since: str
    key: str
    digest: str
    holdout: float
    """Share of units from which the rule is withheld, in [0, 1). 0: a recheck without any control."""
    number: int = 0
    """Which recheck of the rule this is, from 1; 0: a watch."""
    why: str = ""
    """Why the recheck was opened."""
    effect: float = 0.0
    """A watch: shown minus withheld as it was when the rule was promoted or kept; 0 where nobody knows."""
    ended: str = ""
    verdict: str = ""
    """How a recheck ended: `kept:`, `retired:` or `inconclusive:` (it retires, and its text is not refused)."""

    @property
    def name(self) -> str:
        """What its units are filed under; tells nothing of the key."""
        return digest(self.key)[:12]

    def arm(self, unit: str) -> Arm | None:
        """The arm of a unit, from what was recorded at the start and nothing else; None: forgotten, as in a trial."""
        return None if is_alias(unit) else assigned(self.key.encode(), self.digest, unit, self.holdout)

    @property
    def level(self) -> float:
        """Chance at most with which this recheck retires a rule that still helps: LIFE / (k (k + 1)) for the k-th.

        Those of all rechecks together are LIFE.
        """
        return LIFE * share(max(1, self.number), sharing=1)
