"""What is wrong or worth knowing about the pool rules of a project here: named for `doctor`, nothing is decided."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable

from ruleproof.core.approval import SHORT, Approvals
from ruleproof.core.corerules import SETTING, Block, OverBudget, compose
from ruleproof.core.problems import Problem
from ruleproof.core.proposal import Proposal

WARN_SHARE = 0.8
Count = Callable[[str], int]


def check_rules(
    rules: Iterable[Proposal], approvals: Approvals, cap: int, count: Count, disputed: Collection[str] = ()
) -> tuple[Problem, ...]:
    """Complaints about approvals and budget. `rules`: every readable file of the project.

    The files' own complaints come with reading them, those of the checkout from `Pool.verify`.
    """
    held = list(rules)
    problems = list(out_of_force(held, approvals, disputed))
    for rule in held:
        if superseded(rule, approvals) and approvals.in_force(rule, disputed):
            message = f"in force together with {rule.amends}, which it amends"
            problems.append(Problem("amended-in-force", message, rule.id, "warning", f"Revoke {rule.amends}."))
    return (*problems, *_check_budget(compose(approvals.select(held, disputed), cap, count)))


def out_of_force(held: Iterable[Proposal], approvals: Approvals, disputed: Collection[str] = ()) -> tuple[Problem, ...]:
    """What somebody decided here that has no effect now, each with the reason: no notice lacks a rule in silence.

    `held`: the readable files, at least those of the rules in the ledger.
    """
    held = list(held)
    problems: list[Problem] = []
    by_id: dict[str, list[Proposal]] = {}
    for rule in held:
        by_id.setdefault(rule.id, []).append(rule)
    for rule_id, fact in sorted(approvals.latest.items()):
        files = by_id.get(rule_id, [])
        if fact.status == "unknown":
            problems.append(Problem("unknown-status", "its last fact is not understood; not in force", rule_id))
        elif fact.status == "core" and not files:
            message = f"approved as {fact.digest[:SHORT]}, and no file of it can be read; not in force"
            problems.append(Problem("orphan-approval", message, rule_id, "error", "Sync, or revoke it."))
        elif fact.status == "core" and all(found.digest != fact.digest for found in files):
            now = ", ".join(found.digest[:SHORT] for found in files)
            message = f"approved as {fact.digest[:SHORT]}, the file is {now} now; not in force"
            problems.append(
                Problem("changed-since-approval", message, rule_id, "error", "Read it and approve it again.")
            )
    for rule in held:
        if approvals.standing(rule, disputed) == "disputed":
            message = "approved, and the pool offers another content; not in force"
            problems.append(Problem("disputed", message, rule.place.path, "error", "See the report of the last sync."))
    return tuple(problems)


def check_other_user(own: Approvals, counted: Approvals) -> tuple[Problem, ...]:
    """Complaints where another user decides. `own`: what this user's ledger says; `counted`: what counts here."""
    now = counted.latest
    return tuple(
        Problem(
            "own-approval-ignored",
            "approved by this user, and another user decides here; it counts for nothing",
            rule,
            "warning",
            "Have that user approve it, or revoke it where you decide.",
        )
        for rule in own.approved()
        if rule not in now or now[rule].status != "core"
    )


def superseded(rule: Proposal, approvals: Approvals) -> str:
    """The id that `rule` amends, if that is approved still: what approving `rule` offers to revoke; empty otherwise."""
    fact = approvals.latest.get(rule.amends)
    return rule.amends if fact is not None and fact.status == "core" else ""


def _check_budget(made: Block | OverBudget | None) -> tuple[Problem, ...]:
    if isinstance(made, OverBudget):
        refusal = made.refusal()
        return (Problem("over-budget", refusal.message, SETTING, "error", refusal.hint),)
    if made is not None and made.tokens >= WARN_SHARE * made.cap:
        message = f"{made.tokens} of {made.cap} tokens are used"
        return (Problem("near-budget", message, SETTING, "warning", "The next approval may be refused."),)
    return ()
