"""Governance: the facade over pool rules of one project on this machine, and where its concrete edges are named.

Nothing is made before something is written, and nothing here decides. Approving is a person's act: what an agent can
call (the toolset) is given the desk, never this facade.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from platform import node

from ruleproof.config import WORKSPACE, HarnessConfig, environment_names
from ruleproof.core.approval import CurationFact, Decision, agent_signs
from ruleproof.core.continuation import Chapter
from ruleproof.core.draft import Draft
from ruleproof.core.projectkey import ProjectKey
from ruleproof.core.proposal import NOTHING, Origin, Proposal
from ruleproof.core.review import Row
from ruleproof.core.rulecommand import Listing
from ruleproof.core.tokencount import estimate_tokens
from ruleproof.edge import git
from ruleproof.edge.approvals import ApprovalStore
from ruleproof.edge.rulefiles import RuleFiles
from ruleproof.edge.system import System
from ruleproof.edge.userstate import (
    UserState,
    ancestors,
    default_base,
    read_mounted,
    require_lasting,
    require_private,
)
from ruleproof.engine.approve import Showing, make_token, review, show
from ruleproof.engine.approve import approve as approve_rule
from ruleproof.engine.approve import revoke as revoke_rule
from ruleproof.engine.desk import Desk
from ruleproof.engine.notice import Notice, compose_notice
from ruleproof.engine.propose import Proposed
from ruleproof.engine.propose import propose as propose_rule

APPROVALS = "approvals"
CHECKOUTS = "checkouts"


class Governance:
    """The pool rules of the project that `start` lies in. `base`: this user's state folder; none: the system says."""

    def __init__(self, config: HarnessConfig, *, start: Path | None = None, base: Path | None = None) -> None:
        self.config = config
        self.base = base or default_base()
        self.state = UserState(self.base)
        self.system = System()
        self.start = start or (config.root.parent if config.root.name == WORKSPACE else Path.cwd())

    @cached_property
    def project(self) -> ProjectKey:
        """Which project this is, and what its key was made from."""
        return git.project(self.start, self.config.project_key)

    @cached_property
    def files(self) -> RuleFiles:
        """The rule files of this project: a folder of its own in the user's state, a pool's checkout once linked."""
        return RuleFiles(self.base / CHECKOUTS / self.project.key)

    @cached_property
    def desk(self) -> Desk:
        """What the engine works on; also what an agent's tools are given."""
        return Desk(
            project=self.project,
            name=_name(self.project),
            files=self.files,
            decisions=self._ledger,
            own=self.own,
            make_own=self._make_own,
            disputed=self.disputed,
            taken=tuple,
            require_writable=self._require_writable,
            cap=self.config.core_rules_budget_tokens,
            bonus=self.config.rules_core_bonus,
            count=estimate_tokens,
            now=self.system.now,
        )

    @cached_property
    def _ledger(self) -> ApprovalStore:
        folder = self.base / APPROVALS
        if folder.exists() or folder.is_symlink():
            require_private(self.base)
            require_private(folder)
        return ApprovalStore(folder, mounted=read_mounted)

    def own(self) -> str:
        """This machine's harness id; "" before the first proposal."""
        return self.state.harness_id() or ""

    def _make_own(self) -> str:
        self.state.folder(CHECKOUTS)
        return self.state.make_harness_id(node(), self.system.hex)

    def disputed(self) -> Collection[str]:
        """Pool paths under which the pool offers other bytes than were first seen here."""
        return frozenset()

    def _require_writable(self) -> None:
        require_lasting(self.base)
        self.state.folder(APPROVALS)

    # --- for everybody ---------------------------------------------------------------------------------------------

    def propose(
        self,
        category: str,
        text: str,
        *,
        source: str = "manual",
        origin: Origin = "person",
        topics: Sequence[str] = (),
        amends: str = "",
        evidence: Mapping[str, object] = NOTHING,
    ) -> Proposed:
        """Write a proposal, which binds nothing. `amends`: full id of the rule that it replaces.

        Raises Refused, with figures, for what may not be shared or could never be approved.
        """
        return propose_rule(self.desk, Draft(category, text, source, origin, tuple(topics), amends, evidence))

    def approved(self) -> tuple[Proposal, ...]:
        """The rules in force on this machine."""
        return self.desk.in_force()

    def notice(self, title: str, *, handoff: str = "", chapters: Sequence[Chapter] = (), ancestry: str = "") -> Notice:
        """The continuation notice. Raises Refused, with figures, where the approved rules are over the budget."""
        return compose_notice(self.desk, title, handoff=handoff, chapters=chapters, ancestry=ancestry)

    # --- for a person alone ----------------------------------------------------------------------------------------

    def review(self, asked: Listing | None = None) -> tuple[Row, ...]:
        """Every rule of the project, approved or not."""
        return review(self.desk, asked or Listing())

    def show(self, typed: str) -> Showing:
        """One rule with what approving it would make of the budget."""
        return show(self.desk, self.desk.rule_id(typed))

    def decision(self, seen: str, typed: str) -> Decision:
        """What somebody typed at an interactive terminal, with every sign that it was an agent."""
        return Decision("terminal", seen, typed, agent_signs(environment_names(), ancestors()))

    def approve(self, typed: str, decision: Decision, *, secret: str = "") -> CurationFact:
        """Put the rule in force here. Raises Refused unless `decision` shows a person who saw this very text."""
        return approve_rule(self.desk, self.desk.rule_id(typed), decision, secret=secret)

    def revoke(self, typed: str, decision: Decision, *, secret: str = "") -> CurationFact:
        """Take the rule out of force here."""
        return revoke_rule(self.desk, self.desk.rule_id(typed), decision, secret=secret)

    def make_token(self, verb: str, typed: str, decision: Decision) -> str:
        """The secret of a new one-time token for `verb` on the rule as it is now."""
        secret = self.system.hex(32)
        make_token(self.desk, verb, self.desk.rule_id(typed), decision, secret)
        return secret


def _name(project: ProjectKey) -> str:
    """The project for a reader: `acme/api` of a remote, the last folder of a path, the words of an override."""
    text = project.canonical.partition("://")[2] if "://" in project.canonical else project.canonical
    if project.source == "override":
        return text
    parts = [part for part in text.split("/") if part]
    return "/".join(parts[-2:] if project.source == "remote" and len(parts) > 2 else parts[-1:])
