"""What a rule buys and what it costs: one row for every metric and every cost that the units of a trial carried.

Metrics are better when higher, costs when lower. A row never decides about the rule by itself; it names what a reader
has to know, above all a rule that buys nothing at a price.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import exp, lgamma, log
from typing import Literal

from ruleproof.core.evidence.stream import CostStream, Stream

Kind = Literal["metric", "cost"]
COST_LEVEL = 0.05
"""A cost is called changed when the chance that it did not change is at most this, shared by all costs."""


@dataclass(frozen=True, slots=True)
class EffectRow:
    """One metric or cost. `difference` = shown minus withheld, in the unit of the metric; None without both arms.

    `interval` covers it with 95 %: at all looks for a metric, at one look and approximately for a cost. `e_up` /
    `e_down` are e-values against "showing the rule does not raise / lower it".
    """

    name: str
    kind: Kind
    shown: float | None
    withheld: float | None
    counted: tuple[int, int]
    difference: float | None
    interval: tuple[float, float] | None
    e_up: float
    e_down: float


def metric_row(name: str, stream: Stream, coverage: float = 0.95) -> EffectRow:
    """The row of a metric in [0, 1]; the difference is the task-adjusted estimate."""
    shown, withheld = stream.count("shown"), stream.count("withheld")
    known = shown.counted > 0 and withheld.counted > 0
    return EffectRow(
        name,
        "metric",
        shown.mean,
        withheld.mean,
        (shown.counted, withheld.counted),
        stream.payoffs.mean if known else None,
        stream.payoffs.interval(coverage) if known else None,
        stream.bet.e_up,
        stream.bet.e_down,
    )


def cost_row(name: str, cost: CostStream) -> EffectRow:
    """The row of a cost in its own unit."""
    means = cost.means()
    shown, withheld = means["shown"], means["withheld"]
    difference = shown - withheld if shown is not None and withheld is not None else None
    counted = (cost.stream.count("shown").counted, cost.stream.count("withheld").counted)
    bet = cost.stream.bet
    return EffectRow(name, "cost", shown, withheld, counted, difference, cost.interval(), bet.e_up, bet.e_down)


def price_sentences(rows: Sequence[EffectRow], useless: bool) -> tuple[str, ...]:
    """Sentences for the costs that changed beyond chance; `useless`: whether it was decided that the rule does not
    improve its target. What may yet be shown to help has a price, and no more is said.
    """
    costs = [row for row in rows if row.kind == "cost" and row.shown is not None and row.withheld is not None]
    bar = len(costs) / COST_LEVEL
    said = []
    for row in costs:
        figures = f"{row.name} {row.withheld:.6g} -> {row.shown:.6g} a session"
        if row.e_up >= bar:
            said.append(f"{'It buys nothing measurable, at a price' if useless else 'It costs more'}: {figures}.")
        elif row.e_down >= bar:
            said.append(f"It saves: {figures}.")
    return tuple(said)


def dropout_evidence(missing: Mapping[str, int], holdout: float) -> float:
    """E-value against "a unit without a score is as likely in both arms" (two-sided), from the counts of such units.

    Given that a unit is missing its coin is still P(withheld) = holdout. Mixture over Beta(2 (1 - h), 2 h), mean 1 - h:
    B(a + k, b + n - k) / B(a, b) / ((1 - h)^k h^(n - k)) for k of n shown; the beta-binomial martingale, Robbins 1970.
    """
    shown, withheld = missing["shown"], missing["withheld"]
    a, b = 2.0 * (1.0 - holdout), 2.0 * holdout
    ratio = _log_beta(a + shown, b + withheld) - _log_beta(a, b)
    ratio -= shown * log(1.0 - holdout) + withheld * log(holdout)
    return exp(min(ratio, 460.0))


def _log_beta(a: float, b: float) -> float:
    return lgamma(a) + lgamma(b) - lgamma(a + b)
