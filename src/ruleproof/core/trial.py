"""What a rule's trial has seen: the baseline, the sessions that count, those that do not and why.

A session is one unit however often it is reported: it is breached if any of its reports was. A session counts only
where it was scored, saw the rule (shown or assumed), and is not the one that gave birth to the rule. A trial of the
anytime policy counts shown and withheld units, each in the arm that its recorded key gives, and keeps what each said.
"""

from __future__ import annotations

from collections import Counter, OrderedDict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from types import MappingProxyType
from typing import Literal, TypeVar

from ruleproof.core.evidence.assignment import assigned, assigned_in_block, place_in_task
from ruleproof.core.evidence.stream import Arm
from ruleproof.core.recheck import Comparison
from ruleproof.core.renaming import is_alias

Exposure = Literal["shown", "assumed", "withheld", "read", "unknown"]
"""How far a session saw a rule. `assumed`: a context with the rule was composed without a session id; `read`: no
context held it, but the agent asked a tool for it."""
RANK: Mapping[Exposure, int] = MappingProxyType({"unknown": 0, "read": 1, "assumed": 2, "withheld": 3, "shown": 4})
"""Of two exposures of one session the higher one stands: its arm, whatever was read; shown, if it ever was."""

Uncounted = Literal[
    "no score",
    "unknown exposure",
    "only read",
    "birth session",
    "withheld",
    "after the window",
    "place taken by another session",
]
Policy = Literal["fixed", "anytime"]
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
    policy: Policy = "fixed"
    key: str = ""
    """Anytime: sixteen hex digits, drawn when the trial started; with `digest` and `holdout` they fix every arm."""
    holdout: float = 0.0
    digest: str = ""
    number: int = 0
    """Anytime: which hypothesis of the workspace this is, from 1; its place in the error budget."""
    blocked: bool = False
    """Anytime: of every two sessions that are known by their place in one task, one sees the rule; holdout is 0.5."""
    watch: Comparison | None = None
    recheck: Comparison | None = None
    """The last recheck after the promotion; open until it has `ended`."""
    fingerprints: tuple[str, ...] = ()
    """Models and prompts, as digests, under which the rule was promoted or rechecked."""
    followed: Mapping[str, Seen] = field(default_factory=lambda: MappingProxyType({}))
    """Fixed: counted session -> its scores and costs; only filled in by `TrialFold.state`, never stored."""

    @property
    def comparison(self) -> Comparison | None:
        """What runs after the promotion: the open recheck, else the watch, else nothing."""
        return self.recheck if self.recheck is not None and not self.recheck.ended else self.watch

    def running(self, watching: bool) -> Comparison | None:
        """The same in one process: an open recheck always, a watch where active rules are monitored."""
        found = self.comparison
        return found if found is not None and (found.number or watching) else None

    @property
    def was_run(self) -> bool:
        """Whether there was a trial: a rule that came active has only what came afterwards."""
        return bool(self.started_at) or (self.watch is None and self.recheck is None)

    @property
    def without_keys(self) -> TrialState:
        """The same for readers who must not tell arms in advance."""
        watch, recheck = (one and replace(one, key="") for one in (self.watch, self.recheck))
        return replace(self, key="", watch=watch, recheck=recheck)

    @property
    def rate(self) -> float:
        """Share of observed sessions that alerted on the rule's family; 0.0 before the first. Withheld ones apart."""
        if self.policy == "fixed":
            return len(self.breached) / len(self.observed) if self.observed else 0.0
        shown = [session for session in self.observed if self.exposures.get(session) != "withheld"]
        return len(set(self.breached).intersection(shown)) / len(shown) if shown else 0.0

    @property
    def randomised(self) -> bool:
        """Whether arms can be recomputed. Where they cannot (a damaged record), nothing is withheld or judged."""
        return self.policy == "anytime" and bool(self.key and self.digest and self.number) and 0.0 < self.holdout < 1.0

    def arm(self, unit: str) -> Arm | None:
        """The arm of a unit, from what was recorded when the trial started and nothing else.

        None: nobody has one, or the unit was forgotten and keeps the arm that is on record.
        """
        return self._throw(unit)[0] if self.randomised and not is_alias(unit) else None

    def block(self, unit: str) -> str | None:
        """The block of a unit whose coin is shared with a partner; None where it is its own."""
        return self._throw(unit)[1] if self.randomised else None

    def _throw(self, unit: str) -> tuple[Arm, str | None]:
        place = place_in_task(unit) if self.blocked and self.holdout == 0.5 else None
        if place is not None:
            return assigned_in_block(self.key.encode(), self.digest, *place)
        return assigned(self.key.encode(), self.digest, unit, self.holdout), None


