"""What a rule's trial has seen: the baseline, the sessions that count, those that do not and why.

A session is one unit however often it is reported: it is breached if any of its reports was. A session counts only
where it was scored, saw the rule (shown or assumed), and is not the one that gave birth to the rule.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal

Exposure = Literal["shown", "assumed", "withheld", "read", "unknown"]
"""How far a session saw a rule. `assumed`: a context with the rule was composed without a session id."""

Uncounted = Literal["no score", "unknown exposure", "birth session", "withheld"]
_NO_EXPOSURES: Mapping[str, Exposure] = MappingProxyType({})
_NO_REASONS: Mapping[str, Uncounted] = MappingProxyType({})


@dataclass(frozen=True, slots=True)
class Baseline:
    """How often the rule's metric family alerted before the rule: `breached` of `sessions`, over `window` events."""

    breached: int = 0
    sessions: int = 0
    window: int = 0

    @property
    def rate(self) -> float:
        """In [0, 1]; 1.0 without history, since the rule was written against a live failure. Biased high."""
        return self.breached / self.sessions if self.sessions else 1.0


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
    """Session that was reported but does not count -> why."""
    replay_attempts: int = 0
    verdict: str = ""
    extra: Mapping[str, object] = field(default_factory=lambda: MappingProxyType({}))

    @property
    def rate(self) -> float:
        """Share of observed sessions that alerted on the rule's family; 0.0 before the first."""
        return len(self.breached) / len(self.observed) if self.observed else 0.0


@dataclass(frozen=True, slots=True)
class Observation:
    """What one report says about one rule's trial."""

    rule_id: str
    session_id: str
    breached: bool
    exposure: Exposure
    uncounted: Uncounted | None = None


class TrialFold:
    """The trials of all rules, folded from deltas; one dict step a delta, nothing copied."""

    def __init__(self, window: int = 0) -> None:
        self._window = window
        self._seen: dict[str, dict[str, tuple[bool, Exposure]]] = {}
        self._uncounted: dict[str, dict[str, Uncounted]] = {}
        self._attempts: dict[str, int] = {}

    def news(self, seen: Observation) -> bool:
        """Whether folding it would change anything: whether it is worth a record. Changes nothing."""
        known = self._seen.get(seen.rule_id, {}).get(seen.session_id)
        if known is not None:
            return seen.uncounted is None and seen.breached and not known[0]
        if seen.uncounted is None:
            return True
        return self._uncounted.get(seen.rule_id, {}).get(seen.session_id) != seen.uncounted

    def observe(self, seen: Observation) -> None:
        """Fold one observation; the same one twice counts once."""
        if not self.news(seen):
            return
        reasons = self._uncounted.setdefault(seen.rule_id, {})
        if seen.uncounted is not None:
            reasons[seen.session_id] = seen.uncounted
            return
        reasons.pop(seen.session_id, None)
        sessions = self._seen.setdefault(seen.rule_id, {})
        known = sessions.get(seen.session_id)
        sessions[seen.session_id] = (seen.breached, known[1] if known else seen.exposure)

    def attempt(self, rule_id: str) -> None:
        """One more inconclusive replay round."""
        self._attempts[rule_id] = self._attempts.get(rule_id, 0) + 1

    def state(self, rule_id: str, start: TrialState | None) -> TrialState:
        """`start` (from the rule's own record) with every later delta folded in."""
        base = start or TrialState()
        sessions = self._seen.get(rule_id, {})
        uncounted = self._uncounted.get(rule_id, {})
        attempts = max(base.replay_attempts, self._attempts.get(rule_id, 0))
        if not sessions and not uncounted and attempts == base.replay_attempts:
            return base
        observed = dict.fromkeys((*base.observed, *sessions))
        hit = {*base.breached, *(session for session, (breached, _) in sessions.items() if breached)}
        return replace(
            base,
            observed=tuple(observed),
            breached=tuple(session for session in observed if session in hit),
            exposures={**base.exposures, **{session: exposure for session, (_, exposure) in sessions.items()}},
            uncounted={**base.uncounted, **uncounted},
            replay_attempts=attempts,
        )

    def forget_session(self, session_id: str) -> None:
        """Drop every trace of one session."""
        for seen in self._seen.values():
            seen.pop(session_id, None)
        for uncounted in self._uncounted.values():
            uncounted.pop(session_id, None)
