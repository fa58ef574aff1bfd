"""What a verdict of the fixed gate is worth: both rates with their counts, the difference, and what chance would do."""

from __future__ import annotations

from statistics import fmean

from ruleproof.core.evidence.grade import grade_of_chance
from ruleproof.core.evidence.intervals import newcombe
from ruleproof.core.evidence.pretest import false_promotion_chance
from ruleproof.core.trial import TrialState

CAUTION = (
    "The baseline counts only sessions that journaled an incident or a recovery, so it is biased high: the effect is "
    "overstated and the chance understated."
)
ALONE = "Nothing was withheld, so the means of the metrics and costs of these sessions are compared with nothing."


def fixed_evidence(trial: TrialState, sessions: int, margin: float) -> dict[str, object]:
    """JSON values. `effect`: baseline minus trial breach rate, in [-1, 1], positive = fewer breaches; None without
    history. `interval`: Newcombe's, 95 %, one look. `chance_useless_passes`: for the gate of `sessions` (>= 1).
    """
    hit, seen, baseline = len(trial.breached), len(trial.observed), trial.baseline
    usable = 0 <= baseline.breached <= baseline.sessions and baseline.sessions > 0
    before = (baseline.breached, baseline.sessions) if usable else (0, 0)
    chance = false_promotion_chance(*before, max(sessions, seen), margin)
    known = usable and seen > 0
    return {
        "policy": "fixed",
        "baseline": {"breached": before[0], "sessions": before[1]},
        "sessions_needed": sessions,
        "effect": before[0] / before[1] - hit / seen if known else None,
        "interval": list(newcombe(*before, hit, seen)) if known else [-1.0, 1.0],
        "coverage": 0.95,
        "chance_useless_passes": chance,
        "grade": grade_of_chance(chance) if seen else "none",
        "caution": f"{CAUTION} {ALONE}",
        "rows": _rows(trial),
    }


def _rows(trial: TrialState) -> list[dict[str, object]]:
    """The mean of every metric and cost over the sessions that count; there is no other arm."""
    seen = trial.followed.values()
    given: dict[tuple[str, str], list[float]] = {}
    for kind, found in (("metric", (one.metrics for one in seen)), ("cost", (one.costs for one in seen))):
        for name, value in (pair for values in found for pair in values.items()):
            given.setdefault((kind, name), []).append(value)
    nothing = {"withheld": None, "difference": None, "interval": None}
    return [
        {"name": name, "kind": kind, "shown": fmean(values), "counted": [len(values), 0], **nothing}
        for (kind, name), values in sorted(given.items(), key=lambda row: (row[0][0] == "cost", row[0][1]))
    ]
