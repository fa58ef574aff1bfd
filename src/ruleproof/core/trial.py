"""What a rule's trial has seen: the baseline, the sessions that count, those that do not and why.

A session is one unit however often it is reported: it is breached if any of its reports was. A session counts only
where it was scored, saw the rule (shown or assumed), and is not the one that gave birth to the rule.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, TypeVar

Exposure = Literal["shown", "assumed", "withheld", "read", "unknown"]
"""How far a session saw a rule. `assumed`: a context with the rule was composed without a session id."""

Uncounted = Literal["no score", "unknown exposure", "birth session", "withheld"]
_NO_EXPOSURES: Mapping[str, Exposure] = MappingProxyType({})
_NO_REASONS: Mapping[str, Uncounted] = MappingProxyType({})
T = TypeVar("T")


@dataclass(frozen=True, slots=True)
class Baseline:
    """How often the rule's metric family alerted before the rule: `breached` of `sessions`, over `window` events."""

    breached: int = 0
    sessions: int = 0
    window: int = 0

    @property
    def rate(self) -> float:
        """In [0, 1]; 1.0 without history, since the rule was written against a live failure. Biased high."""
        return min(1.0, self.breached / self.sessions) if self.sessions else 1.0


@dataclass(frozen=True, slots=True)
class TrialState:
    """The trial of one rule. `observed`: the sessions that count, in order; `breached`: those of them that alerted."""

    baseline: Baseline = field(default_factory=Baseline)
    started_at: str = ""
    birth_session: str | None = None
    observed: tuple[str, ...] = ()
    breached: tuple[str, ...] = ()
    exposures: Mapping[str, Exposure] = field(default_factory=lambda: _NO_EXPOSURES)
    """Counted session -> shown or assumed."""
    uncounted: Mapping[str, Uncounted] = field(default_factory=lambda: _NO_REASONS)
    """Session that was reported but does not count -> why; only filled in by `TrialFold.in_detail`, never stored."""
    replay_attempts: int = 0
    verdict: str = ""
    extra: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def rate(self) -> float:
        """Share of observed sessions that alerted on the rule's family; 0.0 before the first."""
        return len(self.breached) / len(self.observed) if self.observed else 0.0


@dataclass(frozen=True, slots=True)
class Observation:
    """What one report says about one rule's trial: a session that counts, and whether it alerted on the rule's family."""

    rule_id: str
    session_id: str
    breached: bool
    exposure: Exposure


@dataclass(frozen=True, slots=True)
class Seen:
    """A session that was reported while rules were on trial: when first, and which metrics had a value."""

    at: str
    metrics: frozenset[str]


class TrialFold:
    """The trials of all rules, folded from deltas. A record costs what it says, not how many rules are on trial.

    Which sessions did not count is not recorded rule by rule: it follows from the sessions that were reported and from
    who saw what.
    """

    def __init__(self) -> None:
        self._counted: dict[str, dict[str, tuple[bool, Exposure]]] = {}
        self._attempts: dict[str, int] = {}
        self._reported: OrderedDict[str, Seen] = OrderedDict()
        self._exposed: OrderedDict[str, dict[str, Exposure]] = OrderedDict()

    def news(self, seen: Observation) -> bool:
        """Whether folding it would change anything: whether it is worth a record. Changes nothing."""
        known = self._counted.get(seen.rule_id, {}).get(seen.session_id)
        return known is None or (seen.breached and not known[0])

    def observe(self, seen: Observation) -> None:
        """Fold one observation; the same one twice counts once, and a session stays breached."""
        if self.news(seen):
            sessions = self._counted.setdefault(seen.rule_id, {})
            known = sessions.get(seen.session_id)
            sessions[seen.session_id] = (seen.breached, known[1] if known else seen.exposure)

    def reported(self, session_id: str, at: str, metrics: Iterable[str]) -> None:
        """A session was reported; `metrics` are those that had a value."""
        known = self._reported.get(session_id)
        self._reported[session_id] = Seen(known.at if known else at, frozenset(metrics) | (known or _UNSEEN).metrics)
        _bound(self._reported)

    def knows(self, session_id: str, metrics: Iterable[str]) -> bool:
        """Whether the session was reported with at least these metrics."""
        known = self._reported.get(session_id)
        return known is not None and known.metrics.issuperset(metrics)

    def expose(self, session_id: str, rules: Mapping[str, Exposure]) -> None:
        """A turn of the session began with these rules in its context; `shown` stays."""
        known = self._exposed.setdefault(session_id, {})
        known.update((rule, exposure) for rule, exposure in rules.items() if known.get(rule) != "shown")
        _bound(self._exposed)

    def exposures(self, session_id: str) -> Mapping[str, Exposure]:
        """Rule id -> how the session saw it, as recorded when its turns began."""
        return self._exposed.get(session_id, _NO_EXPOSURES)

    def attempt(self, rule_id: str) -> None:
        """One more inconclusive replay round."""
        self._attempts[rule_id] = self._attempts.get(rule_id, 0) + 1

    def state(self, rule_id: str, start: TrialState | None) -> TrialState:
        """`start` (from the rule's own record) with every later delta folded in."""
        base = start or TrialState()
        sessions = self._counted.get(rule_id, {})
        attempts = max(base.replay_attempts, self._attempts.get(rule_id, 0))
        if not sessions and attempts == base.replay_attempts:
            return base
        observed = dict.fromkeys((*base.observed, *sessions))
        hit = {*base.breached, *(session for session, (breached, _) in sessions.items() if breached)}
        return replace(
            base,
            observed=tuple(observed),
            breached=tuple(session for session in observed if session in hit),
            exposures={**base.exposures, **{session: exposure for session, (_, exposure) in sessions.items()}},
            replay_attempts=attempts,
        )

    def in_detail(self, rule_id: str, metric: str | None, start: TrialState | None) -> TrialState:
        """`state`, with the reported sessions that do not count and why. The last ten thousand are known."""
        trial = self.state(rule_id, start)
        found: dict[str, Uncounted] = {}
        counted = set(trial.observed)
        for session_id, seen in self._reported.items():
            if session_id not in counted and seen.at >= trial.started_at:
                exposure = self.exposures(session_id).get(rule_id, "unknown")
                found[session_id] = why_not(session_id, exposure, metric, seen.metrics, trial) or "unknown exposure"
        return replace(trial, uncounted=found)


def why_not(
    session_id: str, exposure: Exposure, metric: str | None, metrics: Iterable[str], trial: TrialState | None
) -> Uncounted | None:
    """Why a session is no evidence about a rule on `metric`, given the metrics that have a value; None: it counts."""
    if trial is not None and trial.birth_session == session_id:
        return "birth session"
    if not any(metric in (None, name) for name in metrics):
        return "no score"
    if exposure in ("unknown", "read"):
        return "unknown exposure"
    return "withheld" if exposure == "withheld" else None


_UNSEEN = Seen("", frozenset())
MAX_SESSIONS = 10_000


def _bound(table: OrderedDict[str, T]) -> None:
    if len(table) > MAX_SESSIONS:
        table.popitem(last=False)
