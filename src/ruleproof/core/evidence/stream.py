"""One metric of one trial: its baseline, its bet and its payoffs, advanced one unit at a time at constant cost.

A task is its own control: the bet is on the residual of a value against what earlier units of the same task gave, so
that hard and easy tasks do not drown the effect. A baseline only ever looks back; the coin of a unit never enters it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import sqrt
from typing import Literal

from ruleproof.core.evidence.betting import EFFECTS, Bet, Payoffs, coin_weight
from ruleproof.core.evidence.intervals import welch

Arm = Literal["shown", "withheld"]

WIDEST = 1.5
"""Largest |residual| / (2 sd) that a bet sees: one rare outcome cannot ruin a small bettor."""


class Baseline:
    """Predicts the next value from earlier ones: the task's own mean, drawn towards the mean of all by one session.

    Where task means have predicted worse so far than the mean of all, the mean of all is used (tasks that do not differ
    should cost nothing). `spread` is the standard deviation of the residuals so far, 0.5 before the first.
    """

    __slots__ = ("_all_loss", "_count", "_noise", "_task_loss", "_tasks", "_total", "_weight")

    def __init__(self) -> None:
        self._count, self._total = 1.0, 0.5
        self._tasks: dict[str, tuple[int, float]] = {}
        self._all_loss = self._task_loss = 0.0
        self._noise, self._weight = 0.5, 2.0

    @property
    def spread(self) -> float:
        return sqrt(self._noise / self._weight)

    def step(self, task: str | None, value: float) -> tuple[float, float]:
        """(residual of `value`, spread before it); then learns `value`. The residual lies in [-1, 1]."""
        spread = sqrt(self._noise / self._weight)
        residual = loose = value - self._total / self._count
        if task is not None:
            count, total = self._tasks.get(task, (0, 0.0))
            own = value - (total + value - loose) / (count + 1)
            if self._task_loss <= self._all_loss:
                residual = own
            self._all_loss += loose * loose
            self._task_loss += own * own
            self._tasks[task] = (count + 1, total + value)
        self._count += 1.0
        self._total += value
        self._noise += residual * residual
        self._weight += 1.0
        return residual, spread


@dataclass(frozen=True, slots=True)
class ArmCount:
    """One arm: units with a value, their mean (None without one), units that never got a value."""

    counted: int
    mean: float | None
    missing: int = 0


class Stream:
    """Evidence about one metric in [0, 1]: `bet` for decisions, `payoffs` for the effect and its interval.

    The payoff (A - P)(Y - m) / (P (1 - P)), A = 1 if shown, P = 1 - holdout, has the effect on this unit as its
    expectation whatever the prediction m: inverse-probability weighting with regression adjustment, Robins, Rotnitzky &
    Zhao 1994, here with a known P. A pair of one block, one shown and one withheld in a random order, pays Ys - Yw.
    """

    __slots__ = (
        "_pending",
        "_pull",
        "_push",
        "_shown_weight",
        "_wide",
        "_withheld_weight",
        "baseline",
        "bet",
        "payoffs",
        "sums",
    )

    def __init__(self, holdout: float, effects: tuple[float, ...] = EFFECTS) -> None:
        self.baseline = Baseline()
        self.bet = Bet(effects)
        self.payoffs = Payoffs(max(1.0 / holdout, 1.0 / (1.0 - holdout)))
        self._pending: dict[str, tuple[Arm, float]] = {}
        self.sums = {"shown": [0.0, 0.0], "withheld": [0.0, 0.0]}
        self._shown_weight, self._withheld_weight = coin_weight(True, holdout), coin_weight(False, holdout)
        self._push, self._pull = 1.0 / (1.0 - holdout), -1.0 / holdout
        self._wide = max(holdout, 1.0 - holdout)

    def add(self, arm: Arm, task: str | None, value: float, block: str | None = None) -> None:
        """One unit, value in [0, 1]. In a block the pair is bet on, once, when its second arm arrives."""
        residual, spread = self.baseline.step(task, value)
        sums = self.sums[arm]
        sums[0] += 1.0
        sums[1] += value
        if block is not None:
            self._add_to_block(block, arm, value)
            return
        shown = arm == "shown"
        scaled = self._wide * residual / spread
        self.bet.update(self._shown_weight if shown else self._withheld_weight, min(max(scaled, -WIDEST), WIDEST))
        self.payoffs.add(residual * (self._push if shown else self._pull))

    def _add_to_block(self, block: str, arm: Arm, value: float) -> None:
        partner = self._pending.setdefault(block, (arm, value))
        if partner[0] == arm:
            return
        del self._pending[block]
        difference = value - partner[1] if arm == "shown" else partner[1] - value
        scaled = difference / (2.0 * self.baseline.spread)
        self.bet.update(1.0, min(max(scaled, -WIDEST), WIDEST))
        self.payoffs.add(difference)

    def count(self, arm: Arm, missing: int = 0) -> ArmCount:
        counted, total = self.sums[arm]
        return ArmCount(int(counted), total / counted if counted else None, missing)


class CostStream:
    """Evidence about one cost >= 0 of any unit of measure, and its means.

    The bet is on cost / (cost + scale), which rises with the cost and lies in [0, 1]; the scale is the mean of the
    costs before this one, so any scale and any outlier is safe. The interval of the raw difference is Welch's,
    approximate.
    """

    __slots__ = ("_first", "_moments", "_seen", "stream")

    def __init__(self, holdout: float, effects: tuple[float, ...] = EFFECTS) -> None:
        self.stream = Stream(holdout, effects)
        self._first: float | None = None
        self._seen = [0.0, 0.0]
        self._moments = {"shown": [0.0, 0.0, 0.0], "withheld": [0.0, 0.0, 0.0]}

    def add(self, arm: Arm, task: str | None, cost: float, block: str | None = None) -> None:
        """One unit, cost >= 0 and finite."""
        if self._first is None:
            self._first = cost
        count, total = self._seen
        scale = total / count if total > 0.0 else cost or 1.0
        self.stream.add(arm, task, cost / (cost + scale), block)
        self._seen[0] += 1.0
        self._seen[1] += cost
        moments, away = self._moments[arm], cost - self._first
        moments[0] += 1.0
        moments[1] += away
        moments[2] += away * away

    def means(self) -> Mapping[str, float | None]:
        """Mean cost per arm, None where an arm is empty."""
        first = self._first or 0.0
        return {arm: first + total / count if count else None for arm, (count, total, _) in self._moments.items()}

    def interval(self) -> tuple[float, float] | None:
        """About 95 % for the difference shown minus withheld, by Welch; None below two units in an arm."""
        shown, withheld = self._moments["shown"], self._moments["withheld"]
        return welch((shown[0], shown[1], shown[2]), (withheld[0], withheld[1], withheld[2]))
