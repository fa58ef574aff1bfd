"""`ruleproof revoke`: a person takes one pool rule out of force on this machine."""

from __future__ import annotations

import typer

from ruleproof.surfaces.cli.approve import ByToken, Id, Token
from ruleproof.surfaces.cli.governing import ask, from_stdin, governed
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.verb import verb


@verb("ruleproof revoke ha/001", "ruleproof revoke ha/001 --by-token < token.txt")
def revoke(out: Output, rule_id: Id, token: Token = False, by_token: ByToken = False) -> Reply:
    """Take a pool rule out of force on this machine.

    It shows the rule and asks you to type its id; like approving it needs a person at a terminal, or a one-time token.
    The rule's file stays, and other machines decide for themselves.
    """
    return revoked(out, rule_id, token=token, by_token=by_token)


def revoked(out: Output, rule_id: str, *, token: bool = False, by_token: bool = False) -> Reply:
    """Let a person decide, or take a token's word."""
    from ruleproof.core.approval import Decision
    from ruleproof.engine.approve import to_revoke

    if token and by_token:
        raise typer.BadParameter("make a token or use one, not both", param_hint="--token")
    governance = governed()
    rule = governance.desk.rule_id(rule_id)
    if by_token:
        fact = governance.revoke(rule, Decision("token", ""), secret=from_stdin())
    else:
        decision = ask(out, governance, "revoke", to_revoke(governance.desk, rule), rule)
        if token:
            secret = governance.make_token("revoke", rule, decision)
            return Reply({"token": secret, "rule": rule}, secret, notes=("It works once, within 24 hours.",))
        fact = governance.revoke(rule, decision)
    return Reply({"rule": fact.rule}, f"{fact.rule} is out of force on this machine.")
