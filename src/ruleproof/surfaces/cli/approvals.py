"""`ruleproof approvals`: what was decided on this machine, and a bundle of it for an operator to mount elsewhere."""

from __future__ import annotations

import typer

from ruleproof.surfaces.cli.governing import governed
from ruleproof.surfaces.cli.layout import table
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import Verb, verb


@verb("ruleproof approvals", "ruleproof approvals --json")
def approvals(ctx: typer.Context) -> Reply | None:
    """List what was decided here, or export it.

    The last decision about each rule, by rule.
    """
    if ctx.invoked_subcommand is not None:
        return None
    from ruleproof.edge.userstate import MOUNTED

    governance = governed()
    latest = governance.desk.decisions.read(governance.project.key).approvals.latest
    facts = [latest[rule] for rule in sorted(latest)]
    rows = [(fact.rule, fact.status, fact.digest[:12], fact.at) for fact in facts]
    other = governance.mounted(governance.project.key) is not None
    data = {
        "project": governance.project.key,
        "decided_by": "other-user" if other else "this-user",
        "facts": [{"rule": fact.rule, "status": fact.status, "digest": fact.digest, "at": fact.at} for fact in facts],
    }
    text = table(("rule", "status", "digest", "at"), rows) if rows else "Nothing was decided here."
    return Reply(data, text, notes=(f"Another user decides here: {MOUNTED}.",) if other else ())


@verb("ruleproof approvals export", "ruleproof approvals export > approvals.jsonl")
def export() -> Reply:
    """Print the decisions as a bundle for an operator.

    Mounted at the path that it names on standard error, where the user of the agent cannot write, it alone counts
    there. It holds what counts here and is signed by nobody: whoever mounts it vouches for it.
    """
    from ruleproof.edge.userstate import MOUNTED

    governance = governed()
    text = governance.export_approvals()
    where = MOUNTED / f"{governance.project.key}.jsonl"
    return Reply(
        {"project": governance.project.key, "mount": str(where), "text": text}, text, notes=(f"Mount: {where}",)
    )


COMMANDS: tuple[tuple[str, Verb], ...] = (("export", export),)
