"""What the figures of a trial are worth, in words: few sessions say little, and a reader must see it at a glance."""

from __future__ import annotations

from math import fsum

from ruleproof.core.evidence.grade import grade_of_chance
from ruleproof.core.evidence.intervals import wilson
from ruleproof.core.evidence.pretest import beta_binomial_pmf
from ruleproof.core.trial import TrialState


def evidence_note(trial: TrialState) -> str:
    """How weak the trial's evidence is, with figures."""
    seen, hit = len(trial.observed), len(trial.breached)
    if not seen:
        return "No session counts yet, so nothing is known about this rule."
    low, high = wilson(hit, seen)
    figures = f"{hit} of {seen} sessions alerted: the true rate may lie anywhere from {low:.2f} to {high:.2f} (95 %)."
    baseline = trial.baseline
    if not 0 <= baseline.breached <= baseline.sessions or not baseline.sessions:
        return f"{figures} There is no usable baseline: a rule without any effect may look the same. Evidence: none."
    chance = _no_worse(hit, seen, baseline.breached, baseline.sessions)
    return (
        f"{figures} A rule without any effect would show these figures or better ones with a chance of {chance:.2f} "
        f"(baseline {baseline.breached} of {baseline.sessions} sessions, biased high). "
        f"Evidence: {grade_of_chance(chance)}."
    )


def _no_worse(hit: int, seen: int, breached: int, sessions: int) -> float:
    """P(at most `hit` of `seen` sessions alert), the rate being Beta(breached + 1/2, healthy + 1/2)."""
    a, b = breached + 0.5, sessions - breached + 0.5
    return min(1.0, fsum(beta_binomial_pmf(k, seen, a, b) for k in range(hit + 1)))


def exposures(trial: TrialState) -> dict[str, int]:
    """Sessions by how they saw the rule; `unrecorded`: they count, but an older system did not note how."""
    counts = dict.fromkeys(("shown", "assumed", "withheld", "read", "unknown", "unrecorded"), 0)
    for session in trial.observed:
        how = trial.exposures.get(session, "unrecorded")
        counts[how] = counts.get(how, 0) + 1
    for why in trial.uncounted.values():
        counts["withheld"] += why == "withheld"
        counts["read"] += why == "only read"
        counts["unknown"] += why == "unknown exposure"
    return counts
