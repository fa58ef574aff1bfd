"""Governance: the facade over pool rules of one project on this machine, and where its concrete edges are named.

Nothing is made before something is written, and nothing here decides. Approving is a person's act: what an agent can
call (the toolset) is given the desk, never this facade.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import asdict
from functools import cached_property, lru_cache
from pathlib import Path
from platform import node
from typing import TYPE_CHECKING

from ruleproof.codec.facts import write_facts
from ruleproof.config import HarnessConfig
from ruleproof.config.sources import WORKSPACE, environment_names, pool_token
from ruleproof.core.approval import CurationFact, Decision, agent_signs
from ruleproof.core.continuation import Chapter
from ruleproof.core.draft import Draft
from ruleproof.core.loaders import lint_loaders
from ruleproof.core.problems import Problem, problems_from
from ruleproof.core.projectkey import ProjectKey
from ruleproof.core.proposal import NOTHING, Origin, Proposal
from ruleproof.core.review import Row
from ruleproof.core.rule import Rule
from ruleproof.core.rulecheck import check_other_user, check_rules
from ruleproof.core.rulecommand import Listing
from ruleproof.core.search import Document, Found
from ruleproof.core.tokencount import estimate_tokens
from ruleproof.edge import git
from ruleproof.edge.approvals import ApprovalStore, Ledger
from ruleproof.edge.instructions import instruction_files
from ruleproof.edge.links import Link, Links
from ruleproof.edge.rulefiles import RuleFiles, Written, disputes
from ruleproof.edge.system import System
from ruleproof.edge.userstate import (
    MOUNTED,
    UserState,
    ancestors,
    default_base,
    home,
    read_mounted,
    require_lasting,
    require_private,
)
from ruleproof.engine.approve import Showing, make_token, review, show
from ruleproof.engine.approve import approve as approve_rule
from ruleproof.engine.approve import revoke as revoke_rule
from ruleproof.engine.desk import Desk
from ruleproof.engine.notice import Notice, compose_notice
from ruleproof.engine.poolsearch import AgentsSearch, PersonsSearch
from ruleproof.engine.propose import Proposed
from ruleproof.engine.propose import propose as propose_rule
from ruleproof.engine.share import learned as learned_draft
from ruleproof.engine.slashcommand import run_command
from ruleproof.errors import Refused, RuleproofError

if TYPE_CHECKING:
    from ruleproof.edge.pool import Pool, SyncReport
    from ruleproof.engine.add_rule import Added
    from ruleproof.engine.rules import Rules

APPROVALS = "approvals"
CHECKOUTS = "checkouts"
POOLS = "pools"
WRITTEN = "written"
_tokens = lru_cache(maxsize=4096)(estimate_tokens)
"""A block is counted whenever a notice is composed or a rule approved; its entries stay the same."""


class Governance:
    """The pool rules of the project that `start` lies in. `base`: this user's state folder; none: the system says."""

    def __init__(self, config: HarnessConfig, *, start: Path | None = None, base: Path | None = None) -> None:
        self.config = config
        self.system = System()
        self._base = base
        self.start = start or (config.root.parent if config.root.name == WORKSPACE else Path.cwd())

    @cached_property
    def base(self) -> Path:
        """This user's state folder. Raises StoreError where the system names none."""
        return self._base or default_base()

    @cached_property
    def state(self) -> UserState:
        """What lies in `base`."""
        return UserState(self.base)

    @cached_property
    def project(self) -> ProjectKey:
        """Which project this is, and what its key was made from."""
        return git.project(self.start, self.config.project_key, home())

    @cached_property
    def files(self) -> RuleFiles:
        """The rule files of this project: a folder of its own in the user's state, a pool's checkout once linked."""
        return RuleFiles(self.base / CHECKOUTS / self.project.key, Written(self.base / WRITTEN, self.own))

    @cached_property
    def desk(self) -> Desk:
        """What the engine works on."""
        return Desk(
            project=self.project,
            name=self.project.name,
            files=self.files,
            decisions=self._ledger,
            own=self.own,
            make_own=self._make_own,
            disputed=self.disputed,
            taken=lambda: self._pool().taken(self.project.key) if self.link() else (),
            require_writable=self._require_writable,
            require_here=self._require_here,
            cap=self.config.core_rules_budget_tokens,
            bonus=self.config.rules_core_bonus,
            count=_tokens,
            now=self.system.now,
            aliases=self.config.search_aliases,
        )

    @cached_property
    def _ledger(self) -> ApprovalStore:
        folder = self.base / APPROVALS
        if folder.exists() or folder.is_symlink():
            require_private(self.base)
            require_private(folder)
        return ApprovalStore(folder, mounted=self.mounted)

    def mounted(self, project: str) -> bytes | None:
        """What another user approved for `project`; None where this user decides. Raises as `read_mounted` does."""
        found = read_mounted(project)
        return b"" if found is None and self.config.approve_via == "other-user" else found

    def own(self) -> str:
        """This machine's harness id; "" before the first proposal."""
        return self.state.harness_id() or ""

    def _make_own(self) -> str:
        self.state.folder(CHECKOUTS)
        return self.state.make_harness_id(node(), self.system.hex)

    def disputed(self) -> Collection[str]:
        """Pool paths under which the pool offers other bytes than were first seen here."""
        link = self.link()
        return disputes(self._links.store(self.project.key, link)) if link else frozenset()

    def _require_writable(self) -> None:
        require_lasting(self.base)
        self.state.folder(APPROVALS)

    def _require_here(self) -> None:
        if self.mounted(self.project.key) is not None:
            raise Refused(
                "Here another user decides which rules are in force; a decision of this user would count for nothing.",
                hint=(
                    "Decide where the ledger is that counts, run `ruleproof approvals export` there, and have its "
                    f"owner put that in {MOUNTED / self.project.key}.jsonl."
                ),
            )

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

    def propose_learned(self, rule: Rule, evidence: Mapping[str, object], category: str) -> Proposed:
        """Propose a rule that a workspace learned, with its evidence as a claim; it approves nothing anywhere."""
        return propose_rule(self.desk, learned_draft(rule, evidence, category))

    def approved(self) -> tuple[Proposal, ...]:
        """The rules in force on this machine."""
        return self.desk.in_force()

    def notice(self, title: str, *, handoff: str = "", chapters: Sequence[Chapter] = (), ancestry: str = "") -> Notice:
        """The continuation notice. Raises Refused, with figures, where the approved rules are over the budget."""
        return compose_notice(self.desk, title, handoff=handoff, chapters=chapters, ancestry=ancestry)

    def search(
        self,
        text: str,
        *,
        category: str = "",
        kinds: Sequence[str] = (),
        limit: int = 50,
        learned: Iterable[Rule] = (),
        others: Iterable[Document] = (),
    ) -> Found:
        """What a person searches: every pool rule, `learned` rules of a workspace, `others` that a host brings.

        `kinds`: `rule`, `learned`, those of `others`; none: every kind. An agent has its own tool.
        """
        wanted = category, tuple(kinds)
        return self._searching.search(text, *wanted, limit=limit, learned=learned, others=others)

    @cached_property
    def agents_search(self) -> AgentsSearch:
        """What an agent's tools are given: a search of what is in force, and what it works on."""
        return AgentsSearch(self.desk)

    @cached_property
    def _searching(self) -> PersonsSearch:
        return PersonsSearch(self.desk)

    def command(self, line: str, *, texts: bool = True) -> str:
        """What a person's `/chapters-rule` line did, in words for that person. It approves and revokes nothing.

        `texts`: False where the answer may get into a prompt; then it holds no byte of a rule file.
        """
        return run_command(self.desk, line, texts=texts)

    # --- the pool --------------------------------------------------------------------------------------------------

    @cached_property
    def _links(self) -> Links:
        return Links(self.base / POOLS)

    def link(self) -> Link | None:
        """The pool that this project is linked to on this machine."""
        return self._links.read(self.project.key)

    def link_pool(self, address: str, token: str = "", *, create: bool = False) -> Link:
        """Share the project's rules through the pool at `address`. `create`: make it where a local path is free.

        Raises Refused for an address that is neither https nor a local path, or where there is nothing.
        """
        remote = _git_pool().Remote(address, token)
        if remote.local and not Path(remote.address).exists() and not (create and remote.create()):
            raise Refused(f"There is nothing at {remote.address}.", hint="`--create` makes an empty pool there.")
        self._make_own()
        self.state.folder(POOLS)
        link = Link(remote.address, token)
        self._links.write(self.project.key, link)
        return link

    def sync(self) -> SyncReport:
        """One pass: bring what others proposed, publish our own proposals and a copy of our facts.

        Nothing that comes is in force. Offline is no error: the report says what waits. Raises Refused where no pool is
        linked or the extra `git` is missing.
        """
        pool, link, key = self._pool(), self._required_link(), self.project.key
        own = ApprovalStore(self.base / APPROVALS)
        remote = _git_pool().Remote(link.address, pool_token() or link.token)
        now = int(self.system.now().timestamp())
        report = pool.sync(remote, lambda: {key: write_facts(own.read(key).facts)}, now, self._approved_here)
        self._links.write_report(self._links.store(self.project.key, link), {"at": self.desk.at(), **asdict(report)})
        return report

    def _approved_here(self, rule: Proposal) -> bool:
        """Whether any ledger here puts the rule in force; it counts so where one cannot be read."""
        try:
            stores = self._ledger, ApprovalStore(self.base / APPROVALS)
            return any(store.read(rule.place.project).approvals.in_force(rule) for store in stores)
        except RuleproofError:
            return True

    def last_sync(self) -> Mapping[str, object]:
        """What the last pass said; empty before the first, or without a pool."""
        link = self.link()
        return self._links.report(self._links.store(self.project.key, link)) if link else {}

    def _required_link(self) -> Link:
        link = self.link()
        if link is None:
            raise Refused("This project is linked to no pool.", hint="`ruleproof pool link ADDRESS` links it.")
        return link

    def _pool(self) -> Pool:
        link = self._required_link()
        self.state.folder(CHECKOUTS)
        self.state.folder(POOLS)
        return _git_pool().Pool(self.files, self._links.store(self.project.key, link), self._make_own())

    def examine(self, *, repair: bool = False) -> tuple[Problem, ...]:
        """What is wrong with the project's rules, approvals, budget and pool here. `repair` puts back pool files."""
        differing: tuple[Problem, ...] = ()
        if self.link() is not None:
            try:
                differing = self._pool().verify(repair=repair)
            except RuleproofError as error:
                differing = (Problem("pool-unchecked", error.message, POOLS, "warning", error.hint),)
                repair = False
        ledger, others = self._examined_ledger()
        rules, named = self.files.read_all(self.project.key)
        checked = check_rules(rules, ledger.approvals, self.desk.cap, self.desk.count, self.disputed())
        checkout = git.find(self.start)
        found = (one.as_problem() for one in lint_loaders(instruction_files(checkout.root) if checkout else []))
        pool = (*(() if repair else differing), *problems_from(self.last_sync().get("problems")))
        return tuple(dict.fromkeys((*ledger.problems, *others, *named, *checked, *pool, *found)))

    def _examined_ledger(self) -> tuple[Ledger, tuple[Problem, ...]]:
        """What counts here, and what is wrong with who decides it."""
        key = self.project.key
        try:
            ledger = self._ledger.read(key)
            own = self._ledger.overruled(key)
        except RuleproofError as error:
            return Ledger(), (Problem("approvals-unread", error.message, APPROVALS, "error", error.hint),)
        return ledger, check_other_user(own, ledger.approvals)

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

    def approve(self, typed: str, decision: Decision, *, secret: str = "", instead_of: str = "") -> CurationFact:
        """Put the rule in force here. Raises Refused unless `decision` shows a person who saw this very text.

        `instead_of`: a rule that is to be revoked right after it, and counts no more against the budget.
        """
        return approve_rule(self.desk, self.desk.rule_id(typed), decision, secret=secret, instead_of=instead_of)

    def revoke(self, typed: str, decision: Decision, *, secret: str = "") -> CurationFact:
        """Take the rule out of force here."""
        return revoke_rule(self.desk, self.desk.rule_id(typed), decision, secret=secret)

    def adopt(
        self,
        rules: Rules,
        typed: str,
        decision: Decision,
        *,
        metric: str | None = None,
        tags: Sequence[str] = (),
        again: bool = False,
    ) -> Added:
        """Put the rule on trial as a candidate of the workspace of `rules`; `decision` as on approving."""
        from ruleproof.engine.adopt import adopt

        rule = self.desk.rule_id(typed)
        return adopt(self.desk, rules, rule, decision, metric=metric, tags=tags, again=again)

    def adopted_in_force(self, candidates: Iterable[Rule]) -> tuple[Problem, ...]:
        """Those of `candidates` whose shared rule was approved after it was adopted."""
        from ruleproof.engine.adopt import on_trial

        adopted = [rule for rule in candidates if rule.pool]
        return on_trial(adopted, {rule.id for rule in self.approved()}) if adopted else ()

    def export_approvals(self) -> str:
        """The last decision about each rule, one a line: what an operator mounts on another machine."""
        return self._ledger.export(self.project.key).decode()

    def offered(self, path: str) -> tuple[str, ...]:
        """What `accept` would take: files in dispute, or under this machine's id without its having written them."""
        return self._pool().offered(path)

    def accept(self, path: str) -> tuple[str, ...]:
        """Take what the pool offers at or below `path`; whether it is in force is decided after that, anew."""
        return self._pool().accept(path)

    def make_token(self, verb: str, typed: str, decision: Decision) -> str:
        """The secret of a new one-time token for `verb` on the rule as it is now."""
        secret = self.system.hex(32)
        make_token(self.desk, verb, self.desk.rule_id(typed), decision, secret)
        return secret


class _GitPool:
    """The parts of the extra `git`, loaded where somebody shares."""

    def __init__(self) -> None:
        from ruleproof.edge.pool import Pool
        from ruleproof.edge.pool.remote import Remote

        self.Pool, self.Remote = Pool, Remote


def _git_pool() -> _GitPool:
    try:
        return _GitPool()
    except ImportError as missing:
        raise Refused("Sharing needs the extra `git`.", hint="Install it: pip install 'ruleproof[git]'.") from missing
