"""`ruleproof approve`: a person puts one pool rule in force on this machine. No agent can."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ruleproof.surfaces.cli.governing import ask, from_stdin, governed
from ruleproof.surfaces.cli.layout import paragraph
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.core.approval import Decision
    from ruleproof.engine.approve import Showing
    from ruleproof.governance import Governance

Id = Annotated[str, typer.Argument(metavar="ID", help="The rule, such as ha/001; 1 means one of this machine's own.")]
Token = Annotated[bool, typer.Option("--token", help="Make a one-time token (24 h) instead of deciding.")]
ByToken = Annotated[bool, typer.Option("--by-token", help="Read a one-time token from standard input.")]


@verb("ruleproof approve ha/001", "ruleproof approve ha/001 --token", "ruleproof approve ha/001 --by-token < token")
def approve(out: Output, rule_id: Id, token: Token = False, by_token: ByToken = False) -> Reply:
    """Put a pool rule in force on this machine.

    It shows the rule and the budget, and asks you to type its digest: a terminal and a person are needed. Nobody else's
    machine is affected, and a text that changes later is out of force.
    """
    return approved(out, rule_id, token=token, by_token=by_token)


def approved(out: Output, rule_id: str, *, token: bool = False, by_token: bool = False) -> Reply:
    """Let a person decide, or take a token's word."""
    from ruleproof.core.approval import Decision

    if token and by_token:
        raise typer.BadParameter("make a token or use one, not both", param_hint="--token")
    governance = governed()
    showing = governance.show(rule_id)
    rule = showing.row.rule
    if by_token:
        decision = Decision("token", rule.digest)
        governance.approve(rule.id, decision, secret=from_stdin())
        said = _in_force(showing, kept=True)
    else:
        decision = ask(out, governance, "approve", showing, rule.id, fit=not token)
        if token:
            secret = governance.make_token("approve", rule.id, decision)
            return Reply({"token": secret, "rule": rule.id}, secret, notes=("It works once, within 24 hours.",))
        said = settle(governance, showing, decision)
    data = {
        "rule": rule.id,
        "digest": rule.digest,
        "tokens": showing.plan.after,
        "cap": showing.plan.cap,
        "supersedes": showing.supersedes or None,
    }
    return Reply(data, paragraph(said))


def settle(governance: Governance, showing: Showing, decision: Decision) -> str:
    """Put the rule in force as a person decided, and what it amends out of force if they say so; what came of it.

    The new text is in force before the old one is not: a crash between the two loses neither.
    """
    from ruleproof.core.approval import require_seen

    rule, old = showing.row.rule, showing.supersedes
    require_seen(rule, decision, "approve", governance.desk.disputed())
    both = "" if showing.plan.refusal is None else ", and both do not fit the budget"
    gone = bool(old) and typer.confirm(f"It amends {old}, which is in force{both}. Revoke {old}?", err=True)
    governance.approve(rule.id, decision, instead_of=old if gone else "")
    if gone:
        governance.revoke(old, decision)
    return _in_force(showing, kept=not gone)


def _in_force(showing: Showing, *, kept: bool) -> str:
    old = showing.supersedes
    plan = showing.plan if kept else showing.instead
    said = f"{showing.row.id} is in force on this machine; {plan.says}."
    if not old:
        return said
    return (
        f"{said} It amends {old}, which is in force still: `ruleproof revoke {old}`."
        if kept
        else (f"{said} {old} is out of force.")
    )
