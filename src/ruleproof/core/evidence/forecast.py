"""How long until a verdict: sessions or pairs until the capital crosses its bar, for an effect that is named or was
seen.

The log of a bettor's capital is a random walk whose drift and variance follow from the effect, and the time at which
the sum of their capitals crosses a bar is that of a Brownian motion and a curve. A trial that has begun is forecast
from the capital that it holds now.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from math import ceil, erfc, exp, fsum, log, log1p, pi, sqrt, tanh

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
STEADY = 1e-6
"""Least standard deviation of a walk: units that all say the same, as where every pair is gained, still get there."""

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
    walks = [
        (log(money), drift, max(STEADY, sqrt(variance)))
        for money, drift, variance in zip(capital, drifts, variances, strict=True)
        if money > 0.0
    ]
    if sum(capital) * level >= 1.0:
        return Forecast(0, 0)
    if not walks:
        return Forecast(None, None)
    median, likely = (_time(walks, bar, chance) for chance in (0.5, 0.8))
    return Forecast(median, likely)


_Walk = tuple[float, float, float]
"""(log capital now, drift a unit, standard deviation a unit) of one bettor."""


def _time(walks: Sequence[_Walk], bar: float, chance: float) -> int | None:
    """The unit by which the sum of the walks has crossed the bar with this chance; None beyond `MOST`.

    All bettors see the same outcomes, so one Brownian motion moves them all, and the bar is a curve for it. The
    chance to have crossed the curve by t is close to that of its tangent at t (Strassen 1967; Daniels 1974).
    """
    if _crossed(walks, bar, float(MOST)) < chance:
        return None
    low, high = 0.0, 1.0
    while _crossed(walks, bar, high) < chance:
        low, high = high, 2.0 * high
    while high - low > max(0.5, 0.002 * high):
        middle = (low + high) / 2.0
        low, high = (middle, high) if _crossed(walks, bar, middle) < chance else (low, middle)
    return ceil(high)


def _crossed(walks: Sequence[_Walk], bar: float, t: float) -> float:
    """Chance that the sum of exp(log capital + drift s + sd B(s)) reached exp(bar) at some s <= t.

    For a line a + c s it is Phi(-(a + c t) / sqrt t) + exp(-2 a c) Phi((c t - a) / sqrt t), a > 0.
    """
    at = min((bar - money - t * drift) / sd for money, drift, sd in walks)  # where the curve stands at t, from above
    while True:
        parts = [exp(money + t * drift + sd * at - bar) for money, drift, sd in walks]
        whole = fsum(parts)
        rise = fsum(part * sd for part, (_, _, sd) in zip(parts, walks, strict=True)) / whole
        step = log(whole) / rise
        at -= step  # Newton: log of a sum of exponentials is convex, so it comes down without overshooting
        if step < 1e-9 * (1.0 + abs(at)):
            break
    slope = -fsum(part * drift for part, (_, drift, _) in zip(parts, walks, strict=True)) / whole / rise
    start = at - slope * t
    if start <= 0.0:
        return 1.0
    root = sqrt(2.0 * t)
    tail = exp(min(1.0, _log_erfc((start - slope * t) / root) - 2.0 * start * slope))
    return min(1.0, 0.5 * (erfc(at / root) + tail))


def _log_erfc(x: float) -> float:
    """log erfc(x); beyond 20, where erfc leaves the floats, by its asymptotic series."""
    if x < 20.0:
        return log(erfc(x))
    inverse = 0.5 / (x * x)
    return -x * x - log(x * sqrt(pi)) + log1p(-inverse * (1.0 - 3.0 * inverse * (1.0 - 5.0 * inverse)))
