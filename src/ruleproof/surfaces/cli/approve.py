"""`ruleproof approve`: a person puts one pool rule in force on this machine. No agent can."""

from __future__ import annotations

from typing import Annotated

import typer

from ruleproof.surfaces.cli.governing import ask, from_stdin, governed
from ruleproof.surfaces.cli.layout import paragraph
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.verb import verb

Id = Annotated[str, typer.Argument(metavar="ID", help="The rule, such as hA/001; 1 means one of this machine's own.")]
Token = Annotated[bool, typer.Option("--token", help="Make a one-time token (24 h) instead of deciding.")]
ByToken = Annotated[bool, typer.Option("--by-token", help="Read a one-time token from standard input.")]


@verb("ruleproof approve hA/001", "ruleproof approve hA/001 --token", "ruleproof approve hA/001 --by-token < token")
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
        fact = governance.approve(rule.id, decision, secret=from_stdin())
    else:
        decision = ask(out, governance, "approve", showing, rule.id)
        if token:
            secret = governance.make_token("approve", rule.id, decision)
            return Reply({"token": secret, "rule": rule.id}, secret, notes=("It works once, within 24 hours.",))
        fact = governance.approve(rule.id, decision)
    said = [f"{fact.rule} is in force on this machine. {showing.plan.says}."]
    old = showing.supersedes
    if old and not by_token and typer.confirm(f"It amends {old}, which is in force. Revoke {old}?", err=True):
        governance.revoke(old, decision)
        said.append(f"{old} is out of force.")
    elif old:
        said.append(f"It amends {old}, which is in force still: `ruleproof revoke {old}`.")
    data = {
        "rule": fact.rule,
        "digest": fact.digest,
        "tokens": showing.plan.after,
        "cap": showing.plan.cap,
        "supersedes": old or None,
    }
    return Reply(data, paragraph(" ".join(said)))
