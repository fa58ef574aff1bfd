"""One word for how much a verdict may be trusted: the chance that a useless rule would have come as far.

    strong    at most 1 %     (e-value >= 100)
    moderate  at most 5 %     (e-value >= 20)
    weak      at most 20 %    (e-value >= 5)
    none      more

The chance of an e-value E is at most 1 / E however often it was looked at (Ville 1939; Vovk & Wang 2021, section 2, the
only admissible calibration of e to p). The gate of a fixed count of sessions has the chance that `pretest` computes.
"""

from __future__ import annotations

from typing import Literal

Grade = Literal["none", "weak", "moderate", "strong"]
STEPS: tuple[tuple[float, Grade], ...] = ((0.01, "strong"), (0.05, "moderate"), (0.2, "weak"))


def grade_of_chance(chance: float) -> Grade:
    """The grade for a chance in [0, 1] that a useless rule passes."""
    return next((grade for limit, grade in STEPS if chance <= limit), "none")


def chance_of_evidence(e_value: float) -> float:
    """Upper bound on the chance that a useless rule ever reaches this e-value: min(1, 1 / e)."""
    return 1.0 if e_value <= 1.0 else 1.0 / e_value
