"""`ruleproof trust`: a person's word that what a workspace holds may be in force on this machine."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.layout import facts, paragraph
from ruleproof.surfaces.cli.opening import opened
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.core.rule import Rule
    from ruleproof.harness import Harness

FIRST = 10


@verb("ruleproof trust", "ruleproof trust --withdraw")
def trust(
    out: Output,
    withdraw: Annotated[
        bool, typer.Option("--withdraw", help="Trust it no longer: nothing in it is in force.")
    ] = False,
    yes: Annotated[bool, typer.Option("--yes", "-y", help="Do not ask.")] = False,
) -> Reply:
    """Put the rules of a workspace in force on this machine.

    It shows what that would be, and trusts the workspace from then on. A workspace that came with a clone, or that
    git tracks, puts nothing in force before this. Read its rules first: they
    go into the prompts of your agents.
    """
    from ruleproof.assembly import trust_registry

    with opened() as harness:
        root, registry = harness.config.root, trust_registry()
        if withdraw:
            was = registry.withdraw(root)
            said = "is trusted no longer; none of its rules is in force" if was else "was not trusted"
            return Reply({"workspace": str(root), "trusted": False, "was_trusted": was}, paragraph(f"{root} {said}."))
        rules = [rule for rule in harness.rules.all() if rule.live]
        shown = _shown(harness, rules)
        if out.interactive and not yes:
            out.note(shown)
            if not typer.confirm("Trust it?", err=True):
                return Reply({"workspace": str(root), "trusted": False}, "Nothing was changed.", Exit.PROBLEMS)
            shown = ""
        system = harness.workspace.ports.system
        tracked = harness.trust.tracked
        registry.trust(root, at=system.now().isoformat(), token=system.hex(32), tracked=tracked)
        harness.project()
        data = {
            "workspace": str(root),
            "trusted": True,
            "git_tracks_it": tracked,
            "in_force": sum(rule.in_force for rule in rules),
            "rules": [{"id": rule.id, "status": rule.status, "rule": rule.rule} for rule in rules],
        }
        return Reply(data, "\n\n".join(part for part in (shown, paragraph(f"{root} is trusted from now on.")) if part))


def _shown(harness: Harness, rules: list[Rule]) -> str:
    force = [rule for rule in rules if rule.in_force]
    git = "git tracks it: a pull can change what is in force" if harness.trust.tracked else "git does not track it"
    counts = facts(
        [
            ("workspace", str(harness.config.root)),
            ("in force then", f"{len(force)} of {len(rules)} live rules"),
            ("git", git),
        ]
    )
    if not force:
        return counts
    listed = [_entry(rule) for rule in force[:FIRST]]
    more = [f"{len(force) - FIRST} more: `ruleproof rules` lists them all."] if len(force) > FIRST else []
    return "\n\n".join([counts, *listed, *more])


def _entry(rule: Rule) -> str:
    """A rule in full: whoever trusts it has read it."""
    head = paragraph(f"{rule.id}  {rule.status}  {', '.join(rule.tags) or '(all tasks)'}", indent="    ")
    parts = [head, paragraph(rule.rule, indent="    ", first="    ")]
    return "\n".join([*parts, *([paragraph(rule.rationale, indent="    ", first="    ")] if rule.rationale else [])])
