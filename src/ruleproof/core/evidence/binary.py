"""Two-sample e-values for binary outcomes whose arms were *not* drawn by our coin (recorded runs, other systems).

Here the outcomes of each arm must be independent with a constant rate (per stratum). Where we drew the coin ourselves,
`stream` needs no such assumption and is stronger.
"""

from __future__ import annotations

from ruleproof.errors import Refused

_PRIOR = 0.18
"""Beta(0.18, 0.18) on each rate, the value that Turner, Ly & Gruenwald 2024 recommend for two binary arms."""


class TwoSample:
    """E-process for "rate of a <= rate of b" from blocks of `a_size` and `b_size` outcomes of one stratum.

    Factor of a block: prod pa(y) prod pb(y) / prod p0(y), p0 = (na pa + nb pb) / (na + nb), pa and pb the posterior
    means before the block: Turner, Ly & Gruenwald 2024 (JSPI 230), Theorem 1, with predictable plug-in rates. It bets
    only while pa > pb, which makes it one-sided. Strata multiply: make one object per task and multiply their
    `e_value`s (Turner & Gruenwald 2023).
    """

    __slots__ = ("_a", "_b", "_prior", "e_value")

    def __init__(self, prior: float = _PRIOR) -> None:
        self._prior = prior
        self._a = [0, 0]
        self._b = [0, 0]
        self.e_value = 1.0

    def add_block(self, a_hits: int, a_size: int, b_hits: int, b_size: int) -> None:
        """One block, both arms of any fixed size >= 1. Raises Refused for counts that cannot be."""
        if not (0 <= a_hits <= a_size and 0 <= b_hits <= b_size and a_size and b_size):
            raise Refused(f"{a_hits}/{a_size} against {b_hits}/{b_size} is no block.")
        a_rate, b_rate = self._rate(self._a), self._rate(self._b)
        if a_rate > b_rate:
            pooled = (a_size * a_rate + b_size * b_rate) / (a_size + b_size)
            self.e_value *= (a_rate / pooled) ** a_hits * ((1.0 - a_rate) / (1.0 - pooled)) ** (a_size - a_hits)
            self.e_value *= (b_rate / pooled) ** b_hits * ((1.0 - b_rate) / (1.0 - pooled)) ** (b_size - b_hits)
        for seen, hits, size in ((self._a, a_hits, a_size), (self._b, b_hits, b_size)):
            seen[0] += hits
            seen[1] += size

    def _rate(self, seen: list[int]) -> float:
        return (seen[0] + self._prior) / (seen[1] + 2.0 * self._prior)
