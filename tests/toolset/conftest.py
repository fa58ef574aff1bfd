"""A workspace over real edges in a temporary folder, with the toolset on top of it."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from ruleproof.core.context import Settings
from ruleproof.core.score import Report, Score
from ruleproof.edge import fs
from ruleproof.edge.evalsetdir import EvalSetDir
from ruleproof.edge.filelog import FileLog
from ruleproof.edge.mailboxdir import MailboxDir
from ruleproof.edge.system import System
from ruleproof.edge.workspacedir import LOCK, WorkspaceDir
from ruleproof.engine.add_rule import Limits
from ruleproof.engine.change_rule import apply_verdict
from ruleproof.engine.compose import Composer
from ruleproof.engine.ports import Ports
from ruleproof.engine.report import Handled, handle_report
from ruleproof.engine.rules import Rules
from ruleproof.engine.workspace import Workspace
from ruleproof.toolset.dispatch import Toolset


@dataclass
class Place:
    """One opened workspace."""

    root: Path
    workspace: Workspace
    rules: Rules
    toolset: Toolset

    def call(self, name: str, /, **args: Any) -> dict[str, Any]:
        return self.toolset.call_sync(name, args)

    def well(self, name: str, /, **args: Any) -> dict[str, Any]:
        """The answer of a call that must succeed."""
        answer = self.call(name, **args)
        assert answer["ok"] is True, answer
        return answer

    def ill(self, name: str, /, **args: Any) -> str:
        """The error of a call that must fail."""
        answer = self.call(name, **args)
        assert answer["ok"] is False, answer
        return str(answer["error"])

    def report(self, session: str, turn: int = 1, reason: str = "", **scores: float | None) -> Handled:
        """One live report; a score below 0.5 breaches."""
        made = tuple(
            Score(metric, value, reason=reason, flagged=(f"t-{session}",), signals={f"t-{session}": {"loop": 0.1}})
            for metric, value in scores.items()
        )
        return handle_report(self.workspace, Report(session, made, self.workspace.now(), turn))

    def notice(self, session: str, reason: str = "charged twice", metric: str = "agent_reliability") -> str:
        """A pending notice of that session; its id."""
        handled = self.report(session, reason=reason, **{metric: 0.2})
        assert handled.notice is not None and handled.did == "post"
        return handled.notice.id

    def decided(self, rule_id: str, *, promote: bool, reason: str = "forward-trial: measured") -> None:
        """The verdict of a validator."""
        apply_verdict(self.workspace, self.rules.get(rule_id), promote=promote, reason=reason, validator="test")

    def lines(self, name: str) -> list[dict[str, Any]]:
        """Every line of a log; each must be a JSON object."""
        return [json.loads(line) for line in (self.root / name).read_bytes().splitlines()]

    def write(self, name: str, value: object) -> None:
        """A file that somebody else put there."""
        path = self.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(value if isinstance(value, bytes) else json.dumps(value).encode())


Opener = Callable[..., Place]


@pytest.fixture
def opened(tmp_path: Path) -> Opener:
    """Open the workspace in a folder below the test's own, as the facade does."""

    def open_place(
        folder: str = "workspace", *, trusted: bool = True, sessions: int = 5, limits: Limits | None = None
    ) -> Place:
        root = tmp_path / folder
        files = WorkspaceDir(root)
        files.provision()
        ports = Ports(
            rules=FileLog(root / "rules.jsonl"),
            trials=FileLog(root / "trials.jsonl"),
            journal=FileLog(root / "journal.jsonl"),
            sessions=FileLog(root / "sessions.jsonl"),
            mailbox=MailboxDir(root / "mailbox"),
            evalset=EvalSetDir(root / "evalset"),
            files=files,
            system=System(),
            lock=lambda: fs.lock(root / LOCK),
            trusted=trusted,
        )
        workspace = Workspace(ports)
        composer = Composer(workspace, Settings(), trial_sessions=sessions)
        rules = Rules(workspace, composer, limits or Limits())
        return Place(root, workspace, rules, Toolset(workspace, rules, sessions))

    return open_place


@pytest.fixture
def place(opened: Opener) -> Place:
    """A fresh workspace without a breaker in the way of many notices."""
    made = opened()
    breaker = replace(made.workspace.sessions.breaker.policy, max_notices=0)
    made.workspace._breaker = breaker
    made.workspace._restart_sessions()
    return made
