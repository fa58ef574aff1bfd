"""The paired replay policy: treated replays of a case beside control replays without the candidate, in one round.

Only what differs between the two arms of one round counts, so regression to the mean, the noise of a judge, the other
candidates and an outage cancel. A drop counts as a regression when it is beyond the noise that this metric shows
between replays of one case. A round is judged whole; repeats that are run later are a new round.

Where the replays of a case hardly differ within each arm, as at temperature 0, repeats are copies. Then a rule that
merely jolts the agent can turn a captured failure for good, so those cases must also show that a text which turns
answers either way would hardly have mended as many failures and broken as few wins (`exact.jolt_chance`), unless the
other cases suffice; the grade is that of the cases.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import isfinite, log
from typing import Literal

from ruleproof.core.evidence.betting import Payoffs
from ruleproof.core.evidence.caserounds import CaseRound, CostRounds, MetricRounds, scored, values_of
from ruleproof.core.evidence.effects import EffectRow, price_sentences
from ruleproof.core.evidence.exact import jolt_chance, sign_test
from ruleproof.core.evidence.forecast import forecast_graded_pairs
from ruleproof.core.evidence.grade import Grade, chance_of_evidence, grade_of_chance
from ruleproof.core.evidence.missing import Arms, exact_of_replays, least_of_replays
from ruleproof.core.evidence.permutation import EFFECTS, BlockBet, log_most_evidence
from ruleproof.errors import Refused

Outcome = Literal["promote", "retire", "inconclusive", "not_yet"]
UNEVEN = "replays without a score, which differ between the arms"
"""Among `suspected` where what is left of the replays is no fair comparison."""
COPIES = "repeats that are copies"
"""Among `suspected` where the repeats of cases that rose hardly differ, and a text that turns answers either way would
have come as far with a chance above `JOLT_LEVEL`."""
JOLT_LEVEL = 0.05
LACKING = "replays without a score, which could undo it"
"""Among `suspected` where the help would be gone if all replays without a score had failed, or all had passed."""


@dataclass(frozen=True, slots=True)
class PairedPolicy:
    """What is fixed before the first replay. Raises Refused for a value out of range.

    `harm_level`: chance that a useless rule is ever retired as harmful, half of it for the target where there are
    other metrics. `planned_pairs`: 0 = judged after every round (betting); n = judged once, on the first n pairs
    (exact sign test, which is McNemar's for binary metrics). `most_pairs`: inconclusive here. `single_cases`: the
    first so many cases are also watched one by one.
    """

    harm_level: float = 0.05
    planned_pairs: int = 0
    most_pairs: int = 500
    coverage: float = 0.95
    single_cases: int = 8
    effects: tuple[float, ...] = EFFECTS

    def __post_init__(self) -> None:
        if not 0.0 < self.harm_level < 1.0 or not 0.0 < self.coverage < 1.0:
            raise Refused(f"harm_level {self.harm_level!r} or coverage {self.coverage!r} is not between 0 and 1.")
        if self.planned_pairs < 0 or self.most_pairs < 1 or self.single_cases < 1:
            raise Refused(f"{self.planned_pairs}, {self.most_pairs}, {self.single_cases}: not all counts are possible.")


@dataclass(frozen=True, slots=True)
class PairedVerdict:
    """One look at a set of rounds. `effect`: mean treated minus control of the target over pairs of failure cases.

    `exact_p`: one-sided exact sign test on those pairs, valid for one look only. `harmed`: metrics that fell beyond
    their noise; `suspected`: "metric in case" (or `UNEVEN`) that hold a promotion up until more repeats clear them.
    `pairs_needed`: more pairs of failure replays at the effect seen, None if decided or out of reach. `unusable`:
    case rounds without a value of the target in both arms.
    """

    outcome: Outcome
    reasons: tuple[str, ...]
    level: float
    pairs: int
    effect: float | None
    interval: tuple[float, float]
    coverage: float
    e_help: float
    e_harm: float
    exact_p: float
    chance: float
    grade: Grade
    pairs_needed: int | None
    harmed: tuple[str, ...]
    suspected: tuple[str, ...]
    rows: tuple[EffectRow, ...]
    unusable: int


class PairedState:
    """The fold of a replay trial: `add` counts one case of one round; `verdict` reads it and changes nothing."""

    def __init__(self, policy: PairedPolicy, metric: str = "outcome") -> None:
        self._policy, self._target = policy, metric
        self._metrics = {metric: MetricRounds(policy.effects, policy.single_cases)}
        self._costs: dict[str, CostRounds] = {}
        self._help = BlockBet(policy.effects)
        self._scored = BlockBet(policy.effects)
        self._payoffs = Payoffs(1.0)
        self._pairs: list[float] = []
        self._cases: list[str] = []
        self._arms: list[Arms] = []
        self._unusable = 0

    @property
    def e_help(self) -> float:
        """E-value against "the candidate raises the target of no failure case"."""
        return self._help.e_up

    @property
    def e_lent(self) -> float:
        """The e-value of help that may count beside evidence of another kind: whatever is missing, and at most 1 where
        these replays alone could not promote, or are copies, which speak of their cases only. 1 under a plan, whose
        test is all or nothing.
        """
        if self._policy.planned_pairs:
            return 1.0
        harmed, suspected = self._harm(1.0)
        if harmed or suspected:
            return min(self.e_help, 1.0)
        return min(self._least(), self._e_lively) if self._jolted() else self._least()

    @property
    def pairs(self) -> int:
        """Pairs of failure replays so far."""
        return len(self._pairs)

    def add(self, case: CaseRound) -> None:
        """One case of one round. Raises Refused for a value outside [0, 1]; then nothing was counted."""
        replays = (*case.treated, *case.control)
        for replay in replays:
            for name, cost in replay.costs.items():
                if not isfinite(cost) or cost < 0.0:
                    raise Refused(f"A replay has cost {name} {cost!r}.", hint="Give a finite number >= 0.")
        names = {name for replay in replays for name in replay.metrics}
        arms = {name: (values_of(case.treated, name), values_of(case.control, name)) for name in sorted(names)}
        for name, (treated, control) in arms.items():
            if treated and control:
                self._metrics.setdefault(name, MetricRounds(self._policy.effects, self._policy.single_cases)).add(
                    case, treated, control
                )
        treated, control = arms.get(self._target, ([], []))
        self._scored.add(scored(case.treated, treated), scored(case.control, control))
        if case.kind == "failure":
            self._cases.append(case.case_id)
            self._arms.append((treated, len(case.treated), control, len(case.control)))
        if not treated or not control:
            self._unusable += 1
        elif case.kind == "failure":
            self._help.add(treated, control)
            for one, other in zip(treated, control, strict=False):
                self._pairs.append(one - other)
                self._payoffs.add(one - other)
        for name in sorted({name for replay in replays for name in replay.costs}):
            self._costs.setdefault(name, CostRounds(self._policy.effects)).add(case, name)

    def _harm(self, level: float) -> tuple[tuple[str, ...], tuple[str, ...]]:
        """(what fell beyond its noise, what looks bad enough to hold a promotion at `level` up)."""
        harmed, suspected = _harm(self._metrics, self._policy, self._target)
        if max(self._scored.e_up, self._scored.e_down) >= 2.0 / self._policy.harm_level:
            suspected = (*suspected, UNEVEN)
        if self._jolted() > JOLT_LEVEL and self._e_lively < 1.0 / level:
            suspected = (*suspected, COPIES)
        undone = self.e_help >= 1.0 / level > self._least()
        if self._policy.planned_pairs:
            undone = self._lacking and exact_of_replays(self._arms) > level
        if undone:
            suspected = (*suspected, LACKING)
        return harmed, suspected

    def _least(self) -> float:
        """The e-value of help that holds whatever replays without a score would have given."""
        return min(self.e_help, least_of_replays(self._arms, self._policy.effects)) if self._lacking else self.e_help

    @property
    def _lacking(self) -> bool:
        return any(len(one) < of_one or len(other) < of_other for one, of_one, other, of_other in self._arms)

    def _jolted(self) -> float:
        """`jolt_chance` of the steady cases, 0 where none of them rose. A win counts if it is steady and can fall, in
        the target or, where it lacks that, in any metric.
        """
        target = self._metrics[self._target]
        failures = [way for way, before in target.steady("failure").values() if way or before < 1.0]
        if 1 not in failures:
            return 0.0
        wins: dict[str, int] = {}
        for known in (target, *self._metrics.values()):
            for case, (way, before) in known.steady("win").items():
                if before > 0.0 and (known is target or case not in target.cases):
                    wins[case] = min(way, wins.get(case, 1))
        return jolt_chance(failures.count(1), len(failures), list(wins.values()).count(-1), len(wins))

    @property
    def _e_lively(self) -> float:
        """The e-value of help of the failures that are not steady."""
        steady, bet = self._metrics[self._target].steady("failure"), BlockBet(self._policy.effects)
        for case, (treated, _, control, _) in zip(self._cases, self._arms, strict=True):
            if case not in steady:
                bet.add(treated, control)
        return bet.e_up

    def _chance(self, outcome: Outcome, exact_p: float, harmed: tuple[str, ...]) -> tuple[float, str]:
        """(upper bound on the chance that a useless rule would have come this far, what copies tell of: "" = none)."""
        if harmed:
            share = _shares(self._metrics, self._target)
            chances = {name: min(1.0, share[name] * self._metrics[name].chance_of_harm) for name in harmed}
            worst = self._metrics[min(harmed, key=lambda name: chances[name])]
            fell = [way for way, _ in worst.steady("failure", "win").values()].count(-1)
            cases = "1 case" if len(worst.cases) == 1 else f"{len(worst.cases)} cases"
            return min(chances.values()), f"{cases}, of which {fell} fell" if worst.copied else ""
        chance = chance_of_evidence(self.e_help)
        if self._policy.planned_pairs:
            chance = exact_p if outcome != "not_yet" else 1.0
        moved = [way for way, _ in self._metrics[self._target].steady("failure").values()]
        if 1 not in moved:
            return chance, ""
        by_cases = max(chance, sign_test(moved.count(1), moved.count(-1)), self._jolted())
        lively = 1.0 if self._policy.planned_pairs else max(chance, chance_of_evidence(self._e_lively))
        return min(by_cases, lively), f"{len(moved)} failures" if by_cases <= lively else ""

    def look(self, level: float) -> Outcome:
        """The outcome that `verdict` would give, and nothing else."""
        harmed, suspected = self._harm(level)
        return _outcome(self._policy, level, self.e_help, self._pairs, harmed, suspected)[0]

    def verdict(self, level: float) -> PairedVerdict:
        """The look. `level`: what the error budget allows this rule now, in (0, 1).

        Help is judged on the target in failure cases, harm on every metric in every case.
        """
        if not 0.0 < level < 1.0:
            raise Refused(f"The level of a verdict is {level!r}.", hint="Take it from the error budget.")
        policy, pairs = self._policy, self._pairs
        rows = (
            *(known.row(name, policy.coverage) for name, known in self._metrics.items()),
            *(cost.row(name) for name, cost in sorted(self._costs.items())),
        )
        harmed, suspected = self._harm(level)
        outcome, exact_p = _outcome(policy, level, self.e_help, pairs, harmed, suspected)
        chance, copies = self._chance(outcome, exact_p, harmed)
        needed = None
        if outcome == "not_yet" and not suspected:
            needed = max(0, policy.planned_pairs - len(pairs)) or _needed(self._help, self._payoffs.mean, level)
        interval = self._payoffs.interval(policy.coverage)
        blocks = [(len(treated), len(control)) for treated, _, control, _ in self._arms if treated and control]
        reasons = _reasons(policy, outcome, level, self.e_help, exact_p, harmed, suspected, needed, interval, blocks)
        if copies and outcome in ("promote", "retire"):
            reasons += (f"The repeats of a case hardly differ: this is evidence about {copies}.",)
        return PairedVerdict(
            outcome=outcome,
            reasons=(*reasons, *price_sentences(rows, outcome in ("retire", "inconclusive"))),
            level=level,
            pairs=len(pairs),
            effect=self._payoffs.mean,
            interval=interval,
            coverage=policy.coverage,
            e_help=self.e_help,
            e_harm=max(known.e_harm for known in self._metrics.values()),
            exact_p=exact_p,
            chance=chance,
            grade=grade_of_chance(chance),
            pairs_needed=needed,
            harmed=harmed,
            suspected=suspected,
            rows=rows,
            unusable=self._unusable,
        )


def decide_paired(
    cases: Iterable[CaseRound], policy: PairedPolicy, level: float, metric: str = "outcome"
) -> PairedVerdict:
    """The verdict on all rounds so far, in order. Raises Refused for values or a level that cannot be."""
    state = PairedState(policy, metric)
    for case in cases:
        state.add(case)
    return state.verdict(level)


def _shares(metrics: Mapping[str, MetricRounds], target: str) -> dict[str, float]:
    """1 over the share of the harm level that each metric has: a half for the target, the rest split by the others."""
    others = len(metrics) - 1
    return {name: 2.0 * others if name != target else 2.0 if others else 1.0 for name in metrics}


def _harm(
    metrics: Mapping[str, MetricRounds], policy: PairedPolicy, target: str
) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """(metrics that fell beyond their noise at the harm level, "metric in case" that look as if they had)."""
    bars = {name: share / policy.harm_level for name, share in _shares(metrics, target).items()}

    def fell(name: str, known: MetricRounds) -> bool:
        """Another metric must have fallen whatever is missing: it may be there only where a replay went well."""
        if known.e_harm < bars[name]:
            return False
        return name == target or all(version.e_harm >= bars[name] for version in known.versions())

    harmed = tuple(name for name, known in metrics.items() if fell(name, known))
    bar = 1.0 / policy.harm_level
    suspected = tuple(f"{name} in {case}" for name, known in metrics.items() for case in known.suspected(bar))
    return harmed, suspected


def _outcome(
    policy: PairedPolicy,
    level: float,
    e_help: float,
    pairs: Sequence[float],
    harmed: tuple[str, ...],
    suspected: tuple[str, ...],
) -> tuple[Outcome, float]:
    """The outcome, and the exact one-sided p-value on the planned pairs (all pairs where none are planned)."""
    used = pairs[: policy.planned_pairs] if policy.planned_pairs else pairs
    exact_p = sign_test(sum(pair > 0.0 for pair in used), sum(pair < 0.0 for pair in used))
    if harmed:
        return "retire", exact_p
    if policy.planned_pairs:
        if len(pairs) < policy.planned_pairs:
            return "not_yet", exact_p
        return ("promote" if exact_p <= level and not suspected else "inconclusive"), exact_p
    if e_help >= 1.0 / level and not suspected:
        return "promote", exact_p
    return ("inconclusive" if len(pairs) >= policy.most_pairs else "not_yet"), exact_p


def _needed(bet: BlockBet, effect: float | None, level: float) -> int | None:
    if effect is None or effect <= 0.0:
        return None
    spread = bet.spread
    noise = max(0.02, spread * spread - effect * effect / 4.0) ** 0.5
    return forecast_graded_pairs(effect, noise, level=level, effects=bet.effects, capital=bet.up).median


def _reasons(
    policy: PairedPolicy,
    outcome: Outcome,
    level: float,
    e_help: float,
    exact_p: float,
    harmed: tuple[str, ...],
    suspected: tuple[str, ...],
    needed: int | None,
    interval: tuple[float, float],
    blocks: Sequence[tuple[int, int]],
) -> tuple[str, ...]:
    figures = f"p {exact_p:.3g}" if policy.planned_pairs else f"e-value {e_help:.4g}, {1.0 / level:.4g} needed"
    said = []
    if outcome == "retire":
        said.append(f"It lowers {', '.join(harmed)} beyond the noise between replays.")
    elif outcome == "promote":
        said.append(f"It helps the failures: {figures} at level {level:.3g}.")
    elif outcome == "inconclusive":
        said.append(
            f"{len(blocks)} case rounds did not decide it ({figures}): {interval[0]:+.3f} to {interval[1]:+.3f}."
        )
    elif not blocks:
        said.append("Not yet: no failure case has a score with and without the candidate.")
    else:
        more = f"about {needed} more pairs at the effect seen" if needed is not None else "no gain is in sight"
        said.append(f"Not yet ({figures})" + ("." if suspected else f": {more}."))
    if not policy.planned_pairs and blocks and log_most_evidence(blocks) < log(1.0 / level) and outcome == "not_yet":
        said.append("No outcome of so few replays could have decided it: repeat the cases more often.")
    if COPIES in suspected and outcome != "retire":
        said.append(
            "The repeats of a case hardly differ, so only cases count, and so few may have turned because the prompt "
            "changed at all: it takes three mended failures of three beside two wins that hold, or more of both, or "
            "replays of an agent whose answers vary."
        )
    uncertain = [one for one in suspected if one != COPIES]
    if uncertain and outcome != "retire":
        held = "It is not promoted" if outcome == "inconclusive" else "Promotion waits for more repeats"
        said.append(f"{held}, because of {', '.join(uncertain)}.")
    return tuple(said)
