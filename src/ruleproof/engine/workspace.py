"""One workspace as the engine sees it: four logs folded as far as they were read, and the one write path.

`transaction()` takes the lock between processes, reads what others wrote, completes the journal of a writer that died,
and lets the caller decide on that state. What it decided is then written in one order (rules, journal, trials,
sessions), each synced before the caller hears of it. A decision that raises writes nothing.
"""

from __future__ import annotations

import gc
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from datetime import datetime

from ruleproof.codec.jsonl import decode_line, encode_line
from ruleproof.codec.records import (
    attempt_from,
    event_to,
    exposure_from,
    exposure_unit,
    noticed_from,
    observations_from,
    record_from,
    reported_from,
    rule_to,
    told_from,
)
from ruleproof.codec.replayrounds import replayed_rule
from ruleproof.codec.sessionlog import session_record_from
from ruleproof.core.breaker import BreakerPolicy
from ruleproof.core.gate import GatePolicy
from ruleproof.core.journal import JournalFold
from ruleproof.core.problems import Problem
from ruleproof.core.rule import NOTHING, Rule, Status
from ruleproof.core.rulebook import MAX_PROBLEMS, Rulebook
from ruleproof.core.sessions import SessionFold
from ruleproof.core.trial import TrialFold, TrialState
from ruleproof.engine.ports import Log, Ports

_MANY = 1000


def _event_of(before: Status | None, after: Status) -> str:
    """The kind of the event that a rule record came with, as far as the record tells."""
    if before is None:
        return "rule_add"
    if before == after:
        return "rule_update"
    return {"active": "rule_promote", "retired": "rule_retire"}.get(after, "rule_update")


@contextmanager
def collector_paused(things: int) -> Iterator[None]:
    """No cyclic garbage collection while many things are read in: no cycle is made, and each pass would walk it all.

    What was made joins the old generation without such a walk, unless the program keeps a permanent one of its own.
    """
    pause = things > _MANY and gc.isenabled()
    if pause:
        gc.disable()
    try:
        yield
    finally:
        if pause:
            if not gc.get_freeze_count():
                gc.freeze()
                gc.unfreeze()
            gc.enable()


def iso(moment: datetime) -> str:
    """UTC ISO-8601 with microseconds and offset, as all our records have it."""
    return moment.isoformat(timespec="microseconds")


@dataclass(slots=True)
class Transaction:
    """What a decision wants written. Nothing reaches the disk before the decision ends well."""

    at: str
    new_id: Callable[[str, int], str]
    rules: list[dict[str, object]] = field(default_factory=list)
    events: list[dict[str, object]] = field(default_factory=list)
    trials: list[dict[str, object]] = field(default_factory=list)
    sessions: list[dict[str, object]] = field(default_factory=list)

    def rule(self, rule: Rule, kind: str, **details: object) -> Rule:
        """Write a rule record together with the journal event that goes with it; returns the rule as written."""
        said = {"type": kind, **details} if "evidence" in details else NOTHING
        rule = replace(rule, event=self.new_id("e-", 16), at=self.at, details=said)
        record = rule_to(rule)
        self.rules.append({**record, "event_details": said} if said else record)
        self.events.append({**record, "type": kind, "ts": self.at, **details})
        return rule

    def event(self, kind: str, **details: object) -> None:
        """Journal an event that comes with no rule record."""
        self.events.append({"type": kind, "ts": self.at, **details})


