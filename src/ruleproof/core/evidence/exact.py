"""Exact tests for counts, looked at once: the fixed-size companions of the bets, and what they would have needed.

Every p-value here is valid for one look at a number of units that was fixed beforehand, and for nothing else.
"""

from __future__ import annotations

from math import comb, exp, fsum, lgamma, log, log1p
from typing import Literal

Side = Literal["greater", "less", "two-sided"]
_SLACK = 1.0 + 1e-9


def log_comb(n: int, k: int) -> float:
    """log of n over k, for 0 <= k <= n."""
    return lgamma(n + 1) - lgamma(k + 1) - lgamma(n - k + 1)


def binomial_pmf(k: int, n: int, p: float) -> float:
    """P(X = k) for X ~ Binomial(n, p)."""
    if p <= 0.0:
        return 1.0 if k == 0 else 0.0
    if p >= 1.0:
        return 1.0 if k == n else 0.0
    return exp(log_comb(n, k) + k * log(p) + (n - k) * log1p(-p))


def binomial_tail(k: int, n: int, p: float) -> float:
    """P(X >= k) for X ~ Binomial(n, p)."""
    return 1.0 if k <= 0 else min(1.0, fsum(binomial_pmf(i, n, p) for i in range(k, n + 1)))


def sign_test(plus: int, minus: int, side: Side = "greater") -> float:
    """Exact p-value that + and - are equally likely; ties are not given. Dixon & Mood 1946."""
    n = plus + minus
    up = sum(comb(n, i) for i in range(plus, n + 1)) / (1 << n)
    down = sum(comb(n, i) for i in range(plus + 1)) / (1 << n)
    return {"greater": up, "less": down, "two-sided": min(1.0, 2.0 * min(up, down))}[side]


def mcnemar(gained: int, lost: int, side: Side = "greater") -> float:
    """Exact McNemar test on paired binary outcomes: the sign test on the discordant pairs. McNemar 1947, eq. 1 (exact
    form).
    """
    return sign_test(gained, lost, side)


def jolt_chance(rose: int, failures: int, fell: int, wins: int) -> float:
    """The largest chance, over every q, that a text which turns each answer with chance q mends at least `rose` of the
    failures and breaks at most `fell` of the wins. 1 without a win.

    The p-value that is largest over a nuisance parameter, Barnard 1947; both factors are log-concave in q, so the
    search by thirds ends at the largest.
    """

    def chance(q: float) -> float:
        return binomial_tail(rose, failures, q) * binomial_tail(wins - fell, wins, 1.0 - q)

    low, high = 0.0, 1.0
    for _ in range(50):
        third = (high - low) / 3.0
        if chance(low + third) < chance(high - third):
            low += third
        else:
            high -= third
    return chance((low + high) / 2.0)


def fisher(a_hits: int, a_size: int, b_hits: int, b_size: int, side: Side = "greater") -> float:
    """Exact p-value of Fisher's test that arm a (`a_hits` of `a_size`) is no better ("greater") than arm b. Fisher
    1935.

    Hypergeometric with all margins fixed; "two-sided" adds every table that is no more likely than the one seen.
    """
    hits, size = a_hits + b_hits, a_size + b_size
    whole = log_comb(size, hits)
    low, high = max(0, hits - b_size), min(a_size, hits)
    mass = {k: exp(log_comb(a_size, k) + log_comb(b_size, hits - k) - whole) for k in range(low, high + 1)}
    if side == "greater":
        chosen = (p for k, p in mass.items() if k >= a_hits)
    elif side == "less":
        chosen = (p for k, p in mass.items() if k <= a_hits)
    else:
        chosen = (p for p in mass.values() if p <= mass[a_hits] * _SLACK)
    return min(1.0, fsum(chosen))


def fisher_power(size: int, a_rate: float, b_rate: float, level: float) -> float:
    """Chance that Fisher's one-sided test at `level`, `size` units in each arm, finds arm a better; exact to 1e-9."""

    def heavy(rate: float) -> dict[int, float]:
        mass = {k: binomial_pmf(k, size, rate) for k in range(size + 1)}
        return {k: p for k, p in mass.items() if p > 1e-12}

    a_mass, b_mass = heavy(a_rate), heavy(b_rate)
    tail = 0.0
    tails: dict[int, float] = {}
    for k in sorted(a_mass, reverse=True):
        tail += a_mass[k]
        tails[k] = tail
    power = 0.0
    critical = min(a_mass)
    for b_hits in sorted(b_mass):  # the critical count never falls as arm b gets better
        critical = max(critical, b_hits)
        while critical <= size and fisher(critical, size, b_hits, size) > level:
            critical += 1
        power += b_mass[b_hits] * (1.0 if critical < min(tails) else tails.get(critical, 0.0))
    return power


def fisher_size(a_rate: float, b_rate: float, level: float, power: float = 0.8) -> int:
    """Smallest size per arm, to about 1 %, at which Fisher's one-sided test reaches `power` for a_rate > b_rate."""
    low, high = 1, 8
    while fisher_power(high, a_rate, b_rate, level) < power:
        low, high = high, high * 2
    while high - low > max(1, high // 100):
        middle = (low + high) // 2
        if fisher_power(middle, a_rate, b_rate, level) >= power:
            high = middle
        else:
            low = middle
    return high
