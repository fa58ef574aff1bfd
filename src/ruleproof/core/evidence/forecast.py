"""How long until a verdict: sessions or pairs until the capital crosses its bar, for an effect that is named or was
seen.

The log of a bettor's capital is a random walk whose drift and variance follow from the effect; the time at which such a
walk crosses a bar is close to inverse Gaussian. Trials that have begun are forecast from the capital they hold now.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, erfc, exp, fsum, inf, log, log1p, sqrt, tanh

from ruleproof.core.evidence.betting import EFFECTS, coin_weight
from ruleproof.core.evidence.permutation import EFFECTS as PAIR_EFFECTS
from ruleproof.core.evidence.stream import WIDEST
from ruleproof.errors import Refused

_NORMAL = (
    (0.0, 8 / 15),
    (1.3556262, 0.2220759),
    (-1.3556262, 0.2220759),
    (2.8569700, 0.0112574),
    (-2.8569700, 0.0112574),
)
"""Nodes and weights that integrate a standard normal exactly up to degree 9 (Gauss-Hermite, five points)."""

MOST = 1_000_000

Outcomes = Sequence[tuple[float, float, float]]
"""(probability, weight, scaled residual) of one unit: what a bettor of effect k multiplies by 1 + weight tanh(k x)."""


@dataclass(frozen=True, slots=True)
class Forecast:
    """Units still needed: half of such trials are decided by `median`, four in five by `likely`; None = beyond 10^6."""

    median: int | None
    likely: int | None

    def __str__(self) -> str:
        if self.median is None:
            return "no verdict within reach"
        return f"about {self.median} more (four in five within {self.likely if self.likely is not None else MOST})"


def forecast_sessions(
    effect: float,
    *,
    level: float = 0.05,
    rate: float | None = None,
    spread: float = 0.5,
    holdout: float = 0.5,
    effects: Sequence[float] = EFFECTS,
    capital: Sequence[float] | None = None,
) -> Forecast:
    """Sessions until a forward trial with this true effect (shown minus withheld, in [-1, 1], not 0) is decided.

    `rate`: withheld mean of a binary metric whose units have no task in common; else `spread`, the standard deviation
    within tasks, is used with a normal shape. `capital`: the bettors' capital now (`Bet.up`, or `Bet.down` for a
    negative effect); a new trial without it. Raises Refused for an effect or rate that cannot be.
    """
    if not -1.0 <= effect <= 1.0 or (rate is not None and not 0.0 <= rate + effect <= 1.0):
        raise Refused(
            f"An effect of {effect!r} on a rate of {rate!r} cannot be.", hint="Both rates must lie in 0 to 1."
        )
    size = abs(effect)
    if size == 0.0 or spread <= 0.0 or not 0.0 < holdout < 1.0:
        return Forecast(None, None)
    if rate is None:
        units = _normal_units(size, spread, holdout)
    else:
        low = rate if effect > 0.0 else 1.0 - rate
        units = _binary_units(low, size, holdout)
    return _crossing(units, effects, capital or [1.0 / len(effects)] * len(effects), level)


def forecast_pairs(
    gain: float,
    loss: float,
    *,
    level: float = 0.05,
    effects: Sequence[float] = PAIR_EFFECTS,
    capital: Sequence[float] | None = None,
) -> Forecast:
    """Pairs until paired binary replays are decided: a pair is a gain with chance `gain`, a loss with `loss`."""
    if gain < 0.0 or loss < 0.0 or gain + loss > 1.0:
        raise Refused(f"Chances {gain!r} gained and {loss!r} lost cannot be.", hint="They must add up to at most 1.")
    if gain <= loss:
        return Forecast(None, None)
    half = 0.5 / sqrt((gain + loss) / 2.0)
    units = [(gain, 1.0, half), (loss, 1.0, -half), (1.0 - gain - loss, 1.0, 0.0)]
    return _crossing(units, effects, capital or [1.0 / len(effects)] * len(effects), level)


def forecast_graded_pairs(
    effect: float,
    spread: float,
    *,
    level: float = 0.05,
    effects: Sequence[float] = PAIR_EFFECTS,
    capital: Sequence[float] | None = None,
) -> Forecast:
    """Pairs of replays until a graded metric is decided: true difference `effect`, noise `spread` in each replay."""
    if spread <= 0.0 or effect <= 0.0:
        return Forecast(None, None)
    seen = sqrt(spread * spread + effect * effect / 4.0)  # what arms that differ look like when pooled
    units = [(chance, 1.0, (effect + sqrt(2.0) * spread * z) / (2.0 * seen)) for z, chance in _NORMAL]
    return _crossing(units, effects, capital or [1.0 / len(effects)] * len(effects), level)


def _binary_units(low: float, size: float, holdout: float) -> Outcomes:
    """A binary value: rate `low` when withheld, `low` + `size` when shown, against the mean of both."""
    high, wide = low + size, max(holdout, 1.0 - holdout)
    middle = holdout * low + (1.0 - holdout) * high
    noise = (1.0 - holdout) * (high * (1.0 - middle) ** 2 + (1.0 - high) * middle**2)
    noise += holdout * (low * (1.0 - middle) ** 2 + (1.0 - low) * middle**2)
    units = []
    for shown, rate, chance in ((True, high, 1.0 - holdout), (False, low, holdout)):
        weight = coin_weight(shown, holdout)
        for value, part in ((1.0, rate), (0.0, 1.0 - rate)):
            units.append((chance * part, weight, _held(wide * (value - middle) / sqrt(noise)) if noise else 0.0))
    return units


def _normal_units(size: float, spread: float, holdout: float) -> Outcomes:
    wide = max(holdout, 1.0 - holdout)
    noise = sqrt(spread * spread + size * size * holdout * (1.0 - holdout))
    units = []
    for shown, shift, chance in ((True, size * holdout, 1.0 - holdout), (False, -size * (1.0 - holdout), holdout)):
        weight = coin_weight(shown, holdout)
        for z, part in _NORMAL:
            units.append((chance * part, weight, _held(wide * (shift + spread * z) / noise)))
    return units


def _held(scaled: float) -> float:
    return min(max(scaled, -WIDEST), WIDEST)


def _crossing(units: Outcomes, effects: Sequence[float], capital: Sequence[float], level: float) -> Forecast:
    """When the sum of the bettors' capitals crosses 1 / level."""
    bar = log(1.0 / level)
    drifts, variances = [], []
    for effect in effects:
        logs = [(chance, log1p(weight * tanh(effect * x))) for chance, weight, x in units if chance > 0.0]
        drift = fsum(chance * step for chance, step in logs)
        drifts.append(drift)
        variances.append(fsum(chance * (step - drift) ** 2 for chance, step in logs))
    have = [log(money) if money > 0.0 else -inf for money in capital]

    def total(units_seen: float) -> float:
        parts = [money + units_seen * drift for money, drift in zip(have, drifts, strict=True)]
        top = max(parts)
        return top + log(fsum(exp(part - top) for part in parts)) if top > -inf else -inf

    if total(0.0) >= bar:
        return Forecast(0, 0)
    if total(float(MOST)) < bar:
        return Forecast(None, None)
    together = _bisect(total, bar, float(MOST))
    best = max(range(len(drifts)), key=lambda place: have[place] + together * drifts[place])
    walks = [(together, drifts[best], variances[best])]
    walks += [
        ((bar - money) / drift, drift, noise)
        for money, drift, noise in zip(have, drifts, variances, strict=True)
        if drift > 0.0 and money > -inf
    ]
    median, likely = (min(_quantile(chance, *walk) for walk in walks) for chance in (0.5, 0.8))
    return Forecast(ceil(median) if median <= MOST else None, ceil(likely) if likely <= MOST else None)


