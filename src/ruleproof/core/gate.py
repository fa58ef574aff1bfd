"""The gate: the scores of one report -> conditions -> signatures -> whether the session deserves a notice.

A session's incident runs from its first alert to its recovery, and within it a signature is told once: one that leaves
and comes back while another stays is not news. With a cooldown of K > 0, a signature is told again when it stands after
more than K further scored reports; only a report on which the set shrank stays silent. Recovery needs values: a report
without any changes nothing, a metric without a value keeps its signatures, and a report of an earlier turn that arrives
late may raise an alert but clears none. What was wanted stays wanted until the caller says `posted` or `suppressed`.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from math import isfinite
from types import MappingProxyType
from typing import Literal

from ruleproof.core.ids import digest
from ruleproof.core.score import Report, Score
from ruleproof.core.trend import CONDITIONS, Condition, MetricState, TrendPolicy, advance, conditions

AlertSeverity = Literal["trend", "relative", "breach"]

REMEMBERED = 32
"""How many handled reports of a session are recognised when they come again."""

_NO_METRICS: Mapping[str, MetricState] = MappingProxyType({})
_NO_SIGNATURES: Mapping[str, int] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class GatePolicy(TrendPolicy):
    """Every knob of the gate. A cooldown of 0 means: silent until the session recovers."""

    alert_cooldown_turns: int = 0


@dataclass(frozen=True, slots=True)
class SessionGate:
    """What the gate remembers of one session; the default is a session that nobody has reported yet."""

    metrics: Mapping[str, MetricState] = field(default_factory=lambda: _NO_METRICS)
    open: Mapping[str, int] = field(default_factory=lambda: _NO_SIGNATURES)
    """Signature told in this incident -> how many scored reports had been handled when it was told last."""
    owed: frozenset[str] = frozenset()
    """Signatures of notices that the breaker holds back."""
    present: frozenset[str] = frozenset()
    """Signatures that stood after the last scored report; not empty = an incident is running."""
    wanted: frozenset[str] = frozenset()
    """Signatures of the last judgement that still awaits `posted` or `suppressed`."""
    handled: int = 0
    turn: int = 0
    """The highest turn number that was seen."""
    seen: tuple[str, ...] = ()
    """Keys of the last `REMEMBERED` scored reports."""


@dataclass(frozen=True, slots=True)
class Finding:
    """One metric of a report and the conditions that apply to it, in the order of `CONDITIONS`; none is no alert."""

    score: Score
    conditions: tuple[Condition, ...] = ()


@dataclass(frozen=True, slots=True)
class Judgement:
    """What a report means. `state` is the session's state after it, to be kept once the notice is posted or held."""

    findings: tuple[Finding, ...]
    """One a metric, healthy and missing ones included."""
    signatures: tuple[str, ...]
    """Sorted; only those that this report's own values carry."""
    severity: AlertSeverity | None
    """None without a signature. A percentile alone counts as `trend`."""
    wants_notice: bool
    recovered: bool
    state: SessionGate
    repeated: bool = False
    """The report had been handled before, and changed nothing."""

    @property
    def alerting(self) -> tuple[Finding, ...]:
        """The findings that carry a condition."""
        return tuple(finding for finding in self.findings if finding.conditions)


