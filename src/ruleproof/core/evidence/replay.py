"""The fixed replay policy: each case replayed once with the candidate in context, against the scores captured with it.

Retire if any case, failure or win, dropped on any metric by more than the margin; promote if the target metric rose on
a failure by at least the margin; retire if no failure shows that. A replay that failed or has no score is evidence of
nothing, and so is a round in which nothing dropped and no failure can be compared on the target. A captured failure was
low partly by chance, so this policy leans towards promotion where judges are noisy; the paired policy does not.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from math import exp, fsum, lgamma, pi
from types import MappingProxyType
from typing import Literal

from ruleproof.core.evalcase import CaseKind
from ruleproof.core.evidence.grade import grade_of_chance
from ruleproof.core.score import Score, Source
from ruleproof.core.verdict import Verdict

NAME = "replay"
CaseStatus = Literal["improved", "unchanged", "regressed", "skipped"]
ATTEMPTS = 3
"""Inconclusive rounds after which the forward trial decides."""
_NOTHING: Mapping[str, float] = MappingProxyType({})
_RANK: Mapping[Source, int] = MappingProxyType({"checker": 3, "caller": 2, "trace": 1, "judge": 0})
_EXACT = 1e-9
"""Differences of two decimal scores that are equal on paper stay equal."""
COUNTED = "its session was counted before"
_NAMED = 5
CAUTION = (
    "One replay a case against a score that was captured because it was low or high: judge noise and regression to the "
    "mean are not excluded. The paired policy excludes them."
)


@dataclass(frozen=True, slots=True)
class Replayed:
    """One replay of one case. `scores` in [0, 1], missing ones left out; `failure` says in words why there are none."""

    case_id: str
    kind: CaseKind
    baseline: Mapping[str, float]
    session_id: str = ""
    scores: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    costs: Mapping[str, float] = field(default_factory=lambda: _NOTHING)
    failure: str = ""

    @property
    def deltas(self) -> dict[str, float]:
        """Replay minus baseline, for the metrics that both have."""
        return {name: self.scores[name] - self.baseline[name] for name in sorted(self.scores.keys() & self.baseline)}

    @property
    def missing(self) -> tuple[str, ...]:
        """The metrics of the baseline that the replay lacks: nothing is claimed about them."""
        return tuple(sorted(self.baseline.keys() - self.scores))

    @property
    def why_not(self) -> str:
        """Why it cannot be compared; empty where it can."""
        if self.failure or self.deltas:
            return self.failure
        return "no metric in common with the baseline" if self.scores else "the replay has no score"


@dataclass(frozen=True, slots=True)
class Margins:
    """`promote`: the least improvement that counts; `regress`: the largest drop that is tolerated. Both in [0, 1]."""

    promote: float = 0.05
    regress: float = 0.05

    def improved(self, delta: float) -> bool:
        """Whether the rise counts."""
        return delta > _EXACT and delta >= self.promote - _EXACT

    def regressed(self, delta: float) -> bool:
        """Whether the drop is more than is tolerated."""
        return -delta > self.regress + _EXACT


@dataclass(frozen=True, slots=True)
class ReplayPolicy:
    """`paired` off: one replay a case, judged by the margins. `repeats`: replays of a case in each arm of a round;
    `max_pairs`: pairs of failure replays at which a trial ends without an answer; `planned_pairs`: those at which it is
    judged once and ends, 0 = after every round; `alpha`: of the error budget.
    """

    margins: Margins = field(default_factory=Margins)
    paired: bool = False
    repeats: int = 5
    max_pairs: int = 200
    planned_pairs: int = 0
    alpha: float = 0.05


def status_of(replayed: Replayed, margins: Margins) -> CaseStatus:
    """What one replay says of its case: a drop on one metric outweighs a rise on another."""
    deltas = replayed.deltas.values()
    if replayed.why_not:
        return "skipped"
    if any(map(margins.regressed, deltas)):
        return "regressed"
    return "improved" if any(map(margins.improved, deltas)) else "unchanged"


def judge(rule_id: str, target: str | None, replays: Sequence[Replayed], margins: Margins) -> Verdict:
    """The verdict on one round. `target`: the metric that the rule is to mend; None: no metric can improve."""
    compared = [one for one in replays if one.kind == "failure" and target is not None and target in one.deltas]
    wins = sum(one.kind == "win" and bool(one.deltas) for one in replays)
    chance = chance_useless_passes(len(compared), wins)
    details: dict[str, object] = {
        "policy": "seed",
        "target": target,
        "cases": [_as_json(replayed) for replayed in replays],
        "effect": fsum(one.deltas[target] for one in compared) / len(compared) if compared and target else None,
        "chance_useless_passes": chance,
        "grade": grade_of_chance(chance),
        "caution": CAUTION,
    }

    def said(outcome: Literal["promote", "retire", "pending"], reason: str) -> Verdict:
        return Verdict(rule_id, outcome, NAME, f"replay: {reason}", details)

    dropped = [
        f"{name} {_step(one, name)} in {one.kind} {one.case_id}"
        for one in replays
        for name, delta in one.deltas.items()
        if margins.regressed(delta)
    ]
    if dropped:
        return said("retire", f"regressed past the margin of {margins.regress:g}: {_few(dropped)}")
    if not compared or target is None:
        why = _few([f"{one.case_id}: {one.why_not or f'no {target} in both'}" for one in replays])
        return said("pending", f"inconclusive, no failure can be compared on {target} ({why})")
    best = max(compared, key=lambda one: one.deltas[target])
    figures = f"{target} {_step(best, target)} in failure {best.case_id}"
    counts = _counts(replays, target)
    if margins.improved(best.deltas[target]):
        reason = (
            f"{target} improved past the margin of {margins.promote:g} ({figures}) and nothing regressed ({counts})"
        )
        return said("promote", reason)
    return said(
        "retire", f"no improvement of {target} past the margin of {margins.promote:g}: at best {figures} ({counts})"
    )


def chance_useless_passes(failures: int, wins: int) -> float:
    """Chance that a rule without any effect passes, where the target is pass or fail and its rate p is unknown.

    It passes where a failure passes now and no win fails: E[p^w] - E[p^w (1 - p)^f] over p ~ Beta(1/2, 1/2), the prior
    that `pretest` has too.
    """
    return _moment(wins, 0) - _moment(wins, failures) if failures else 0.0


def _moment(passes: int, fails: int) -> float:
    """E[p^a (1 - p)^b], p ~ Beta(1/2, 1/2): G(a + 1/2) G(b + 1/2) / (pi G(a + b + 1))."""
    return exp(lgamma(passes + 0.5) + lgamma(fails + 0.5) - lgamma(passes + fails + 1.0)) / pi


def _counts(replays: Sequence[Replayed], target: str) -> str:
    failures, wins = ([one for one in replays if one.kind == kind] for kind in ("failure", "win"))
    return (
        f"{sum(target in one.deltas for one in failures)} of {len(failures)} failures and "
        f"{sum(bool(one.deltas) for one in wins)} of {len(wins)} wins compared"
    )


def _step(replayed: Replayed, metric: str) -> str:
    return f"{replayed.baseline[metric]:.2f} -> {replayed.scores[metric]:.2f}"


def _few(said: Sequence[str]) -> str:
    more = len(said) - _NAMED
    return "; ".join(said[:_NAMED]) + (f"; and {more} more" if more > 0 else "")


def _as_json(one: Replayed) -> dict[str, object]:
    made: dict[str, object] = {"case": one.case_id, "kind": one.kind, "session": one.session_id, "deltas": one.deltas}
    return {**made, **({"why_not": one.why_not} if one.why_not else {})}


def once_each(arms: Sequence[Sequence[Replayed]], known: Iterable[str] = ()) -> list[list[Replayed]]:
    """The arms with each session counted once: `known` sessions, and repeats inside an arm, become failures.

    A session that two arms share saw neither context for certain and counts in none. Which replay of an arm is kept
    does not depend on the other arm, so that counting favours neither.
    """
    used = set(known)
    sessions = [{one.session_id for one in arm if not one.failure} for arm in arms]
    made = []
    for place, arm in enumerate(arms):
        others = set[str]().union(*(found for at, found in enumerate(sessions) if at != place))
        mine: set[str] = set()
        kept = []
        for one in arm:
            if not one.failure and one.session_id in used | others | mine:
                one = Replayed(one.case_id, one.kind, one.baseline, one.session_id, failure=COUNTED)
            if not one.failure:
                mine.add(one.session_id)
            kept.append(one)
        made.append(kept)
    return made


def best_scores(scores: Iterable[Score]) -> tuple[dict[str, float], tuple[str, ...]]:
    """(metric -> value, the conflicts in words). A checker outranks a caller, that a trace, that a judge.

    Only a score with a value speaks; of equals the first. A conflict is two sources on different sides of a threshold.
    """
    chosen: dict[str, Score] = {}
    conflicts = []
    for score in scores:
        if score.value is None:
            continue
        known = chosen.get(score.metric)
        if known is None:
            chosen[score.metric] = score
            continue
        first, second = (score, known) if _RANK[score.source] > _RANK[known.source] else (known, score)
        chosen[score.metric] = first
        if first.breached != second.breached:
            conflicts.append(
                f"{score.metric}: the {first.source} says {first.value:.2f}, the {second.source} {second.value:.2f}; "
                f"the {first.source} counts"
            )
    return {name: score.value for name, score in chosen.items() if score.value is not None}, tuple(conflicts)
