"""Replays of one case, round by round: what each scored and cost, with the candidate in context and without it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from statistics import median
from types import MappingProxyType
from typing import Literal

from ruleproof.core.evidence.betting import Payoffs
from ruleproof.core.evidence.effects import EffectRow
from ruleproof.core.evidence.exact import sign_test
from ruleproof.core.evidence.grade import chance_of_evidence
from ruleproof.core.evidence.intervals import welch
from ruleproof.core.evidence.missing import filled
from ruleproof.core.evidence.permutation import BlockBet
from ruleproof.errors import Refused

CaseKind = Literal["failure", "win"]
_NOTHING: Mapping[str, float] = MappingProxyType({})
AGREE, FLAT = 0.9, 0.02
"""Repeats hardly differ where this share is the same, or where their mean distance from their median is this."""


@dataclass(frozen=True, slots=True)
class Replay:
    """One replay. `metrics` in [0, 1], higher is better, None = missing; one that failed has none. `costs` >= 0."""

    metrics: Mapping[str, float | None] = field(default_factory=lambda: _NOTHING)
    costs: Mapping[str, float] = field(default_factory=lambda: _NOTHING)


@dataclass(frozen=True, slots=True)
class CaseRound:
    """One case in one round: its replays with the candidate in context, and those without it, run side by side."""

    case_id: str
    kind: CaseKind
    treated: tuple[Replay, ...]
    control: tuple[Replay, ...]


class MetricRounds:
    """One metric over the rounds. `single_cases`: the first so many cases are also watched one by one."""

    def __init__(self, effects: tuple[float, ...], single_cases: int) -> None:
        self._effects, self._places = effects, single_cases
        self.all, self.wins = BlockBet(effects), BlockBet(effects)
        self.single: dict[str, BlockBet] = {}
        self.cases: dict[str, tuple[CaseKind, list[float], list[float]]] = {}
        self.payoffs = Payoffs(1.0)
        self._seen: list[tuple[CaseRound, Sequence[float], Sequence[float]]] = []
        self._lacking = False

    def add(self, case: CaseRound, treated: Sequence[float], control: Sequence[float]) -> None:
        self._seen.append((case, treated, control))
        self._lacking |= len(treated) < len(case.treated) or len(control) < len(case.control)
        self.all.add(treated, control)
        if case.kind == "win":
            self.wins.add(treated, control)
        if case.case_id in self.single or len(self.single) < self._places:
            self.single.setdefault(case.case_id, BlockBet(self._effects)).add(treated, control)
        _, known_treated, known_control = self.cases.setdefault(case.case_id, (case.kind, [], []))
        known_treated += treated
        known_control += control
        for one, other in zip(treated, control, strict=False):
            self.payoffs.add(one - other)

    @property
    def e_harm(self) -> float:
        """A third of the capital on all cases, a third on the wins, a third spread over single cases, idle or not."""
        alone = sum(bet.e_down for bet in self.single.values()) + self._places - len(self.single)
        return (self.all.e_down + self.wins.e_down + alone / self._places) / 3.0

    def steady(self, *kinds: CaseKind) -> dict[str, tuple[int, float]]:
        """Of the cases of these kinds whose repeats hardly differ within an arm of a round: (1 rose, -1 fell, 0
        neither; its mean without the candidate). Their repeats are copies, or nearly: one case is one observation.

        Hardly: `AGREE` of them are the same, or their mean distance from their median is at most `FLAT`. A case that
        never had two repeats in an arm is left out.
        """
        rounds: dict[str, list[Sequence[float]]] = {}
        for case, treated, control in self._seen:
            rounds.setdefault(case.case_id, []).extend(arm for arm in (treated, control) if len(arm) > 1)
        found = {}
        for name, (kind, treated, control) in self.cases.items():
            if kind not in kinds or not rounds[name]:
                continue
            away = [abs(value - middle) for arm in rounds[name] for middle in (median(arm),) for value in arm]
            spread, before = sum(away) / len(away), sum(control) / len(control)
            moved = sum(treated) / len(treated) - before
            same = sum(Counter(arm).most_common(1)[0][1] for arm in rounds[name])
            if spread <= FLAT or same >= AGREE * len(away):
                found[name] = (0 if abs(moved) <= 2.0 * spread else 1 if moved > 0.0 else -1), before
        return found

    @property
    def copied(self) -> bool:
        """Whether every case is steady."""
        return bool(self.cases) and len(self.steady("failure", "win")) == len(self.cases)

    def versions(self) -> Iterator[MetricRounds]:
        """This, and where replays lack a value, what it would be had all of those been 0, and had all been 1."""
        yield self
        if not self._lacking:
            return
        for blocks in filled((one, len(case.treated), other, len(case.control)) for case, one, other in self._seen):
            version = MetricRounds(self._effects, self._places)
            for (case, _, _), (treated, control) in zip(self._seen, blocks, strict=True):
                version.add(case, treated, control)
            yield version

    def suspected(self, bar: float) -> list[str]:
        """The single cases in which it fell with an e-value of at least `bar`, whatever is missing."""
        fell = [case for case, bet in self.single.items() if bet.e_down >= bar]
        versions = tuple(self.versions()) if fell else ()
        return [case for case in fell if all(version.single[case].e_down >= bar for version in versions)]

    @property
    def chance_of_harm(self) -> float:
        """Upper bound on the chance that a rule which lowers nothing shows this much: of copies, by their cases."""
        chance = chance_of_evidence(self.e_harm)
        if not self.copied:
            return chance
        moved = [way for way, _ in self.steady("failure", "win").values()]
        return max(chance, sign_test(moved.count(-1), moved.count(1)))

    def row(self, name: str, coverage: float) -> EffectRow:
        treated = [value for _, values, _ in self.cases.values() for value in values]
        control = [value for _, _, values in self.cases.values() for value in values]
        means = [sum(values) / len(values) if values else None for values in (treated, control)]
        return EffectRow(
            name,
            "metric",
            means[0],
            means[1],
            (len(treated), len(control)),
            self.payoffs.mean,
            self.payoffs.interval(coverage) if self.payoffs.count else None,
            self.all.e_up,
            self.e_harm,
        )


class CostRounds:
    """One cost over the rounds; in a block it is scaled by the largest there, which tells nothing of the arms."""

    def __init__(self, effects: tuple[float, ...]) -> None:
        self._bet = BlockBet(effects)
        self._sums = ([0.0, 0.0, 0.0], [0.0, 0.0, 0.0])

    def add(self, case: CaseRound, name: str) -> None:
        """The cost `name` of one case of one round."""
        arms = [[replay.costs[name] for replay in arm if name in replay.costs] for arm in (case.treated, case.control)]
        for moments, arm in zip(self._sums, arms, strict=True):
            for cost in arm:
                moments[0] += 1.0
                moments[1] += cost
                moments[2] += cost * cost
        largest = max((cost for arm in arms for cost in arm), default=0.0)
        if largest > 0.0:
            self._bet.add([cost / largest for cost in arms[0]], [cost / largest for cost in arms[1]])

    def row(self, name: str) -> EffectRow:
        """Means of both arms and the interval of their difference."""
        (a_count, a_sum, a_squares), (b_count, b_sum, b_squares) = self._sums
        means = [total / count if count else None for count, total in ((a_count, a_sum), (b_count, b_sum))]
        both = means[0] - means[1] if means[0] is not None and means[1] is not None else None
        interval = welch((a_count, a_sum, a_squares), (b_count, b_sum, b_squares))
        counted = (int(a_count), int(b_count))
        return EffectRow(name, "cost", means[0], means[1], counted, both, interval, self._bet.e_up, self._bet.e_down)


def values_of(replays: Sequence[Replay], name: str) -> list[float]:
    """The values of one metric that are there. Raises Refused outside [0, 1]."""
    values = [value for replay in replays if (value := replay.metrics.get(name)) is not None]
    for value in values:
        if not 0.0 <= value <= 1.0:
            raise Refused(f"A replay has {name} {value!r}.", hint="Scale it to 0..1, or give None where it is missing.")
    return values


def scored(replays: Sequence[Replay], values: Sequence[float]) -> list[float]:
    """1 for every replay of one arm that gave a value, 0 for every one that did not."""
    return [1.0] * len(values) + [0.0] * (len(replays) - len(values))
