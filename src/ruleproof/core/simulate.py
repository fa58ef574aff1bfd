"""What a gate would do to rules whose effect is known: trials replayed on recorded outcomes or on a base rate.

Chance comes in as `uniform`, so that a seed gives the same table everywhere; tallies of parts add up, so that parts can
run in several processes. An effect is put in by turning a share of the outcomes into 1 (or 0), the share that moves the
mean by the effect; the other outcomes stay what they were.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Literal

from ruleproof.core.evidence.anytime import AnytimePolicy, AnytimeState, Unit
from ruleproof.core.evidence.budget import level as budget_level
from ruleproof.core.evidence.caserounds import CaseKind, CaseRound, Replay
from ruleproof.core.evidence.intervals import wilson
from ruleproof.core.evidence.paired import PairedPolicy, PairedState
from ruleproof.core.evidence.pretest import fixed_gate_passes
from ruleproof.core.evidence.stream import Arm
from ruleproof.errors import Refused

Uniform = Callable[[], float]
"""Gives numbers in [0, 1)."""
Progress = Callable[[int], None]
"""Told how many repeats are done."""
Draw = Literal["session", "task", "blocked"]
"""Sessions without tasks; sessions of named tasks, each with its own coin; or coins blocked by task."""


@dataclass(frozen=True, slots=True)
class Outcomes:
    """Recorded outcomes in [0, 1], one tuple a task. Raises Refused where there is none."""

    tasks: tuple[tuple[float, ...], ...]

    def __post_init__(self) -> None:
        values = [value for task in self.tasks for value in task]
        if not values or not all(self.tasks) or not all(0.0 <= value <= 1.0 for value in values):
            raise Refused("There are no outcomes from 0 to 1 to draw from.", hint="Record sessions with scores first.")

    @property
    def mean(self) -> float:
        """The mean when every task is drawn equally often."""
        return sum(sum(task) / len(task) for task in self.tasks) / len(self.tasks)


def base_rate(rate: float) -> Outcomes:
    """Outcomes of a single task that passes with this rate (to a thousandth)."""
    passed = round(rate * 1000)
    return Outcomes(((1.0,) * passed + (0.0,) * (1000 - passed),))


@dataclass(frozen=True, slots=True)
class ForwardSpec:
    """A forward trial under the anytime policy: looked at after every unit, up to `horizon`."""

    outcomes: Outcomes
    effect: float
    horizon: int = 500
    draw: Draw = "session"
    level: float = 0.05
    policy: AnytimePolicy = field(default_factory=AnytimePolicy)


@dataclass(frozen=True, slots=True)
class FixedSpec:
    """The fixed gate: `baseline` earlier sessions (0: no history, the rate is taken as 1), then `sessions` of trial."""

    outcomes: Outcomes
    effect: float
    sessions: int = 5
    margin: float = 0.05
    baseline: int = 20
    threshold: float = 0.5


@dataclass(frozen=True, slots=True)
class PairsSpec:
    """Paired replays, one pair a look, drawn from recorded (control, treated) outcomes."""

    pairs: tuple[tuple[float, float], ...]
    horizon: int = 60
    level: float = 0.05
    policy: PairedPolicy = field(default_factory=PairedPolicy)


@dataclass(frozen=True, slots=True)
class ReplaysSpec:
    """Paired replays in rounds of `repeats` in each arm of `failures` and `wins`, each a task drawn from the outcomes;
    looked at after every round, until the policy's `most_pairs`.
    """

    outcomes: Outcomes
    effect: float
    repeats: int = 5
    failures: int = 3
    wins: int = 2
    level: float = 0.05
    policy: PairedPolicy = field(default_factory=PairedPolicy)


@dataclass(frozen=True, slots=True)
class Tally:
    """What became of `repeats` trials. `decided_at`: the unit at which each promoted or retired one was decided."""

    repeats: int = 0
    promoted: int = 0
    retired: int = 0
    decided_at: tuple[int, ...] = ()

    def __add__(self, other: Tally) -> Tally:
        return Tally(
            self.repeats + other.repeats,
            self.promoted + other.promoted,
            self.retired + other.retired,
            self.decided_at + other.decided_at,
        )

    def share(self, count: int) -> tuple[float, float, float]:
        """(share, low, high) of the repeats, 95 % Wilson limits."""
        return count / max(1, self.repeats), *wilson(count, self.repeats)

    def quantile(self, chance: float) -> int | None:
        """The unit by which this share of all trials was decided; None where fewer ever were."""
        place = int(chance * self.repeats)
        ordered = sorted(self.decided_at)
        return ordered[place] if place < len(ordered) else None


def simulate_forward(spec: ForwardSpec, repeats: int, uniform: Uniform, progress: Progress | None = None) -> Tally:
    """`repeats` trials of one rule alone."""
    return _repeat(lambda: _forward(spec, uniform), repeats, progress)


def simulate_fixed(spec: FixedSpec, repeats: int, uniform: Uniform, progress: Progress | None = None) -> Tally:
    """`repeats` fixed trials; each has its own baseline."""
    return _repeat(lambda: _fixed(spec, uniform), repeats, progress)


def simulate_pairs(spec: PairsSpec, repeats: int, uniform: Uniform, progress: Progress | None = None) -> Tally:
    """`repeats` paired replay trials."""
    return _repeat(lambda: _paired(spec, uniform), repeats, progress)


def simulate_replays(spec: ReplaysSpec, repeats: int, uniform: Uniform, progress: Progress | None = None) -> Tally:
    """`repeats` trials by rounds of paired replays; they are decided at a number of pairs of failures."""
    return _repeat(lambda: _replays(spec, uniform), repeats, progress)


def _repeat(trial: Callable[[], tuple[str, int]], repeats: int, progress: Progress | None) -> Tally:
    promoted = retired = 0
    decided = []
    for done in range(1, repeats + 1):
        outcome, at = trial()
        promoted += outcome == "promote"
        retired += outcome == "retire"
        if outcome in ("promote", "retire"):
            decided.append(at)
        if progress is not None:
            progress(done)
    return Tally(repeats, promoted, retired, tuple(decided))


def shifted(value: float, effect: float, mean: float, uniform: Uniform) -> float:
    """An outcome of a session that saw a rule with this effect on the mean."""
    if effect > 0.0 and uniform() * (1.0 - mean) < effect:
        return 1.0
    if effect < 0.0 and uniform() * mean < -effect:
        return 0.0
    return value


class _Source:
    """Draws sessions: a task, an outcome, and the arm of one rule."""

    def __init__(self, outcomes: Outcomes, draw: Draw, holdout: float, uniform: Uniform) -> None:
        self._tasks, self._draw, self._holdout, self._uniform = outcomes.tasks, draw, holdout, uniform
        self._open: dict[int, Arm] = {}
        self._blocks: dict[int, int] = {}

    def session(self) -> tuple[int, float]:
        place = int(self._uniform() * len(self._tasks))
        task = self._tasks[place]
        return place, task[int(self._uniform() * len(task))]

    def arm(self, place: int) -> tuple[Arm, str | None]:
        if self._draw != "blocked":
            return ("withheld" if self._uniform() < self._holdout else "shown"), None
        number = self._blocks.get(place, 0)
        if place in self._open:
            self._blocks[place] = number + 1
            return ("shown" if self._open.pop(place) == "withheld" else "withheld"), f"{place}#{number}"
        arm: Arm = "withheld" if self._uniform() < 0.5 else "shown"
        self._open[place] = arm
        return arm, f"{place}#{number}"


def _forward(spec: ForwardSpec, uniform: Uniform) -> tuple[str, int]:
    source = _Source(spec.outcomes, spec.draw, spec.policy.holdout, uniform)
    state, mean = AnytimeState(spec.policy), spec.outcomes.mean
    help_bar, harm_bar = 1.0 / spec.level, 1.0 / spec.policy.harm_level
    for at in range(1, spec.horizon + 1):
        place, value = source.session()
        arm, block = source.arm(place)
        if arm == "shown":
            value = shifted(value, spec.effect, mean, uniform)
        state.add(Unit(str(at), arm, value, None if spec.draw == "session" else str(place), block))
        if state.e_help >= help_bar or state.e_harm >= harm_bar:
            outcome = state.verdict(spec.level).outcome
            if outcome in ("promote", "retire"):
                return outcome, at
    return "inconclusive", spec.horizon


def _fixed(spec: FixedSpec, uniform: Uniform) -> tuple[str, int]:
    source, mean = _Source(spec.outcomes, "session", 0.5, uniform), spec.outcomes.mean
    before = sum(source.session()[1] < spec.threshold for _ in range(spec.baseline))
    rate = before / spec.baseline if spec.baseline else 1.0
    values = (shifted(source.session()[1], spec.effect, mean, uniform) for _ in range(spec.sessions))
    breached = sum(value < spec.threshold for value in values)
    passed = fixed_gate_passes(breached, spec.sessions, rate, spec.margin)
    return ("promote" if passed else "retire"), spec.sessions


def _paired(spec: PairsSpec, uniform: Uniform) -> tuple[str, int]:
    state = PairedState(spec.policy)
    for at in range(1, spec.horizon + 1):
        place = int(uniform() * len(spec.pairs))
        control, treated = spec.pairs[place]
        arms = ((Replay({"outcome": treated}),), (Replay({"outcome": control}),))
        state.add(CaseRound(str(place), "failure", *arms))
        verdict = state.look(spec.level)
        if verdict in ("promote", "retire", "inconclusive"):
            return verdict, at
    return "inconclusive", spec.horizon


def _replays(spec: ReplaysSpec, uniform: Uniform) -> tuple[str, int]:
    state, mean, tasks = PairedState(spec.policy), spec.outcomes.mean, spec.outcomes.tasks

    def replays(task: Sequence[float], effect: float) -> tuple[Replay, ...]:
        drawn = (task[int(uniform() * len(task))] for _ in range(spec.repeats))
        return tuple(Replay({"outcome": shifted(value, effect, mean, uniform)}) for value in drawn)

    kinds: list[CaseKind] = [
        "failure" if place < spec.failures else "win" for place in range(spec.failures + spec.wins)
    ]
    cases = [(f"{kind}{place}", kind, tasks[int(uniform() * len(tasks))]) for place, kind in enumerate(kinds)]
    while True:
        for name, kind, task in cases:
            state.add(CaseRound(name, kind, replays(task, spec.effect), replays(task, 0.0)))
        outcome = state.look(spec.level)
        if outcome != "not_yet":
            return outcome, state.pairs


@dataclass(frozen=True, slots=True)
class FamilySpec:
    """Rules tried together on the same sessions, one effect each (0 = useless), under one error budget.

    Every rule has its own coin in every session; the effects of those shown add up. A promoted or retired rule is no
    longer on trial; a promoted one is shown in every later session.
    """

    outcomes: Outcomes
    effects: tuple[float, ...]
    horizon: int = 500
    draw: Draw = "session"
    alpha: float = 0.05
    policy: AnytimePolicy = field(default_factory=AnytimePolicy)


@dataclass(frozen=True, slots=True)
class FamilyTally:
    """Sums over repeats. `false_share`: useless among promoted (0 if none was); `useless`, `useful`: promoted ones."""

    repeats: int = 0
    false_share: float = 0.0
    any_false: int = 0
    useless: int = 0
    useful: int = 0

    def __add__(self, other: FamilyTally) -> FamilyTally:
        return FamilyTally(
            self.repeats + other.repeats,
            self.false_share + other.false_share,
            self.any_false + other.any_false,
            self.useless + other.useless,
            self.useful + other.useful,
        )


def simulate_family(spec: FamilySpec, repeats: int, uniform: Uniform, progress: Progress | None = None) -> FamilyTally:
    """`repeats` families; the false discovery rate is `false_share` / `repeats`."""
    total = FamilyTally()
    for done in range(1, repeats + 1):
        promoted = _family(spec, uniform)
        useless = sum(spec.effects[rule] == 0.0 for rule in promoted)
        share = useless / len(promoted) if promoted else 0.0
        total += FamilyTally(1, share, int(useless > 0), useless, len(promoted) - useless)
        if progress is not None:
            progress(done)
    return total


def _family(spec: FamilySpec, uniform: Uniform) -> Sequence[int]:
    """The rules that were promoted in one repeat."""
    source = _Source(spec.outcomes, spec.draw, spec.policy.holdout, uniform)
    mean, holdout = spec.outcomes.mean, spec.policy.holdout
    states = {rule: AnytimeState(spec.policy) for rule in range(len(spec.effects))}
    promoted: list[int] = []
    for at in range(spec.horizon):
        place, value = source.session()
        task = None if spec.draw == "session" else str(place)
        arms: dict[int, Arm] = {rule: "withheld" if uniform() < holdout else "shown" for rule in states}
        for rule in (*promoted, *(rule for rule, arm in arms.items() if arm == "shown")):
            value = shifted(value, spec.effects[rule], mean, uniform)
        for rule, arm in arms.items():
            state = states[rule]
            state.add(Unit(str(at), arm, value, task))
            level = budget_level(rule + 1, len(promoted), spec.alpha)
            if state.e_help * level >= 1.0 or state.e_harm * spec.policy.harm_level >= 1.0:
                outcome = state.verdict(level).outcome
                if outcome in ("promote", "retire"):
                    del states[rule]
                if outcome == "promote":
                    promoted.append(rule)
    return promoted
