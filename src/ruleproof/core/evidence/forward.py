"""The fixed forward trial: watch N live sessions, compare their breach rate with the baseline, decide once.

Promote when the trial rate is 0 or lies below the baseline by at least the margin; otherwise retire. Five sessions
cannot tell a good rule from a useless one: `docs/evidence.md` says how often, and the anytime policy is the way out.
"""

from __future__ import annotations

from ruleproof.core.trial import TrialState
from ruleproof.core.verdict import Verdict

NAME = "forward_trial"


def judge(rule_id: str, trial: TrialState, *, sessions: int, margin: float) -> Verdict:
    """The verdict on a trial of `sessions` (>= 1) distinct sessions with `margin` in [0, 1]."""
    seen, hit = len(trial.observed), len(trial.breached)
    baseline, rate = trial.baseline.rate, trial.rate
    details: dict[str, object] = {"baseline_rate": baseline, "trial_rate": rate, "sessions": seen, "breached": hit}
    if seen < sessions:
        return Verdict(rule_id, "pending", NAME, f"{seen} of {sessions} sessions observed", details)
    against = f"baseline {baseline:.2f} ({_history(trial)})"
    if hit == 0:
        reason = f"forward-trial: no breach in {seen} sessions, {against}"
        return Verdict(rule_id, "promote", NAME, reason, details)
    better = rate <= baseline - margin + 1e-12
    word = "improved on" if better else "did not improve on"
    reason = f"forward-trial: breach rate {rate:.2f} ({hit} of {seen} sessions) {word} {against} by {margin:g}"
    return Verdict(rule_id, "promote" if better else "retire", NAME, reason, details)


def _history(trial: TrialState) -> str:
    baseline = trial.baseline
    return f"{baseline.breached} of {baseline.sessions} sessions" if baseline.sessions else "no history, taken as 1"
