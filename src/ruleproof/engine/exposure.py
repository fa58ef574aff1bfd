"""Who saw what, kept until a turn or a report of the session writes it down.

A context that was composed for a session (or inside its turn, or for a task alone) is certain: each rule in it was
shown, and each rule that the coin kept out of it was withheld. One that was composed for nobody is assumed to have
reached whoever reports next, which the fixed policy counts and the anytime policy does not.

What the coins fall for is the session; the session's place in its task while a trial runs in blocks; the task where
no session is known. It is settled by the first context or turn of the session, and recorded with the exposure.
"""

from __future__ import annotations

import logging
import threading
from collections.abc import Container, Iterable, Mapping
from typing import TypeVar

from ruleproof.codec.records import exposure_to, noticed_to
from ruleproof.core import ids
from ruleproof.core.context import Context
from ruleproof.core.evidence.assignment import unit_in_task
from ruleproof.core.trial import RANK, Exposure
from ruleproof.engine.workspace import Workspace

T = TypeVar("T")
log = logging.getLogger("ruleproof")
MANY = 4096
"""Sessions, and tasks, that are remembered until they report."""


class Exposures:
    """The contexts of one process that nobody has reported on yet."""

    def __init__(self, workspace: Workspace) -> None:
        self._workspace = workspace
        self._mutex = threading.Lock()
        self._sessions: dict[str, dict[str, Exposure]] = {}
        self._tasks: dict[str, dict[str, Exposure]] = {}
        self._read: dict[str, dict[str, Exposure]] = {}
        self._assumed: dict[str, Exposure] = {}
        self._last: tuple[str, ...] = ()
        self._units: dict[str, str] = {}
        self._task_units: dict[str, str] = {}
        self._places: dict[str, int] = {}
        self._warned = False
        self._blocks: tuple[object, bool] = (None, False)

    @property
    def assumed(self) -> Container[str]:
        """The rules that a context for nobody held. It only grows, so it is looked into and never copied."""
        return self._assumed

    def unit(self, session_id: str | None, task_id: str | None) -> str | None:
        """What the coins of a context fall for. A session that began with its task's context keeps those coins."""
        if session_id is None and task_id is None:
            return None
        trials, within = self._workspace.refresh_trials(), task_id if self._in_blocks() else None
        with self._mutex:
            if session_id is not None:
                unit = self._units.get(session_id) or trials.settled(session_id) or self._place(within) or session_id
                self._units[session_id] = unit
                _bound(self._units)
                return unit
            task_id = task_id or ""
            unit = self._task_units.get(task_id) or self._place(within) or task_id
            self._task_units[task_id] = unit
            _bound(self._task_units)
            return unit

    def _place(self, task_id: str | None) -> str | None:
        """The next place in the task; None without one."""
        if task_id is None:
            return None
        place = max(self._workspace.trials.next_place(task_id), self._places.get(task_id, 0))
        self._places[task_id] = place + 1
        _bound(self._places)
        return unit_in_task(task_id, place)

    def _in_blocks(self) -> bool:
        """Whether a trial in force throws its coins in blocks of one task."""
        book = self._workspace.refresh()
        if self._blocks[0] != (book, book.version):
            found = any(rule.trial is not None and rule.trial.blocked for rule in book.candidates() if rule.in_force)
            self._blocks = (book, book.version), found
        return self._blocks[1]

    def saw(self, made: Context, session_id: str | None, task_id: str | None) -> None:
        """A context was handed out."""
        with self._mutex:
            if session_id is not None:
                _note(self._sessions, session_id, made)
            elif task_id is not None:
                _note(self._tasks, task_id, made)
            elif made.rules is not self._last:  # the same context again says nothing new
                self._assumed.update(dict.fromkeys(made.rules, "assumed"))
                self._last = made.rules
        if session_id is None and task_id is None and not self._warned:
            self._warn(made)

    def _warn(self, made: Context) -> None:
        trials = {rule.id: rule.trial for rule in self._workspace.rulebook.candidates() if rule.trial is not None}
        compared = [rule_id for rule_id, trial in trials.items() if trial.policy == "anytime"]
        after = [(rule.id, rule.trial.comparison) for rule in self._workspace.rulebook.checked() if rule.trial]
        compared += [rule_id for rule_id, comparison in after if comparison is not None and comparison.holdout]
        if any(rule_id in made.rules for rule_id in compared):
            self._warned = True
            log.warning(
                "a context was composed for no session and no task: nothing was withheld from it, and it is no "
                "evidence about the rules that are compared; give system_context a session_id, or call it inside a turn"
            )

    def read(self, session_id: str, rules: Iterable[str]) -> None:
        """The agent was told of these rules by a tool. What of them is on trial is noted."""
        trials = {rule.id for rule in self._workspace.rulebook.candidates() if rule.trial is not None}
        with self._mutex:
            self._read.setdefault(session_id, {}).update(dict.fromkeys(trials.intersection(rules), "read"))
            _bound(self._read)

    def waits(self, session_id: str) -> bool:
        """Whether there is something to write down for the session."""
        return session_id in self._sessions or session_id in self._read

    def record(self, session_id: str, task_id: str | None) -> None:
        """A turn of the session began or ended: write down what is new about it."""
        trials = self._workspace.trials
        certain, unit = self._take(session_id, task_id)
        claimed = False
        if certain is None:
            with self._mutex:
                certain = dict(self._assumed)
            if task_id is not None and self._in_blocks() and trials.settled(session_id) is None:
                unit, claimed = self.unit(session_id, task_id) or session_id, True
        news = self._news(session_id, certain)
        if news or claimed:
            self._workspace.append_exposure(exposure_to(session_id, news, self._workspace.now(), unit))

    def reported(self, session_id: str, task_id: str | None, at: str) -> None:
        """The session is about to be reported: write down what is certain."""
        certain, unit = self._take(session_id, task_id)
        news = self._news(session_id, certain or {})
        if news:
            self._workspace.append_exposure(exposure_to(session_id, news, at, unit))

    def _news(self, session_id: str, certain: Mapping[str, Exposure]) -> dict[str, Exposure]:
        """What of that, and of what the agent read, is not on record yet."""
        known, read = self._workspace.trials.exposures(session_id), self._read.pop(session_id, {})
        return {rule: how for rule, how in {**read, **certain}.items() if RANK[how] > RANK[known.get(rule, "unknown")]}

    def noticed(self, rules: Mapping[str, str], session_id: str) -> None:
        """The session was given a notice with these pool rules (id -> digest); of an untrusted workspace's nothing
        is recorded. It is no evidence about any rule on trial.
        """
        if rules and self._workspace.ports.trusted:
            self._workspace.append_exposure(noticed_to(ids.opaque(session_id), rules, self._workspace.now()))

    def _take(self, session_id: str, task_id: str | None) -> tuple[Mapping[str, Exposure] | None, str]:
        """What is certain of the session and not written yet, and what its coins were thrown for.

        The context of a task belongs to the first session that says it works on it and asked for none of its own.
        """
        with self._mutex:
            unit = self._units.get(session_id) or self._workspace.trials.unit(session_id)
            found = self._sessions.pop(session_id, None)
            if found is None and task_id is not None and not self._workspace.trials.exposures(session_id):
                found = self._tasks.pop(task_id, None)
                if found is not None:
                    unit = self._units[session_id] = self._task_units.pop(task_id, task_id)
                    _bound(self._units)
            return found, unit


def _note(table: dict[str, dict[str, Exposure]], key: str, made: Context) -> None:
    held = table.setdefault(key, {})
    held.update(dict.fromkeys(made.rules, "shown"))
    held.update(dict.fromkeys(made.withheld, "withheld"))
    _bound(table)


def _bound(table: dict[str, T]) -> None:
    while len(table) > MANY:
        table.pop(next(iter(table)))
