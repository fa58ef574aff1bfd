"""S1 as a law: several processes' views of one workspace, driven at random with crashes between any two steps.

A crash is an exception that no code of ours catches, raised after a chosen step of a write; the view is thrown away as
a killed process would be. The model knows what was acknowledged; what was cut off may have happened or not, but wholly.
"""

from __future__ import annotations

import json
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TypeVar

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st
from hypothesis.stateful import Bundle, RuleBasedStateMachine, initialize, invariant, rule
from tests.crash.worker import open_store

from ruleproof.core.score import Report, Score
from ruleproof.edge import fs
from ruleproof.engine import change_rule
from ruleproof.engine.report import handle_report
from ruleproof.errors import Conflict, NotFound, Refused

T = TypeVar("T")
VIEWS = 3
STEPS = ("lock", "append.begin", "append.write", "append.sync", "unlock")
views = st.integers(0, VIEWS - 1)


class Killed(BaseException):
    """The process is gone."""


@dataclass
class Model:
    """What must be on the disk. `maybe`: what a killed writer may have done to a rule or observed about it."""

    status: dict[str, str] = field(default_factory=dict)
    text: dict[str, str] = field(default_factory=dict)
    observed: dict[str, set[str]] = field(default_factory=dict)
    breached: dict[str, set[str]] = field(default_factory=dict)


class Store(RuleBasedStateMachine):
    """The machine."""

    rules = Bundle("rules")

    def __init__(self) -> None:
        super().__init__()
        self.folder = Path(tempfile.mkdtemp())
        self.root = self.folder / "workspace"
        self.views = [open_store(self.root) for _ in range(VIEWS)]
        self.model = Model()
        self.sessions = 0

    def teardown(self) -> None:
        shutil.rmtree(self.folder)

    def run(self, view: int, action: Callable[[], T], crash: tuple[str, int] | None) -> T | None:
        """`action`, killed after the nth step of a name where `crash` says so; then the view is opened anew."""
        if crash is None:
            return action()
        left = [crash[1]]

        def kill(event: fs.Event) -> None:
            if event[0] == crash[0]:
                left[0] -= 1
                if left[0] == 0:
                    raise Killed

        try:
            with fs.observe(kill):
                return action()
        except Killed:
            self.views[view] = open_store(self.root)
            return None

    crashes = st.none() | st.tuples(st.sampled_from(STEPS), st.integers(1, 3))

    @initialize(target=rules)
    def first(self) -> str:
        return self.add(0, "The first.", None)

    @rule(target=rules, view=views, text=st.sampled_from(["One.", "Two.", "Three.", "四。"]), crash=crashes)
    def add(self, view: int, text: str, crash: tuple[str, int] | None) -> str:
        live = [i for i, status in self.model.status.items() if status != "retired" and self.model.text[i] == text]
        done = self.run(view, lambda: self.views[view][1].add(text, metric="m"), crash)
        if done is None:  # cut off: it may be there
            for found in open_store(self.root)[1].all():
                if found.id not in self.model.status:
                    self.learn(found.id, text)
                    return found.id
            return live[0] if live else next(iter(self.model.status))
        if live:
            assert done.id == live[0]
        else:
            assert done.id not in self.model.status
            self.learn(done.id, text)
        return done.id

    def learn(self, rule_id: str, text: str) -> None:
        self.model.status[rule_id], self.model.text[rule_id] = "candidate", text
        self.model.observed[rule_id], self.model.breached[rule_id] = set(), set()

    @rule(view=views, rule_id=rules, promote=st.booleans(), crash=crashes)
    def move(self, view: int, rule_id: str, promote: bool, crash: tuple[str, int] | None) -> None:
        workspace, rules = self.views[view]
        before = self.model.status[rule_id]
        after = "active" if promote else "retired"
        legal = before == "candidate" or (before == "active" and not promote)

        def act() -> bool:
            if promote:
                change_rule.apply_verdict(workspace, rules.get(rule_id), promote=True, reason="r", validator="v")
            else:
                rules.retire(rule_id, reason="r")
            return True

        try:
            done = self.run(view, act, crash)
        except (Refused, Conflict, NotFound):
            assert not legal
            return
        if done is None:
            now = open_store(self.root)[1].get(rule_id).status
            assert now in {before, after if legal else before}
            self.model.status[rule_id] = now
        else:
            assert legal
            self.model.status[rule_id] = after

    @rule(view=views, shown=st.sets(rules, max_size=3), good=st.booleans(), crash=crashes)
    def observe(self, view: int, shown: set[str], good: bool, crash: tuple[str, int] | None) -> None:
        workspace, _ = self.views[view]
        self.sessions += 1
        session = f"s{self.sessions}"
        report = Report(session, (Score("m", 0.9 if good else 0.1),), workspace.now())
        counted = {rule_id for rule_id in shown if self.model.status[rule_id] == "candidate"}
        done = self.run(view, lambda: handle_report(workspace, report, assumed=frozenset(shown)), crash)
        there = open_store(self.root)[1]
        for rule_id in counted:
            if done is not None or session in there.trial(rule_id).observed:
                self.model.observed[rule_id].add(session)
                if not good:
                    self.model.breached[rule_id].add(session)

    @invariant()
    def every_view_agrees_with_what_was_acknowledged(self) -> None:
        for workspace, rules in [*self.views, open_store(self.root)]:
            workspace.refresh_trials()
            assert {found.id: found.status for found in rules.all()} == self.model.status
            assert {found.id: found.rule for found in rules.all()} == self.model.text
            for rule_id in self.model.status:
                trial = rules.trial(rule_id)
                assert set(trial.observed) == self.model.observed[rule_id]
                assert set(trial.breached) == self.model.breached[rule_id]
            assert not workspace.rulebook.problems

    @invariant()
    def every_line_parses_and_the_next_writer_completes_the_journal(self) -> None:
        workspace, _ = open_store(self.root)
        with workspace.transaction():
            pass
        stored, journaled = set(), set()
        for name in ("rules", "journal", "trials", "sessions"):
            file = self.root / f"{name}.jsonl"
            for line in file.read_bytes().splitlines() if file.exists() else ():
                record = json.loads(line)
                if name == "rules":
                    stored.add(record["event"])
                elif name == "journal" and "event" in record:
                    assert record["event"] not in journaled
                    journaled.add(record["event"])
        assert stored == journaled


Store.TestCase.settings = settings(
    max_examples=25, stateful_step_count=25, deadline=None, suppress_health_check=list(HealthCheck)
)
TestStore = Store.TestCase
