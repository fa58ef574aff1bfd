"""One machine's governance as the package wires it, with a state folder, a clock and a checkout of the test's own."""

from __future__ import annotations

from pathlib import Path

from ruleproof.codec.facts import write_facts
from ruleproof.config import HarnessConfig
from ruleproof.core.approval import CurationFact, Decision
from ruleproof.core.corerules import Block, OverBudget, compose
from ruleproof.core.projectkey import project_key
from ruleproof.core.proposal import Proposal
from ruleproof.core.review import Row
from ruleproof.core.rulecommand import Listing
from ruleproof.core.search import Found
from ruleproof.core.tokencount import estimate_tokens
from ruleproof.edge.approvals import ApprovalStore
from ruleproof.edge.rulefiles import RuleFiles
from ruleproof.engine.approve import show
from ruleproof.governance import Governance
from ruleproof.testing import FixedSystem

NAME = "p-1"
PROJECT = project_key(None, "", NAME).key


class _Here(Governance):
    """The facade, except that the state of a test need not outlive a container."""

    machine: Desk

    def _make_own(self) -> str:
        return self.state.make_harness_id(self.machine.home.name, lambda count: "0" * count)

    def _require_writable(self) -> None:
        self.state.folder("approvals")

    def disputed(self) -> frozenset[str]:
        return self.machine.disputed


class Desk:
    """A person's machine. `pool`: the checkout, shared with teammates in a test that needs no git."""

    def __init__(self, home: Path, pool: Path, cap: int = 1_200, project: str = NAME) -> None:
        self.home, self.pool, self.disputed = home, pool, frozenset[str]()
        config = HarnessConfig(harness_root=home / ".ruleproof", project_key=project, core_rules_budget_tokens=cap)
        self.governance = _Here(config, start=home, base=home / "state")
        self.governance.machine = self
        self.governance.system = FixedSystem("2026-09-20T12:00:00+00:00")  # type: ignore[assignment]
        self.governance.files = RuleFiles(pool)
        self.harness = self.governance._make_own()
        self.project = self.governance.project.key

    @property
    def cap(self) -> int:
        return self.governance.config.core_rules_budget_tokens

    @cap.setter
    def cap(self, tokens: int) -> None:
        self.governance.config = self.governance.config.having(core_rules_budget_tokens=tokens)
        self.forget()

    def forget(self) -> None:
        """What the facade made from settings that are no more."""
        for made in ("desk", "agents_search", "_searching"):
            self.governance.__dict__.pop(made, None)

    @property
    def files(self) -> RuleFiles:
        return self.governance.files

    @property
    def ledger(self) -> ApprovalStore:
        return self.governance._ledger

    def propose(self, category: str, text: str, **more: object) -> Proposal:
        return self.governance.propose(category, text, **more).rule  # type: ignore[arg-type]

    def rules(self) -> list[Proposal]:
        return self.governance.desk.rules()

    def in_force(self) -> tuple[Proposal, ...]:
        return self.governance.approved()

    def approve(self, rule: str, decision: Decision | None = None) -> CurationFact:
        """A person who read the file as it is now, unless `decision` says otherwise."""
        if decision is None:
            digest = show(self.governance.desk, rule).row.rule.digest
            decision = Decision("terminal", digest, digest[:12])
        return self.governance.approve(rule, decision)

    def revoke(self, rule: str) -> CurationFact:
        return self.governance.revoke(rule, Decision("terminal", ""))

    def facts(self) -> bytes:
        return write_facts(self.ledger.read(self.project).facts)

    def review(self, asked: Listing | None = None) -> tuple[Row, ...]:
        return self.governance.review(asked)

    def block(self) -> Block | OverBudget | None:
        return compose(self.in_force(), self.cap, estimate_tokens)

    def notice(self, title: str = "Restore") -> str:
        return self.governance.notice(title).text

    def search(self, text: str, *, agent: bool, category: str = "") -> Found:
        if agent:
            return self.governance.agents_search.search(text, category)
        return self.governance.search(text, category=category)