@dataclass(frozen=True, slots=True)
class Observation:
    """What one report says about one trial: a session that counts, and whether it alerted on the rule's family."""

    rule_id: str
    session_id: str
    breached: bool
    exposure: Exposure


@dataclass(frozen=True, slots=True)
class Told:
    """What one report says to a trial of the anytime policy, or to a comparison after it: one unit in its arm.

    `value`: the rule's metric in [0, 1], or 1 - breached for a rule without one; None: reported without a score.
    `metrics` and `costs`: whatever else the report carried. `check`: the comparison's name, "" for the trial.
    """

    rule_id: str
    session_id: str
    unit: str
    arm: Arm
    breached: bool
    value: float | None
    task_id: str | None = None
    metrics: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    costs: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    check: str = ""

    @property
    def about(self) -> str:
        """What the unit belongs to: the trial of the rule, or one comparison of it."""
        return f"{self.rule_id}/{self.check}" if self.check else self.rule_id


@dataclass(frozen=True, slots=True)
class Seen:
    """A session that was reported while rules were on trial: when first, its metrics that had a value, its costs."""

    at: str
    metrics: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))
    costs: Mapping[str, float] = field(default_factory=lambda: MappingProxyType({}))


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
        self._units: OrderedDict[str, str] = OrderedDict()
        self._places: OrderedDict[str, int] = OrderedDict()
        self._told: dict[str, list[Told]] = {}
        self._valued: dict[str, dict[str, bool]] = {}
        self.rounds: dict[str, list[Mapping[str, object]]] = {}
        """Rule id -> the records of its paired replays."""
        self.exposed_sessions = 0
        """Sessions of which is known what their contexts held."""
        self.reach: dict[str, Counter[Exposure]] = {}
        """Rule id -> in how many sessions it was shown, assumed or withheld."""
        self._noticed: OrderedDict[str, set[str]] = OrderedDict()
        self.noticed_sessions = 0
        """Sessions that were given a continuation notice with pool rules in it."""
        self.pool_reach: Counter[str] = Counter()
        """Pool rule id -> in how many sessions' notices it stood. No trial counts it."""

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

    def reported(
        self, session_id: str, at: str, metrics: Mapping[str, float], costs: Mapping[str, float] = MappingProxyType({})
    ) -> None:
        """A session was reported; `metrics` are those that had a value."""
        known = self._reported.get(session_id) or Seen(at)
        self._reported[session_id] = Seen(known.at, {**known.metrics, **metrics}, {**known.costs, **costs})
        _bound(self._reported)

    def knows(self, session_id: str, metrics: Iterable[str]) -> bool:
        """Whether the session was reported with at least these metrics."""
        known = self._reported.get(session_id)
        return known is not None and known.metrics.keys() >= set(metrics)

    def tell(self, told: Told) -> None:
        """Fold what a report said. A unit without a value is no observation, nor is one of a later comparison."""
        if not self.is_told(told):
            return
        self._told.setdefault(told.about, []).append(told)
        self._valued.setdefault(told.about, {})[told.unit] = told.value is not None
        if told.value is not None and not told.check:
            self.observe(Observation(told.rule_id, told.session_id, told.breached, told.arm))

    def is_told(self, told: Told) -> bool:
        """Whether its unit is new to the trial, or had no value before."""
        known = self._valued.get(told.about, {}).get(told.unit)
        return known is None or (told.value is not None and not known)

    def told(self, rule_id: str, check: str = "") -> Sequence[Told]:
        """What the units of a trial (or of that comparison) said, in the order of the file, each once with a value."""
        return self._told.get(f"{rule_id}/{check}" if check else rule_id, ())

    def expose(self, session_id: str, rules: Mapping[str, Exposure], unit: str | None = None) -> None:
        """A turn of the session began with these rules in its context; `shown` stays. `unit`: where not the session."""
        self.exposed_sessions += session_id not in self._exposed
        known = self._exposed.setdefault(session_id, {})
        for rule, exposure in rules.items():
            before = known.get(rule)
            if before is not None and RANK[exposure] <= RANK[before]:
                continue
            reach = self.reach.setdefault(rule, Counter())
            reach[exposure] += 1
            if before is not None:
                reach[before] -= 1
            known[rule] = exposure
        _bound(self._exposed)
        if unit is not None and session_id not in self._units:
            self._units[session_id] = unit
            _bound(self._units)
            place = place_in_task(unit)
            if place is not None:
                self._places[place[0]] = max(self.next_place(place[0]), place[1] + 1)
                self._places.move_to_end(place[0])
                _bound(self._places)

    def noticed(self, session_id: str, rules: Iterable[str]) -> None:
        """A session was given a notice with these pool rules; each counts once for each session."""
        self.noticed_sessions += session_id not in self._noticed
        known = self._noticed.setdefault(session_id, set())
        self.pool_reach.update(set(rules) - known)
        known.update(rules)
        _bound(self._noticed)

    def unit(self, session_id: str) -> str:
        """What the coins of the session were thrown for."""
        return self._units.get(session_id, session_id)

    def settled(self, session_id: str) -> str | None:
        """What the coins of the session were thrown for, once a record says so; None before."""
        unit = self._units.get(session_id)
        if unit is None and any(how in ("shown", "withheld") for how in self.exposures(session_id).values()):
            return session_id
        return unit

    def next_place(self, task_id: str) -> int:
        """How many sessions took a place in the task so far; the next one has this number."""
        return self._places.get(task_id, 0)

    def exposures(self, session_id: str) -> Mapping[str, Exposure]:
        """Rule id -> how the session saw it, as recorded when its turns began."""
        return self._exposed.get(session_id, _NO_EXPOSURES)

    def has_room(self, rule_id: str, session_id: str, start: TrialState | None, window: int) -> bool:
        """Whether a fixed trial of `window` sessions (0 = any number) takes this session, or has taken it already."""
        counted, before = self._counted.get(rule_id, {}), start.observed if start else ()
        return not window or session_id in counted or session_id in before or len(counted) + len(before) < window

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
            followed={one: self._reported[one] for one in observed if one in self._reported}
            if base.policy == "fixed"
            else base.followed,
        )

    def in_detail(self, rule_id: str, metric: str | None, start: TrialState | None) -> TrialState:
        """`state`, with the reported sessions that do not count and why. The last ten thousand are known."""
        trial = self.state(rule_id, start)
        found: dict[str, Uncounted] = {}
        counted = set(trial.observed)
        for session_id, seen in self._reported.items():
            if session_id not in counted and seen.at >= trial.started_at:
                exposure = self.exposures(session_id).get(rule_id, "unknown")
                taken = self._valued.get(rule_id, {}).get(self.unit(session_id))
                otherwise: Uncounted = "place taken by another session" if taken else "after the window"
                found[session_id] = why_not(session_id, exposure, metric, seen.metrics, trial) or otherwise
        return replace(trial, uncounted=found)


def why_not(
    session_id: str, exposure: Exposure, metric: str | None, metrics: Iterable[str], trial: TrialState | None
) -> Uncounted | None:
    """Why a session is no evidence about a rule on `metric`, given the metrics that have a value; None: it counts."""
    if trial is not None and trial.birth_session == session_id:
        return "birth session"
    if not any(metric in (None, name) for name in metrics):
        return "no score"
    anytime = trial is not None and trial.policy == "anytime"
    if exposure == "read":
        return "only read"
    if exposure == "unknown" or (anytime and exposure == "assumed"):
        return "unknown exposure"
    if anytime:
        return None
    return "withheld" if exposure == "withheld" else None


MAX_SESSIONS = 10_000


def _bound(table: OrderedDict[str, T]) -> None:
    if len(table) > MAX_SESSIONS:
        table.popitem(last=False)
