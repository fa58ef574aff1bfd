"""How often a useless rule would have passed a gate that compares fixed counts with a margin, told before it is
trusted.

A useless rule leaves the breach rate where it was; where it was is known only as well as the baseline counts say, so
the chance is averaged over what they leave possible. Without any counts the worst rate is taken.
"""

from __future__ import annotations

from math import erf, exp, fsum, lgamma, sqrt

from ruleproof.core.evidence.exact import binomial_pmf, log_comb
from ruleproof.errors import Refused

_RATES = 200


def fixed_gate_passes(breached: int, sessions: int, baseline_rate: float, margin: float) -> bool:
    """The fixed gate: no breach at all, or a breach rate of at most baseline - margin. `sessions` >= 1."""
    return breached == 0 or breached / sessions <= baseline_rate - margin + 1e-12


def beta_binomial_pmf(k: int, n: int, a: float, b: float) -> float:
    """P(K = k) for K ~ Binomial(n, p), p ~ Beta(a, b)."""
    return exp(log_comb(n, k) + _log_beta(k + a, n - k + b) - _log_beta(a, b))


def false_promotion_chance(baseline_breached: int, baseline_sessions: int, n: int, margin: float) -> float:
    """Chance in [0, 1] that a useless rule passes the fixed gate over `n` sessions.

    The breach rate has the posterior Beta(breached + 1/2, healthy + 1/2) (Jeffreys prior; Brown, Cai & DasGupta 2001,
    section 4), so the trial count is beta-binomial. Without baseline sessions the gate takes the baseline as 1.0 and
    the chance is the maximum over breach rates, which is 1: at rate 0 nothing ever breaches. Raises Refused for bad
    counts.
    """
    if n < 1 or not 0 <= baseline_breached <= baseline_sessions:
        raise Refused(
            f"{baseline_breached} of {baseline_sessions} baseline sessions and {n} trial sessions make no gate.",
            hint="Give 0 <= breached <= sessions and at least one trial session.",
        )
    if not baseline_sessions:
        return max(_passing_at(step / _RATES, n, 1.0, margin) for step in range(_RATES + 1))
    rate = baseline_breached / baseline_sessions
    a, b = baseline_breached + 0.5, baseline_sessions - baseline_breached + 0.5
    passing = (k for k in range(n + 1) if fixed_gate_passes(k, n, rate, margin))
    return min(1.0, fsum(beta_binomial_pmf(k, n, a, b) for k in passing))


def false_replay_chance(failures: int, wins: int, passed: int, sessions: int) -> float:
    """Chance that a useless rule passes the replay gate on binary outcomes: a failure passes now and no win fails now.

    Given the pass rate p this is (1 - (1 - p)^failures) p^wins, averaged over p ~ Beta(passed + 1/2, failed + 1/2); the
    maximum over p without sessions. Every case is taken to share p; task differences lower the chance on failures that
    never pass and raise it on wins that always do. Raises Refused for bad counts.
    """
    if failures < 0 or wins < 0 or not 0 <= passed <= sessions:
        raise Refused(f"{failures} failures, {wins} wins, {passed} of {sessions} passed make no gate.")
    if not sessions:
        return max((1.0 - (1.0 - p) ** failures) * p**wins for p in (step / _RATES for step in range(_RATES + 1)))
    a, b = passed + 0.5, sessions - passed + 0.5
    no_win_lost = exp(_log_beta(a + wins, b) - _log_beta(a, b))
    nothing_gained = exp(_log_beta(a + wins, b + failures) - _log_beta(a, b))
    return min(1.0, max(0.0, no_win_lost - nothing_gained))


def false_replay_chance_graded(
    failures: int, wins: int, metrics: int, sd: float, promote_margin: float, regress_margin: float
) -> float:
    """Chance that a useless rule passes the replay gate on `metrics` graded metrics with normal noise `sd` in each run.

    One new run against one recorded run: the difference has standard deviation sd sqrt(2). Passing needs no drop of
    `regress_margin` anywhere and a rise of `promote_margin` of the target in a failure. Independent noise.
    """
    if failures < 0 or wins < 0 or metrics < 1 or sd < 0.0:
        raise Refused(f"{failures} failures, {wins} wins, {metrics} metrics, sd {sd!r} make no gate.")
    if sd == 0.0:
        return 0.0
    spread = sd * sqrt(2.0)
    kept = _normal_tail(-regress_margin / spread)
    flat = kept - _normal_tail(promote_margin / spread)
    others = kept ** ((metrics - 1) * failures + metrics * wins)
    return float(others * (kept**failures - flat**failures))


def _passing_at(rate: float, n: int, baseline_rate: float, margin: float) -> float:
    return fsum(binomial_pmf(k, n, rate) for k in range(n + 1) if fixed_gate_passes(k, n, baseline_rate, margin))


def _normal_tail(z: float) -> float:
    return 0.5 * (1.0 - erf(z / sqrt(2.0)))


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)
