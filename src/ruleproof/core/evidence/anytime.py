"""The forward trial that may be looked at after every session: promote, retire, inconclusive, or not yet.

Units count once, in the order in which they are told, in the arm that the keyed coin gave them. Promotion is judged
at a level that the error budget over all rules gives; harm at a level of its own, so that a harmful rule is never
kept because many others were tried. A unit without a score is missing: it is compared between the arms, and a
promotion must hold whether all of those had failed or all had passed.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from math import isfinite
from types import MappingProxyType
from typing import Literal

from ruleproof.core.evidence.betting import EFFECTS
from ruleproof.core.evidence.effects import EffectRow, cost_row, dropout_evidence, metric_row, price_sentences
from ruleproof.core.evidence.forecast import forecast_sessions
from ruleproof.core.evidence.grade import Grade, chance_of_evidence, grade_of_chance
from ruleproof.core.evidence.missing import least_of_sessions
from ruleproof.core.evidence.stream import Arm, ArmCount, CostStream, Stream
from ruleproof.errors import Refused

Outcome = Literal["promote", "retire", "inconclusive", "not_yet"]
_NOTHING: Mapping[str, float] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Unit:
    """One unit of a trial. `value`: its target metric in [0, 1], higher is better; None: it ended without a score.

    `metrics`: its other metrics in [0, 1]; `costs`: >= 0, any unit of measure. `block`: the block of
    `assignment.assigned_in_block`, None where the coin was the unit's own.
    """

    unit_id: str
    arm: Arm
    value: float | None
    task_id: str | None = None
    block: str | None = None
    metrics: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    costs: Mapping[str, float] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True)
class AnytimePolicy:
    """What is fixed when a trial starts. Raises Refused for a value out of range.

    `holdout`: P(withheld), in (0, 1). `harm_level`: chance that a useless rule is ever retired as harmful, half of it
    for the target where other metrics are followed, the rest shared by those. `least_effect`: an effect that is
    smaller is not worth a verdict. `most_units`: the trial ends as inconclusive here. `pair_by_task`: each task is
    its own control.
    """

    holdout: float = 0.5
    harm_level: float = 0.05
    least_effect: float = 0.05
    most_units: int = 2000
    coverage: float = 0.95
    dropout_level: float = 0.01
    pair_by_task: bool = True
    effects: tuple[float, ...] = EFFECTS

    def __post_init__(self) -> None:
        for name in ("holdout", "harm_level", "coverage", "dropout_level"):
            value = getattr(self, name)
            if not isfinite(value) or not 0.0 < value < 1.0:
                raise Refused(f"{name} is {value!r}.", hint="Give a number between 0 and 1, both excluded.")
        if not 0.0 <= self.least_effect < 1.0 or self.most_units < 1:
            raise Refused(f"least_effect is {self.least_effect!r} and most_units {self.most_units!r}.")


@dataclass(frozen=True, slots=True)
class AnytimeVerdict:
    """One look at a trial. `effect`: shown minus withheld, adjusted by task, in [-1, 1]; `interval`: its confidence
    sequence at `coverage`. `chance`: upper bound on the chance that a useless rule ever shows this much evidence of
    what was decided (of help, where nothing was). `units_needed`: more units to a verdict at the effect seen, None if
    out of reach or decided. `harmed`: the metrics that made it retire. `repeated`: reports of units that were counted
    before.
    """

    outcome: Outcome
    reasons: tuple[str, ...]
    level: float
    shown: ArmCount
    withheld: ArmCount
    effect: float | None
    interval: tuple[float, float]
    coverage: float
    e_help: float
    e_harm: float
    chance: float
    grade: Grade
    units_needed: int | None
    harmed: tuple[str, ...]
    rows: tuple[EffectRow, ...]
    e_dropout: float
    repeated: int


class AnytimeState:
    """The fold of a trial: `add` advances it by one unit at constant cost; `verdict` reads it and changes nothing."""

    __slots__ = ("_costs", "_metrics", "_missing", "_policy", "_repeated", "_target", "_units")

    def __init__(self, policy: AnytimePolicy) -> None:
        self._policy = policy
        self._target = Stream(policy.holdout, policy.effects)
        self._metrics: dict[str, Stream] = {}
        self._costs: dict[str, CostStream] = {}
        self._units: dict[str, Unit] = {}
        self._missing = {"shown": 0, "withheld": 0}
        self._repeated = 0

    @property
    def e_help(self) -> float:
        """E-value against "showing the rule raises nothing"."""
        return self._target.bet.e_up

    @property
    def e_harm(self) -> float:
        """E-value against "showing the rule lowers nothing"."""
        return self._target.bet.e_down

    @property
    def e_lent(self) -> float:
        """The e-value of help that may count beside evidence of another kind: whatever is missing, and at most 1 where
        these units alone could not promote.
        """
        lost_evenly = dropout_evidence(self._missing, self._policy.holdout) < 1.0 / self._policy.dropout_level
        fair = lost_evenly and not self._harmed("") and (self._target.payoffs.mean or 0.0) > 0.0
        return self._least(None) if fair else min(self.e_help, 1.0)

    @property
    def counted(self) -> int:
        """Units with a value so far."""
        return int(self._target.sums["shown"][0] + self._target.sums["withheld"][0])

    def upper(self, chance: float) -> float:
        """One-sided upper limit of the effect at one planned look: `Payoffs.upper`."""
        return self._target.payoffs.upper(chance)

    def add(self, unit: Unit) -> bool:
        """Count one unit; False where it was counted before. Raises Refused for a value outside [0, 1] or another
        arm.
        """
        value, arm = unit.value, unit.arm
        if arm not in self._missing:
            raise Refused(f"Unit {unit.unit_id!r} was {arm!r}.", hint="Only shown and withheld units are evidence.")
        before = self._units.get(unit.unit_id)
        if before is not None and (value is None or before.value is not None):
            self._repeated += 1
            return False
        if value is None:
            self._units[unit.unit_id] = unit
            self._missing[arm] += 1
            return True
        if not 0.0 <= value <= 1.0 or unit.metrics or unit.costs:
            _check(unit, value)
        if before is not None:
            self._missing[before.arm] -= 1
            del self._units[unit.unit_id]  # it stands where its value came
        self._units[unit.unit_id] = unit
        task = unit.task_id if self._policy.pair_by_task else None
        self._target.add(arm, task, value, unit.block)
        for name, other in unit.metrics.items():
            self._stream(name).add(arm, task, other, unit.block)
        for name, cost in unit.costs.items():
            self._cost(name).add(arm, task, cost, unit.block)
        return True

    def _stream(self, name: str) -> Stream:
        known = self._metrics.get(name)
        if known is None:
            known = self._metrics[name] = Stream(self._policy.holdout, self._policy.effects)
        return known

    def _cost(self, name: str) -> CostStream:
        known = self._costs.get(name)
        if known is None:
            known = self._costs[name] = CostStream(self._policy.holdout, self._policy.effects)
        return known

    def verdict(self, level: float, metric: str = "outcome") -> AnytimeVerdict:
        """The look. `level`: what the error budget allows this rule now, in (0, 1); `metric`: the target's name."""
        policy, target = self._policy, self._target
        if not 0.0 < level < 1.0:
            raise Refused(f"The level of a verdict is {level!r}.", hint="Take it from the error budget.")
        rows = (
            metric_row(metric, target, policy.coverage),
            *(metric_row(name, stream, policy.coverage) for name, stream in sorted(self._metrics.items())),
            *(cost_row(name, cost) for name, cost in sorted(self._costs.items())),
        )
        harmed = self._harmed(metric)
        e_dropout = dropout_evidence(self._missing, policy.holdout)
        lost_evenly = e_dropout < 1.0 / policy.dropout_level
        interval = target.payoffs.interval(policy.coverage)
        helps = self.e_help >= 1.0 / level and (target.payoffs.mean or 0.0) > 0.0
        whole = not helps or self._least(None) >= 1.0 / level
        outcome: Outcome
        if harmed:
            outcome = "retire"
        elif helps and lost_evenly and whole:
            outcome = "promote"
        elif self.counted >= policy.most_units or self._too_small(interval):
            outcome = "inconclusive"
        else:
            outcome = "not_yet"
        chance = min((self._chance_of_harm(row, metric) for row in rows if row.name in harmed), default=None)
        chance = chance_of_evidence(self.e_help) if chance is None else chance
        needed = self._needed(level) if outcome == "not_yet" and lost_evenly and whole else None
        reasons = self._reasons(outcome, level, harmed, interval, needed, lost_evenly, whole)
        return AnytimeVerdict(
            outcome=outcome,
            reasons=(*reasons, *price_sentences(rows, outcome in ("retire", "inconclusive"))),
            level=level,
            shown=target.count("shown", self._missing["shown"]),
            withheld=target.count("withheld", self._missing["withheld"]),
            effect=rows[0].difference,
            interval=interval,
            coverage=policy.coverage,
            e_help=self.e_help,
            e_harm=self.e_harm,
            chance=chance,
            grade=grade_of_chance(chance),
            units_needed=needed,
            harmed=harmed,
            rows=rows,
            e_dropout=e_dropout,
            repeated=self._repeated,
        )

    def _harmed(self, metric: str) -> tuple[str, ...]:
        """Metrics that fell beyond chance; the harm level is split so that all of them together err at most that
        often.
        """
        others = len(self._metrics)
        bar = (2.0 if others else 1.0) / self._policy.harm_level
        named = [metric] if self.e_harm >= bar else []
        for name, stream in sorted(self._metrics.items()):
            if stream.bet.e_down >= bar * others and self._least(name) >= bar * others:
                named.append(name)
        return tuple(named)

    def _chance_of_harm(self, row: EffectRow, target: str) -> float:
        """Upper bound on the chance that a useless rule shows this much harm in any metric: others share a half."""
        others = len(self._metrics)
        share = (2.0 if others else 1.0) if row.name == target else 2.0 * others
        return min(1.0, share * chance_of_evidence(row.e_down))

    def _least(self, name: str | None) -> float:
        """The e-value of the help of the target (None), or of the harm of another metric, that holds whatever is
        missing.
        """
        policy, target = self._policy, name is None
        stream = self._target if name is None else self._metrics[name]
        seen = int(stream.sums["shown"][0] + stream.sums["withheld"][0])
        known = stream.bet.e_up if target else stream.bet.e_down
        if seen == (len(self._units) if target else self.counted):
            return known
        units = (
            (
                unit.arm,
                unit.task_id if policy.pair_by_task else None,
                unit.value if name is None else unit.metrics.get(name),
                unit.block,
            )
            for unit in self._units.values()
            if target or unit.value is not None
        )
        return min(known, least_of_sessions(units, lambda: Stream(policy.holdout, policy.effects), up=target))

    def _too_small(self, interval: tuple[float, float]) -> bool:
        least = self._policy.least_effect
        return -least < interval[0] and interval[1] < least

    def _needed(self, level: float) -> int | None:
        """More units until half of such trials are decided, if the effect and the spread seen so far are the true
        ones.
        """
        effect, target, policy = self._target.payoffs.mean, self._target, self._policy
        if not effect:
            return None
        helps = effect > 0.0
        capital, bar = (target.bet.up, level) if helps else (target.bet.down, policy.harm_level)
        if not helps and self._metrics:
            bar /= 2.0
        spread = target.baseline.spread
        return forecast_sessions(
            effect, level=bar, spread=spread, holdout=policy.holdout, effects=policy.effects, capital=capital
        ).median

    def _reasons(
        self,
        outcome: Outcome,
        level: float,
        harmed: tuple[str, ...],
        interval: tuple[float, float],
        needed: int | None,
        lost_evenly: bool,
        whole: bool,
    ) -> tuple[str, ...]:
        policy, low, high = self._policy, *interval
        said = []
        if outcome == "retire":
            said.append(f"It lowers {', '.join(harmed)}, beyond chance at {policy.harm_level:g} at every look.")
        elif outcome == "promote":
            said.append(f"It helps: e-value {self.e_help:.4g}, {1.0 / level:.4g} needed at level {level:.3g}.")
        elif outcome == "inconclusive" and self.counted < policy.most_units:
            said.append(f"Its effect lies between {low:+.3f} and {high:+.3f}: too small to matter.")
        elif outcome == "inconclusive":
            said.append(f"{self.counted} units did not decide it: the effect lies between {low:+.3f} and {high:+.3f}.")
        elif not self.counted:
            said.append("Not yet: no unit has been counted.")
        elif lost_evenly and whole and (needed is None or self.counted + needed > policy.most_units):
            effect = self._target.payoffs.mean or 0.0
            said.append(
                f"Not yet: at the effect seen, {effect:+.3f}, the limit of {policy.most_units} units comes first."
            )
        elif lost_evenly and whole:
            said.append(f"Not yet: about {needed} more units at the effect seen.")
        if not lost_evenly:
            missing = self._missing
            said.append(
                f"Units without a score differ between the arms ({missing['shown']} shown, {missing['withheld']} "
                "withheld): what is left is no fair comparison, so it is not promoted."
            )
        elif not whole:
            missing = self._missing
            said.append(
                f"It helps the units that have a score, but not if all others ({missing['shown']} shown, "
                f"{missing['withheld']} withheld) had failed, or had passed: so it is not promoted."
            )
        return tuple(said)


def _check(unit: Unit, value: float) -> None:
    """Refuse before anything is counted."""
    for name, number in (("value", value), *unit.metrics.items()):
        if not 0.0 <= number <= 1.0:
            raise Refused(f"Unit {unit.unit_id!r} has {name} {number!r}.", hint="Scale it to 0..1, or give None.")
    for name, cost in unit.costs.items():
        if not isfinite(cost) or cost < 0.0:
            raise Refused(f"Unit {unit.unit_id!r} has cost {name} {cost!r}.", hint="Give a finite number >= 0.")


def fold(units: Iterable[Unit], policy: AnytimePolicy) -> AnytimeState:
    """The state after all units, in their order."""
    state = AnytimeState(policy)
    for unit in units:
        state.add(unit)
    return state


def decide(units: Iterable[Unit], policy: AnytimePolicy, level: float, metric: str = "outcome") -> AnytimeVerdict:
    """One look at a trial: fold, then verdict. Raises Refused for units or a level that cannot be."""
    return fold(units, policy).verdict(level, metric)