def _quantile(chance: float, mean: float, drift: float, variance: float) -> float:
    """The time by which a walk that needs `mean` steps on average has crossed with this chance."""
    shape = (mean * drift) ** 2 / variance if variance > 0.0 else inf
    return _bisect(lambda steps: inverse_gaussian_cdf(steps, mean, shape), chance, 100.0 * mean)


def inverse_gaussian_cdf(x: float, mean: float, shape: float) -> float:
    """P(T <= x) for the first passage time of a Brownian motion with drift: Folks & Chhikara 1978, eq. 2.

    Phi(sqrt(s/x) (x/m - 1)) + exp(2 s / m) Phi(-sqrt(s/x) (x/m + 1)).
    """
    if x <= 0.0:
        return 0.0
    if shape == inf:
        return 1.0 if x >= mean else 0.0
    root = sqrt(shape / x)
    first = 0.5 * erfc(-root * (x / mean - 1.0) / sqrt(2.0))
    tail = 0.5 * erfc(root * (x / mean + 1.0) / sqrt(2.0))
    return min(1.0, first + (exp(2.0 * shape / mean + log(tail)) if tail > 0.0 else 0.0))


def _bisect(rising: Callable[[float], float], goal: float, high: float) -> float:
    low = 0.0
    for _ in range(60):
        middle = (low + high) / 2.0
        low, high = (middle, high) if rising(middle) < goal else (low, middle)
    return high