class Workspace:
    """Folded state and the write path of one workspace. Safe to share between threads."""

    def __init__(
        self,
        ports: Ports,
        gate: GatePolicy | None = None,
        breaker: BreakerPolicy | None = None,
        *,
        durable: bool = True,
    ) -> None:
        self.ports = ports
        self._gate, self._breaker = gate, breaker
        self.mutex = threading.RLock()
        self.rulebook = Rulebook()
        self.trials = TrialFold()
        self.trial_version = 0
        """Grows with every trial record that was folded."""
        self.journal = JournalFold()
        self.sessions = SessionFold(gate, breaker)
        self.problems: dict[str, list[Problem]] = {}
        self.durable = durable
        self._unsynced = False
        self.on_new_rulebook: list[Callable[[Rulebook], None]] = []
        self.after_commit: list[Callable[[], None]] = []

    # --- reading ---------------------------------------------------------------------------------------------------

    def now(self) -> str:
        """The present time as records have it."""
        return iso(self.ports.system.now())

    def new_id(self, prefix: str, digits: int) -> str:
        """A fresh id."""
        return prefix + self.ports.system.hex(digits)

    def refresh(self) -> Rulebook:
        """Fold in what was appended to the rules since the last look."""
        with self.mutex:
            for where, value in self._news("rules.jsonl", self.ports.rules, self._restart_rules):
                record = record_from(value, where)
                if isinstance(record, Problem):
                    self._complain("rules.jsonl", record)
                else:
                    self.rulebook.feed(record, where)
            return self.rulebook

    def refresh_trials(self) -> TrialFold:
        """Fold in what was appended to the trials since the last look."""
        with self.mutex:
            for _, value in self._news("trials.jsonl", self.ports.trials, self._restart_trials):
                self.trial_version += 1
                for seen in observations_from(value):
                    self.trials.observe(seen)
                for told in told_from(value):
                    self.trials.tell(told)
                reported = reported_from(value)
                if reported is not None:
                    self.trials.reported(*reported)
                exposed = exposure_from(value)
                if exposed is not None:
                    self.trials.expose(*exposed, exposure_unit(value))
                noticed = noticed_from(value)
                if noticed is not None:
                    self.trials.noticed(*noticed)
                rule_id = attempt_from(value)
                if rule_id is not None:
                    self.trials.attempt(rule_id)
                replayed = replayed_rule(value)
                if replayed is not None:
                    self.trials.rounds.setdefault(replayed, []).append(value)
            return self.trials

    def refresh_journal(self) -> JournalFold:
        """Fold in what was appended to the journal since the last look."""
        with self.mutex:
            for _, value in self._news("journal.jsonl", self.ports.journal, self._restart_journal):
                self.journal.feed(value)
            return self.journal

    def refresh_sessions(self) -> SessionFold:
        """Fold in what was appended to the session records since the last look."""
        with self.mutex:
            for where, value in self._news("sessions.jsonl", self.ports.sessions, self._restart_sessions):
                self.fold_session(value, where)
            return self.sessions

    def fold_session(self, value: Mapping[str, object], where: str = "") -> None:
        """Fold one session record in."""
        record = session_record_from(value, where)
        if isinstance(record, Problem):
            self._complain("sessions.jsonl", record)
        else:
            self.sessions.feed(record)

    def trial_of(self, rule: Rule) -> TrialState:
        """The trial of a rule with every later delta folded in."""
        return self.trials.state(rule.id, rule.trial)

    def _news(self, name: str, log: Log, restart: Callable[[], None]) -> Iterator[tuple[str, Mapping[str, object]]]:
        batch = log.read()
        if batch.fresh:
            self.problems.pop(name, None)
            restart()
        with collector_paused(len(batch.lines)):
            for number, raw in batch.lines:
                where = f"{name}:{number}"
                value = decode_line(raw, where)
                if isinstance(value, Problem):
                    self._complain(name, value)
                elif value is not None:
                    yield where, value

    def _complain(self, name: str, problem: Problem) -> None:
        found = self.problems.setdefault(name, [])
        if len(found) < MAX_PROBLEMS:
            found.append(problem)

    def _restart_rules(self) -> None:
        self.rulebook = Rulebook()
        for listener in self.on_new_rulebook:
            listener(self.rulebook)

    def _restart_trials(self) -> None:
        self.trials = TrialFold()

    def _restart_journal(self) -> None:
        self.journal = JournalFold()

    def _restart_sessions(self) -> None:
        self.sessions = SessionFold(self._gate, self._breaker)

    # --- writing ---------------------------------------------------------------------------------------------------

    @contextmanager
    def transaction(self) -> Iterator[Transaction]:
        """Decide and write under the lock. The state is fresh when the body runs; a body that raises writes nothing."""
        with self.mutex:
            with self.ports.lock():
                self.refresh()
                self.complete_journal()
                plan = Transaction(self.now(), self.new_id)
                yield plan
                self._write(plan)
            self.refresh()
            for listener in self.after_commit:
                listener()

    def _write(self, plan: Transaction) -> None:
        for log, records in (
            (self.ports.rules, plan.rules),
            (self.ports.journal, plan.events),
            (self.ports.trials, plan.trials),
            (self.ports.sessions, plan.sessions),
        ):
            if records:
                log.append(b"".join(encode_line(record) for record in records), sync=self.durable)
        if plan.trials:
            self._unsynced = False
        elif self._unsynced and plan.sessions:
            self.ports.trials.sync()
            self._unsynced = False

    def complete_journal(self) -> bool:
        """Journal the rule records whose writer died before it could; call it under the lock.

        A writer appends its rule records first and their events second, both in order; so where the last event is
        there, all are.
        """
        recent = self.rulebook.recent
        last = next((rule.event for rule, _ in reversed(recent) if rule.event is not None), None)
        if last is None:
            return False
        known = self.refresh_journal().rule_events
        if last in reversed(known):
            return False
        events = [
            {**event_to(rule, _event_of(before, rule.status), self.now()), "completed": True}
            for rule, before in recent
            if rule.event is not None and rule.event not in known
        ]
        self.ports.journal.append(b"".join(map(encode_line, events)))
        self.refresh_journal()
        return True

    def append_exposure(self, record: Mapping[str, object]) -> None:
        """Append an exposure without a sync: the report of the same session syncs it."""
        with self.mutex, self.ports.lock():
            self.ports.trials.append(encode_line(record), sync=False)
            self._unsynced = True