def judge(report: Report, state: SessionGate, policy: GatePolicy) -> Judgement:
    """Judge one report of the session whose state is given. Deterministic, and raises nothing.

    Where two scores name one metric, one with a value outranks a missing one, and a checker outranks the rest.
    """
    scores = _one_a_metric(report.scores)
    values = {score.metric: score.value for score in scores if score.value is not None}
    if not values:
        return Judgement(tuple(Finding(score) for score in scores), (), None, False, False, state)
    key = _key(report, scores)
    repeated = key in state.seen
    metrics = state.metrics if repeated or not policy.enable_trend else _advanced(state.metrics, values, policy)
    findings = tuple(Finding(score, _conditions(score, metrics, policy)) for score in scores)
    now = frozenset(signature(c, finding.score.metric) for finding in findings for c in finding.conditions)
    severity = _severity(findings)
    if repeated:
        return Judgement(findings, tuple(sorted(now)), severity, False, False, state, repeated=True)
    late = 0 < report.turn < state.turn
    standing = now | {s for s in state.present if late or metric_of(s) not in values}
    handled = state.handled + 1
    wanted = _wanted(now, standing, handled, state, policy)
    following = SessionGate(
        metrics=metrics,
        open=state.open if standing else _NO_SIGNATURES,
        owed=state.owed if standing else frozenset(),
        present=standing,
        wanted=wanted,
        handled=handled,
        turn=max(state.turn, report.turn),
        seen=(*state.seen, key)[-REMEMBERED:],
    )
    recovered = bool(state.present) and not standing
    return Judgement(findings, tuple(sorted(now)), severity, bool(wanted), recovered, following)


def posted(state: SessionGate) -> SessionGate:
    """The state once a notice of this session was posted, be it a new one or one that had been held back.

    A `needs_human` notice counts: it carries the signatures of the report that tripped the breaker.
    """
    told = state.wanted | state.owed
    if not told:
        return state
    return replace(
        state,
        open={**state.open, **dict.fromkeys(sorted(told), state.handled)},
        owed=frozenset(),
        wanted=frozenset(),
    )


def suppressed(state: SessionGate) -> SessionGate:
    """The state once the wanted notice was held back: its signatures stay owed until `posted`, or until recovery."""
    return replace(state, owed=state.owed | state.wanted, wanted=frozenset())


def signature(condition: Condition, metric: str) -> str:
    """`condition:metric`."""
    return f"{condition}:{metric}"


def metric_of(text: str) -> str | None:
    """The metric of a signature; None where the text is no signature. A metric may itself contain a colon."""
    condition, colon, metric = text.partition(":")
    return metric if colon and condition in CONDITIONS else None


def _one_a_metric(scores: tuple[Score, ...]) -> tuple[Score, ...]:
    chosen: dict[str, Score] = {}
    for score in scores:
        if score.value is not None and not isfinite(score.value):
            score = replace(score, value=None)
        known = chosen.get(score.metric)
        if known is None or _rank(score) > _rank(known):
            chosen[score.metric] = score
    return tuple(chosen.values())


def _rank(score: Score) -> int:
    return 0 if score.value is None else 2 if score.source == "checker" else 1


def _key(report: Report, scores: tuple[Score, ...]) -> str:
    """What makes two reports the same: turn and scores; where turns are not numbered, the time as well."""
    when = report.turn if report.turn > 0 else report.at
    return digest(repr((when, sorted((s.metric, repr(s.value), s.threshold) for s in scores))))[:16]


def _advanced(
    metrics: Mapping[str, MetricState], values: Mapping[str, float], policy: GatePolicy
) -> Mapping[str, MetricState]:
    return {**metrics, **{name: advance(metrics.get(name), value, policy) for name, value in values.items()}}


def _conditions(score: Score, metrics: Mapping[str, MetricState], policy: GatePolicy) -> tuple[Condition, ...]:
    if score.value is None:
        return ()
    declining = conditions(metrics.get(score.metric), score.value, policy)
    return ("breach", *declining) if score.breached else declining


def _severity(findings: tuple[Finding, ...]) -> AlertSeverity | None:
    found = {condition for finding in findings for condition in finding.conditions}
    if "breach" in found:
        return "breach"
    if "relative" in found:
        return "relative"
    return "trend" if found else None


def _wanted(
    now: frozenset[str], standing: frozenset[str], handled: int, state: SessionGate, policy: GatePolicy
) -> frozenset[str]:
    """The signatures that deserve a notice: all that are not held back already, as soon as one is new or due again."""
    free = now - state.owed
    if free - state.open.keys():
        return free
    cooldown = policy.alert_cooldown_turns
    shrank = standing < state.present
    due = cooldown > 0 and not shrank and any(handled - state.open[s] > cooldown for s in free)
    return free if due else frozenset()
