"""What governance works on: the rule files of one project, this machine's decisions about them, and the limits.

Everything is read when it is asked for, so that a decision of another process counts at once. Nothing in here decides.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Protocol

from ruleproof.core.approval import Approvals, CurationFact, OneTimeToken
from ruleproof.core.ids import shown
from ruleproof.core.problems import Problem
from ruleproof.core.projectkey import ProjectKey
from ruleproof.core.proposal import Place, Proposal, rule_id_of
from ruleproof.errors import NotFound, Refused

Read = tuple[Proposal | None, tuple[Problem, ...]]


class Ledger(Protocol):
    """What was decided for one project, in its order."""

    @property
    def facts(self) -> tuple[CurationFact, ...]: ...
    @property
    def problems(self) -> tuple[Problem, ...]: ...
    @property
    def approvals(self) -> Approvals: ...


class Decisions(Protocol):
    """This machine's ledgers and one-time tokens."""

    def read(self, project: str) -> Ledger: ...
    def commit(self, project: str, decide: Callable[[Ledger], CurationFact | None]) -> CurationFact | None: ...
    def overruled(self, project: str) -> Approvals: ...
    def noticed(self, project: str) -> Mapping[CurationFact, str]: ...
    def mark_noticed(self, project: str, named: Mapping[CurationFact, str]) -> None: ...
    def add_token(self, secret: str, token: OneTimeToken, now: datetime) -> None: ...
    def use_token(self, secret: str, verb: str, rule: str, digest: str, now: datetime) -> None: ...


class RuleStore(Protocol):
    """Rule files: created once, never changed."""

    def find(self, project: str, ids: Iterable[str]) -> dict[str, list[Place]]: ...
    def read(self, place: Place) -> Read: ...
    def read_all(self, project: str) -> tuple[list[Proposal], list[Problem]]: ...
    def state(self, project: str) -> object | None: ...
    def create(
        self,
        project: str,
        harness: str,
        make: Callable[[int, tuple[Proposal, ...]], Proposal | None],
        taken: Iterable[int] = (),
    ) -> Proposal | None: ...


@dataclass(frozen=True, slots=True)
class Desk:
    """One project on this machine. `own`: this machine's harness id, "" before the first proposal."""

    project: ProjectKey
    name: str
    """Readable name of the project; any text."""
    files: RuleStore
    decisions: Decisions
    own: Callable[[], str]
    make_own: Callable[[], str]
    disputed: Callable[[], Collection[str]]
    """Pool paths under which the pool offers other bytes than were first seen here."""
    taken: Callable[[], Iterable[int]]
    """Numbers of ours that the pool holds."""
    require_writable: Callable[[], None]
    """Makes the place of the ledger; raises Refused where an approval would not last or would not be private."""
    require_here: Callable[[], None]
    """Raises Refused where another user decides, so that a decision of this one would not count."""
    cap: int
    bonus: float
    count: Callable[[str], int]
    now: Callable[[], datetime]
    aliases: Mapping[str, str] = field(default_factory=dict)
    """Words of a search -> another word for the same."""

    @property
    def key(self) -> str:
        return self.project.key

    def at(self) -> str:
        """Now, as rule files and facts have it."""
        return self.now().astimezone(UTC).isoformat(timespec="milliseconds").replace("+00:00", "Z")

    def rules(self) -> list[Proposal]:
        """Every readable rule of the project, approved or not: for people."""
        return self.files.read_all(self.key)[0]

    def in_force(self) -> tuple[Proposal, ...]:
        """The rules that may reach a prompt here; reads no file that the ledger does not approve."""
        approvals = self.decisions.read(self.key).approvals
        return approvals.select(self.read(approvals.approved()), self.disputed())

    def read(self, rules: Iterable[str]) -> list[Proposal]:
        """The readable files of these ids."""
        found = self.files.find(self.key, rules)
        read = (self.files.read(place)[0] for places in found.values() for place in places)
        return [rule for rule in read if rule is not None]

    def rule_id(self, typed: str) -> str:
        """The id that a person typed, in full."""
        own = self.own()
        if "/" not in typed and not own:
            raise Refused(f"{shown(typed)} names no writer.", hint="Nothing was proposed here; give an id as ha/001.")
        return rule_id_of(typed, own)

    def one(self, rule_id: str) -> Proposal:
        """The rule with that full id, as its file reads now. Raises NotFound, or Refused where it is not one file."""
        places = self.files.find(self.key, [rule_id])[rule_id]
        if not places:
            raise NotFound(
                f"{rule_id} is not a rule of this project.", hint="`ruleproof review` lists them; sync first."
            )
        if len(places) > 1:
            named = ", ".join(place.path for place in places)
            raise Refused(f"{rule_id} names {len(places)} files: {named}.", hint="Ask its author for a new number.")
        rule, problems = self.files.read(places[0])
        if rule is None:
            raise Refused(f"{rule_id} cannot be read.", hint="Its file is no rule file now.", problems=problems)
        return rule
