"""One machine's governance, wired from the parts that the package ships: what the engine's verbs do, in few lines."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path

from ruleproof.codec.facts import write_facts
from ruleproof.core.approval import CurationFact, Decision, approve, revoke
from ruleproof.core.continuation import continuation_notice
from ruleproof.core.corerules import Block, OverBudget, compose
from ruleproof.core.draft import Draft, check
from ruleproof.core.proposal import Proposal, place
from ruleproof.core.review import Row, plan, rows
from ruleproof.core.rulecommand import Listing
from ruleproof.core.search import Document, Found, Index, Query
from ruleproof.core.tokencount import estimate_tokens
from ruleproof.edge.approvals import ApprovalStore, Ledger
from ruleproof.edge.rulefiles import RuleFiles
from ruleproof.edge.userstate import UserState
from ruleproof.errors import NotFound

AT = "2026-09-20T12:00:00.000Z"
PROJECT = "p-1"


@dataclass
class Desk:
    """A person's machine. `pool`: the checkout, shared with teammates in a test that needs no git."""

    home: Path
    pool: Path
    cap: int = 1_200
    disputed: frozenset[str] = frozenset()
    harness: str = field(init=False)

    def __post_init__(self) -> None:
        self.state = UserState(self.home / "state")
        self.harness = self.state.make_harness_id(self.home.name, lambda count: "0" * count)
        self.ledger = ApprovalStore(self.state.folder("approvals"))
        self.files = RuleFiles(self.pool)

    def propose(self, category: str, text: str, **more: object) -> Proposal:
        """What every surface calls; an identical text of our own gives its file back."""
        first: list[Proposal] = []

        def make(number: int, own: tuple[Proposal, ...]) -> Proposal | None:
            made = check(Draft(category, text, **more), self.cap, estimate_tokens, own)  # type: ignore[arg-type]
            first.extend(rule for rule in own if rule.id == made.same)
            if made.same:
                return None
            return made.proposal(place(PROJECT, self.harness, number, made.draft.category, made.title), AT)

        return self.files.create(PROJECT, self.harness, make) or first[0]

    def rules(self) -> list[Proposal]:
        return self.files.read_all(PROJECT)[0]

    def one(self, rule: str) -> Proposal:
        found = [proposal for proposal in self.rules() if proposal.id == rule]
        if not found:
            raise NotFound(f"{rule} is not a rule of this project.")
        return found[0]

    def in_force(self) -> tuple[Proposal, ...]:
        """Reads only what the ledger approves."""
        approvals = self.ledger.read(PROJECT).approvals
        places = [place for found in self.files.find(PROJECT, approvals.approved()).values() for place in found]
        read = [self.files.read(place)[0] for place in places]
        return approvals.select([rule for rule in read if rule is not None], self.disputed)

    def approve(self, rule: str, decision: Decision | None = None) -> CurationFact:
        proposal = self.one(rule)
        shown = decision or Decision("terminal", proposal.digest, proposal.digest[:12])

        def decide(ledger: Ledger) -> CurationFact:
            fact = approve(self.one(rule), shown, at=AT, disputed=self.disputed)
            over = plan(self.in_force(), self.cap, estimate_tokens, add=proposal).refusal
            if over is not None:
                raise over.refusal()
            return fact

        return self._commit(decide)

    def revoke(self, rule: str, decision: Decision | None = None) -> CurationFact:
        shown = decision or Decision("terminal", "")
        return self._commit(lambda ledger: revoke(rule, ledger.approvals, shown, at=AT))

    def _commit(self, decide: Callable[[Ledger], CurationFact]) -> CurationFact:
        fact = self.ledger.commit(PROJECT, decide)
        assert fact is not None
        return fact

    def facts(self) -> bytes:
        return write_facts(self.ledger.read(PROJECT).facts)

    def review(self, asked: Listing | None = None) -> tuple[Row, ...]:
        approvals = self.ledger.read(PROJECT).approvals
        return rows(self.rules(), approvals, estimate_tokens, asked or Listing(), self.disputed)

    def block(self) -> Block | OverBudget | None:
        return compose(self.in_force(), self.cap, estimate_tokens)

    def notice(self, title: str = "Restore") -> str:
        made = self.block()
        if isinstance(made, OverBudget):
            raise made.refusal()
        return continuation_notice(title, project="api", project_key=PROJECT, block=made.text if made else None)

    def search(self, text: str, *, agent: bool, category: str = "") -> Found:
        index = Index(document(rule) for rule in self.rules())
        approved = [rule.id for rule in self.in_force()]
        query = Query(text, PROJECT, category=category, approved_only=agent)
        return index.search(query, approved, date(2026, 9, 20))


def document(rule: Proposal) -> Document:
    """A pool rule as something to be found."""
    return Document(
        rule.id,
        "rule",
        rule.title,
        rule.place.project,
        rule.category,
        rule.text[:2_000],
        rule.topics,
        rule.authored_at,
        rule.place.path,
    )
