"""Bets on a fair coin: evidence that may be looked at after every session.

Who sees a rule is decided by a coin whose bias we know, so under a useless rule nothing that a session does can tell on
which side its coin fell. A bettor who starts with 1 and stakes on that side therefore holds, at every moment, a capital
whose expectation is at most 1; capital >= 1/level happens with probability at most `level`, however often one looks.
Capital is an e-value: it multiplies over sessions, and a mixture of bettors is again a bettor.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import exp, fsum, isfinite, log1p, sqrt, tanh

from ruleproof.core.evidence.intervals import normal_quantile
from ruleproof.errors import Refused

EFFECTS = (0.1, 0.25, 0.5, 1.0)
"""Effects that the bettors of the mixture expect, in standard deviations of the outcome within its task.

They lose on any true effect below about 0.05 deviations (0.025 in a pass rate): such a rule stays undecided for good.
"""

RICH = 1e200
"""Capital is cut off here: less capital is still valid evidence, and it must not become infinite."""

_CHECK_EVERY = 64  # a factor is below 2, so capital stays below 1e220 in between

_BINS = 64
_STAKES = (0.9, 0.45, 0.22, 0.11, 0.05)
"""Stakes of the confidence sequence, as a share of the largest stake that can never lose more than everything."""


def coin_weight(shown: bool, holdout: float) -> float:
    """The coin, centred and scaled into [-1, 1]: expectation 0 when P(withheld) = `holdout`, 0 < holdout < 1."""
    largest = max(holdout, 1.0 - holdout)
    return holdout / largest if shown else (holdout - 1.0) / largest


class Bet:
    """Capital of two mixtures of bettors, one per direction: `up` expects larger values when shown, `down` smaller.

    A bettor who expects an effect of k standard deviations multiplies its capital by `1 + w tanh(k c r / s)`: w the
    centred coin (`coin_weight`), r the residual of the value, s its standard deviation, c = max(holdout, 1 -
    holdout). r and s may depend on anything but the coin of this unit. E[w] = 0 makes the capital a martingale when
    the value does not depend on the coin, and a supermartingale when the shown value is stochastically no larger (no
    smaller for `down`), because tanh increases and |w tanh| < 1. With w = 1 and r a difference that is symmetric
    about 0 under a useless rule, it is the same bet on the sign of the difference.

    Sources: the capital process prod (1 + l_i (X_i - m)) and its mixtures, Waudby-Smith & Ramdas 2024 (JRSS-B 86),
    section 4; the odd bet exp(x) / cosh(x) = 1 + tanh(x) on symmetric differences, de la Pena 1999 (Ann. Probab. 27),
    Ramdas, Ruf, Larsson & Koolen 2020 (arXiv 2009.03167); P(sup capital >= 1/a) <= a, Ville 1939, and its use at any
    stopping time, Ramdas, Gruenwald, Vovk & Shafer 2023. tanh(k r / 2s) is the log-optimal bet of a fair coin for a
    normal outcome with effect k s: it is the odds of the coin given the outcome.
    """

    __slots__ = ("_since_check", "down", "effects", "up")

    def __init__(self, effects: Sequence[float] = EFFECTS) -> None:
        if not effects or not all(isfinite(effect) and effect > 0.0 for effect in effects):
            raise Refused(
                f"effects {tuple(effects)!r} are not all positive numbers.", hint="Give for example 0.3, 0.6."
            )
        self.effects = tuple(effects)
        self.up = [1.0 / len(self.effects)] * len(self.effects)
        self.down = list(self.up)
        self._since_check = 0

    def update(self, weight: float, residual: float) -> None:
        """One unit. `weight` in [-1, 1] is the centred coin; `residual` is already divided by s / c."""
        up, down = self.up, self.down
        for place, effect in enumerate(self.effects):
            stake = weight * tanh(effect * residual)
            up[place] += up[place] * stake
            down[place] -= down[place] * stake
        self._since_check += 1
        if self._since_check == _CHECK_EVERY:
            self._since_check = 0
            self.up = [min(have, RICH) for have in self.up]
            self.down = [min(have, RICH) for have in self.down]

    @property
    def e_up(self) -> float:
        """The e-value against "showing the rule raises nothing"; large = it raises."""
        return sum(self.up)

    @property
    def e_down(self) -> float:
        """The e-value against "showing the rule lowers nothing"; large = it lowers."""
        return sum(self.down)


class Payoffs:
    """Unbiased payoffs, one a unit, kept as a histogram from which a confidence sequence for the effect is inverted.

    A payoff lies in [-reach, reach] and its expectation is the effect in [-1, 1]. A limit is the effect that a mixture
    of bettors with capital prod(1 + l (payoff - effect)), l fixed, has not refuted at half of 1 - coverage: inversion
    of the capital process, Waudby-Smith & Ramdas 2024, section 4.1. A payoff between two bins is split between them:
    log is concave, so the split can only lose capital and the interval can only widen. The limits hold at all looks
    together for an effect that is the same for all units; where effects differ, the lower limit holds for the largest
    expected one and the upper limit for the smallest.
    """

    __slots__ = ("_scale", "count", "counts", "reach", "total")

    def __init__(self, reach: float) -> None:
        self.reach = reach
        self._scale = _BINS / 2 / reach
        self.counts = [0.0] * (_BINS + 1)
        self.count = 0
        self.total = 0.0

    def add(self, payoff: float) -> None:
        """One payoff in [-reach, reach]."""
        place = payoff * self._scale + _BINS / 2
        left = min(int(place), _BINS - 1)
        share = place - left
        self.counts[left] += 1.0 - share
        self.counts[left + 1] += share
        self.count += 1
        self.total += payoff

    @property
    def mean(self) -> float | None:
        """The estimate of the effect, or None before the first payoff. Lies in [-1, 1]."""
        return max(-1.0, min(1.0, self.total / self.count)) if self.count else None

    def upper(self, chance: float) -> float:
        """One-sided upper limit of the effect, missed with about `chance`: valid for one look that was planned.

        mean + z sd / sqrt(n); payoffs minus their effects are bounded martingale differences, so their sum is close to
        normal after hundreds of units (Hall & Heyde 1980, theorem 3.2). 1 before the second payoff.
        """
        if self.count < 2:
            return 1.0
        mean, bins = self.total / self.count, enumerate(self.counts)
        loss = fsum(count * (self.reach * (place * 2.0 / _BINS - 1.0) - mean) ** 2 for place, count in bins)
        return min(1.0, mean + normal_quantile(1.0 - chance) * sqrt(loss / (self.count - 1) / self.count))

    def interval(self, coverage: float = 0.95) -> tuple[float, float]:
        """(low, high) within [-1, 1]: covers the effect at all looks together with probability >= `coverage`."""
        bar = 2.0 / (1.0 - coverage)
        bins = [
            (self.reach * (place * 2.0 / _BINS - 1.0), count) for place, count in enumerate(self.counts) if count > 0.0
        ]
        low = self._limit(bins, bar)
        return low, -self._limit([(-payoff, count) for payoff, count in bins], bar)

    def _limit(self, bins: Sequence[tuple[float, float]], bar: float) -> float:
        """The smallest effect in [-1, 1] whose "no larger than this" is not refuted; capital falls in the effect."""
        if _capital(bins, -1.0, self.reach) < bar:
            return -1.0
        refuted, kept = -1.0, 1.0
        for _ in range(24):
            middle = (refuted + kept) / 2.0
            if _capital(bins, middle, self.reach) >= bar:
                refuted = middle
            else:
                kept = middle
        return refuted


def _capital(bins: Sequence[tuple[float, float]], effect: float, reach: float) -> float:
    """Capital of the mixture that stakes on "the payoffs are larger than `effect` on average"."""
    logs = []
    for share in _STAKES:
        stake = share / (reach + 1.0)
        logs.append(fsum(count * log1p(stake * (payoff - effect)) for payoff, count in bins))
    return fsum(exp(min(log, 460.0)) for log in logs) / len(logs)
