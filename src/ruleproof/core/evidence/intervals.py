"""Intervals for display: Wilson, Newcombe, Welch and the paired bootstrap.

Each is valid for one look, some of them approximately; no decision ever rests on them.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from math import erf, fsum, sqrt

from ruleproof.errors import Refused


def normal_cdf(z: float) -> float:
    """P(Z <= z) for a standard normal Z."""
    return 0.5 * (1.0 + erf(z / sqrt(2.0)))


def normal_quantile(p: float) -> float:
    """The z with P(Z <= z) = p, 0 < p < 1, by bisection to 1e-12."""
    low, high = -40.0, 40.0
    for _ in range(90):
        middle = (low + high) / 2.0
        low, high = (middle, high) if normal_cdf(middle) < p else (low, middle)
    return (low + high) / 2.0


def wilson(hits: int, size: int, coverage: float = 0.95) -> tuple[float, float]:
    """Score interval of a proportion: (p + z2/2n +- z sqrt(p q / n + z2/4n2)) / (1 + z2/n). Wilson 1927.

    (0, 1) without units.
    """
    if not size:
        return 0.0, 1.0
    z = normal_quantile((1.0 + coverage) / 2.0)
    rate, weight = hits / size, 1.0 + z * z / size
    middle = (rate + z * z / (2.0 * size)) / weight
    reach = z * sqrt(rate * (1.0 - rate) / size + z * z / (4.0 * size * size)) / weight
    return max(0.0, middle - reach), min(1.0, middle + reach)


def newcombe(a_hits: int, a_size: int, b_hits: int, b_size: int, coverage: float = 0.95) -> tuple[float, float]:
    """Difference a - b of two independent proportions from their Wilson limits (l, u): Newcombe 1998a, method 10.

    d - sqrt((pa - la)^2 + (ub - pb)^2), d + sqrt((ua - pa)^2 + (pb - lb)^2); (-1, 1) where an arm is empty.
    """
    if not a_size or not b_size:
        return -1.0, 1.0
    a, b = a_hits / a_size, b_hits / b_size
    (a_low, a_high), (b_low, b_high) = wilson(a_hits, a_size, coverage), wilson(b_hits, b_size, coverage)
    low = a - b - sqrt((a - a_low) ** 2 + (b_high - b) ** 2)
    return low, a - b + sqrt((a_high - a) ** 2 + (b - b_low) ** 2)


def newcombe_paired(both: int, gained: int, lost: int, neither: int, coverage: float = 0.95) -> tuple[float, float]:
    """Difference of two paired proportions, (gained - lost) / n: Newcombe 1998b (Stat. Med. 17, 2635), method 10.

    As `newcombe`, with the product terms -2 phi (..)(..) under the roots; phi is the correlation, whose numerator is
    reduced by n/2 (not below 0) where it is positive.
    """
    size = both + gained + lost + neither
    if not size:
        return -1.0, 1.0
    treated, control = both + gained, both + lost
    a, b = treated / size, control / size
    (a_low, a_high), (b_low, b_high) = wilson(treated, size, coverage), wilson(control, size, coverage)
    margins = treated * (size - treated) * control * (size - control)
    excess = float(both * neither - gained * lost)
    if excess > 0.0:
        excess = max(0.0, excess - size / 2.0)
    phi = excess / sqrt(margins) if margins else 0.0

    def reach(one: float, other: float) -> float:
        return sqrt(max(0.0, one * one - 2.0 * phi * one * other + other * other))

    return a - b - reach(a - a_low, b_high - b), a - b + reach(a_high - a, b - b_low)


def welch(a: tuple[float, float, float], b: tuple[float, float, float]) -> tuple[float, float] | None:
    """About 95 % for the difference of two means, a - b, from (count, sum, sum of squares); None below two units, and
    where nothing has varied, since then nothing is known of how far it may.

    Standard errors add without a common variance (Welch 1947, eq. 5); the normal quantile makes it an approximation.
    """
    parts = []
    for count, total, squares in (a, b):
        if count < 2.0:
            return None
        parts.append((total / count, max(0.0, squares - total * total / count) / (count - 1.0) / count))
    (a_mean, a_error), (b_mean, b_error) = parts
    reach = 1.96 * sqrt(a_error + b_error)
    if reach <= 1e-6 * max(abs(a_mean), abs(b_mean)):
        return None
    return a_mean - b_mean - reach, a_mean - b_mean + reach


def paired_bootstrap(
    differences: Sequence[float], uniform: Callable[[], float], draws: int = 2000, coverage: float = 0.95
) -> tuple[float, float]:
    """Percentile interval of the mean of paired differences: Efron & Tibshirani 1993, section 13.3.

    `uniform` gives numbers in [0, 1). Raises Refused without differences.
    """
    if not differences:
        raise Refused("There is no pair to resample.", hint="A pair needs a treated and a control value.")
    size = len(differences)
    means = sorted(fsum(differences[int(uniform() * size)] for _ in range(size)) / size for _ in range(draws))
    cut = int((1.0 - coverage) / 2.0 * draws)
    return means[cut], means[draws - 1 - cut]


def pairs_interval(pairs: Sequence[tuple[float, float]], uniform: Callable[[], float]) -> tuple[float, float, str]:
    """(low, high, method) at 95 % for the mean of one minus other: `newcombe_paired` where every value is 0 or 1, else
    `paired_bootstrap`. Raises Refused without pairs.
    """
    if pairs and all(value in (0.0, 1.0) for pair in pairs for value in pair):
        counts = (pairs.count((one, other)) for one, other in ((1.0, 1.0), (1.0, 0.0), (0.0, 1.0), (0.0, 0.0)))
        return *newcombe_paired(*counts), "Newcombe"
    return *paired_bootstrap([one - other for one, other in pairs], uniform), "bootstrap"
