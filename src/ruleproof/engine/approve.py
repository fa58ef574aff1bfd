"""Approve and revoke: a person's acts on this machine, each one fact in its own ledger. No agent reaches this module.

What is decided is looked at again inside the lock of the ledger: the file as it reads then, the block as it would be.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from datetime import timedelta

from ruleproof.core.approval import TOKEN_HOURS, CurationFact, Decision, OneTimeToken, require_person
from ruleproof.core.approval import approve as approve_fact
from ruleproof.core.approval import revoke as revoke_fact
from ruleproof.core.problems import Problem
from ruleproof.core.proposal import Proposal
from ruleproof.core.review import Plan, Row, file_of, plan, rows
from ruleproof.core.rulecheck import superseded
from ruleproof.core.rulecommand import Listing
from ruleproof.engine.desk import Desk, Ledger
from ruleproof.errors import NotFound, Refused, StoreError

ALL = Listing(everything=True)


@dataclass(frozen=True, slots=True)
class Showing:
    """One rule as a person sees it before deciding. `supersedes`: a rule in force that it amends, or ""."""

    row: Row
    plan: Plan
    supersedes: str
    instead: Plan
    """As `plan`, with what it supersedes out of the block."""

    @property
    def decisive(self) -> Plan:
        """The plan that has to fit: the one without what it supersedes, where it does not fit beside that."""
        return self.instead if self.plan.refusal else self.plan


def review(desk: Desk, asked: Listing) -> tuple[Row, ...]:
    """The rules of the project as `asked`, for people."""
    rules, problems = desk.files.read_all(desk.key)
    return _rows(desk, rules, asked, problems)


def unreadable(desk: Desk) -> tuple[Problem, ...]:
    """What is wrong with files of the project that no rule was read from: no review can show them."""
    rules, problems = desk.files.read_all(desk.key)
    paths = {rule.place.path for rule in rules}
    return tuple(problem for problem in problems if problem.severity != "info" and file_of(problem) not in paths)


def _rows(desk: Desk, rules: Iterable[Proposal], asked: Listing, problems: Iterable[Problem]) -> tuple[Row, ...]:
    approvals = desk.decisions.read(desk.key).approvals
    return rows(rules, approvals, desk.count, asked, desk.disputed(), cap=desk.cap, problems=problems)


def show(desk: Desk, rule_id: str) -> Showing:
    """The rule with that full id, and what approving it would make of the block."""
    rule = desk.one(rule_id)
    approvals = desk.decisions.read(desk.key).approvals
    problems = desk.files.read(rule.place)[1]
    row = next(row for row in _rows(desk, (*desk.in_force(), rule), ALL, problems) if row.rule == rule)
    old = superseded(rule, approvals)
    return Showing(row, _plan(desk, rule), old, _plan(desk, rule, old))


def to_revoke(desk: Desk, rule_id: str) -> Showing | None:
    """As `show`; None for a rule that was decided about and whose file cannot be read now."""
    try:
        return show(desk, rule_id)
    except (NotFound, Refused):
        if rule_id in desk.decisions.read(desk.key).approvals.latest:
            return None
        raise


def approve(desk: Desk, rule_id: str, decision: Decision, *, secret: str = "", instead_of: str = "") -> CurationFact:
    """Put the rule in force here. `secret`: of a one-time token, used up just before the fact is written.

    `instead_of`: a rule that the caller revokes at once; the block has to fit without it. Raises Refused without a
    person, where the file is not what was shown, and where the block would not fit; then no token is used up.
    """
    desk.require_here()
    require_person(decision, "approve")
    desk.require_writable()

    def decide(ledger: Ledger) -> CurationFact:
        rule = desk.one(rule_id)
        fact = approve_fact(rule, decision, at=desk.at(), disputed=desk.disputed())
        over = _plan(desk, rule, instead_of).refusal
        if over is not None:
            raise over.refusal()
        if decision.presence == "token":
            desk.decisions.use_token(secret, "approve", rule.id, rule.digest, desk.now())
        return fact

    return _committed(desk.decisions.commit(desk.key, decide))


def revoke(desk: Desk, rule_id: str, decision: Decision, *, secret: str = "") -> CurationFact:
    """Take the rule out of force here, whether or not its file is there. Raises Refused without a person."""
    desk.require_here()
    require_person(decision, "revoke")
    desk.require_writable()

    def decide(ledger: Ledger) -> CurationFact:
        digest = _digest(desk, rule_id, ledger)
        if decision.presence == "token":
            desk.decisions.use_token(secret, "revoke", rule_id, digest, desk.now())
        return revoke_fact(rule_id, ledger.approvals, decision, at=desk.at(), digest=digest)

    return _committed(desk.decisions.commit(desk.key, decide))


def make_token(desk: Desk, verb: str, rule_id: str, decision: Decision, secret: str) -> OneTimeToken:
    """Let whoever has `secret` do `verb` once for the file as it is now, within 24 hours."""
    desk.require_here()
    desk.require_writable()
    now = desk.now()
    until = now + timedelta(hours=TOKEN_HOURS)
    if verb == "approve":
        rule = desk.one(rule_id)
        approve_fact(rule, decision, at=desk.at(), disputed=desk.disputed())
        token = OneTimeToken("approve", rule.id, rule.digest, until)
    else:
        require_person(decision, "revoke")
        token = OneTimeToken("revoke", rule_id, _digest(desk, rule_id, desk.decisions.read(desk.key)), until)
    desk.decisions.add_token(secret, token, now)
    return token


def _digest(desk: Desk, rule_id: str, ledger: Ledger) -> str:
    """What a revocation is bound to: the digest that was approved, else that of the file."""
    fact = ledger.approvals.latest.get(rule_id)
    if fact is not None and fact.digest:
        return fact.digest
    return desk.one(rule_id).digest if fact is None else ""


def _plan(desk: Desk, rule: Proposal, drop: str = "") -> Plan:
    return plan(desk.in_force(), desk.cap, desk.count, add=rule, drop=drop)


def _committed(fact: CurationFact | None) -> CurationFact:
    if fact is None:
        raise StoreError("The decision was not recorded.", hint="Decide again.")
    return fact
