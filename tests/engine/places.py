"""A workspace for tests of the engine's verbs: opened without a facade, with a clock that is wound by hand."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from ruleproof.assembly import open_ports
from ruleproof.config import HarnessConfig
from ruleproof.core.context import Settings
from ruleproof.core.problems import Problem
from ruleproof.core.rule import Rule
from ruleproof.core.score import Report, Score
from ruleproof.edge.housekeeping import Housekeeping
from ruleproof.engine.add_rule import Draft, Limits, add_rule
from ruleproof.engine.compose import Composer
from ruleproof.engine.doctor import examine
from ruleproof.engine.project import Projection
from ruleproof.engine.repair import repair
from ruleproof.engine.report import Handled, handle_report
from ruleproof.engine.workspace import Workspace
from ruleproof.testing import FixedSystem


@dataclass
class Place:
    """One process's view of the workspace at `root`."""

    root: Path
    workspace: Workspace
    composer: Composer
    folder: Housekeeping

    def add(self, text: str, rationale: str = "", **more: Any) -> Rule:
        return add_rule(self.workspace, Draft(text, rationale, **more), Limits()).rule

    def report(self, session: str, value: float, reason: str = "", turn: int = 1) -> Handled:
        score = Score("agent_reliability", value, reason=reason)
        return handle_report(self.workspace, Report(session, (score,), self.workspace.now(), turn))

    def examine(self, **more: Any) -> tuple[Problem, ...]:
        return examine(self.workspace, composer=self.composer, folder=self.folder, **more)

    def repair(self) -> tuple[str, ...]:
        return repair(self.workspace, composer=self.composer, folder=self.folder)

    def codes(self, **more: Any) -> list[str]:
        return [problem.code for problem in self.examine(**more)]

    def text(self, name: str) -> str:
        return (self.root / name).read_text("utf-8")

    def lines(self, name: str) -> list[dict[str, Any]]:
        return [json.loads(line) for line in self.text(name).splitlines()]

    def append(self, name: str, data: bytes) -> None:
        with (self.root / name).open("ab") as file:
            file.write(data)

    def everything(self) -> bytes:
        """All bytes of all files, for a search."""
        return b"\0".join(path.read_bytes() for path in sorted(self.root.rglob("*")) if _has_content(path))


def _has_content(path: Path) -> bool:
    return path.is_file() and path.stat().st_size > 0


def open_place(root: Path, *, projected: bool = True, **more: Any) -> Place:
    """Open (or make) the workspace at `root`, as another process would."""
    ports, _ = open_ports(HarnessConfig(harness_root=root))
    system = more.pop("system", None) or FixedSystem(tick=0.001, seed=str(more.pop("seed", "a")))
    workspace = Workspace(replace(ports, system=system))
    composer = Composer(workspace, Settings(), trial_sessions=5)
    if projected:
        Projection(workspace, composer)
    return Place(root, workspace, composer, Housekeeping(root))
