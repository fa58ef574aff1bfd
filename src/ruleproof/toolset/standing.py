"""What the figures of a trial of the fixed gate are worth, in words: few sessions say little, and a reader must see it
at a glance.
"""

from __future__ import annotations

from collections.abc import Mapping

from ruleproof.core.evidence.intervals import wilson
from ruleproof.core.evidence.summary import summary
from ruleproof.core.trial import TrialState


def evidence_note(trial: TrialState, found: Mapping[str, object]) -> str:
    """What was seen, with figures, and the evidence `found` with its grade, which is the only one."""
    seen, hit, baseline = len(trial.observed), len(trial.breached), trial.baseline
    worth = f"Evidence: {summary(found) or 'none'}."
    if not seen:
        return f"No session counts yet, so nothing is known of the rule in use. {worth}"
    low, high = wilson(hit, seen)
    figures = f"{hit} of {seen} sessions alerted: the true rate may lie anywhere from {low:.2f} to {high:.2f} (95 %)."
    if not 0 <= baseline.breached <= baseline.sessions or not baseline.sessions:
        return f"{figures} There is no usable baseline: a rule without any effect may look the same. {worth}"
    return f"{figures} The baseline, {baseline.breached} of {baseline.sessions} sessions, is biased high. {worth}"


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
