"""`ruleproof rules`: list, show, search, add, retire, accept, adopt, recheck, and how a rule's trial stands."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ruleproof.core import ids
from ruleproof.core.text import one_line
from ruleproof.surfaces.cli.adopt import adopt
from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.layout import cut, facts, paragraph, table
from ruleproof.surfaces.cli.opening import distrust, opened
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import Verb, verb

if TYPE_CHECKING:
    from ruleproof.core.rule import Rule
    from ruleproof.harness import Harness

TAGS = 18
"""Cells of a table that tags may take."""

Status = Literal["candidate", "active", "retired"]
Id = Annotated[str, typer.Argument(metavar="ID", help="The rule, such as r-9772c134b8.")]
All = Annotated[bool, typer.Option("--all", help="Retired rules too.")]
WithStatus = Annotated[Status | None, typer.Option("--status", help="Only rules of this status.")]


@verb("ruleproof rules", "ruleproof rules --all")
def rules(ctx: typer.Context, all_: All = False, status: WithStatus = None) -> Reply | None:
    """List, show, add, retire, accept, adopt or recheck rules.

    Without a command it lists the live ones.
    """
    if ctx.invoked_subcommand is None:
        return listed(all_, status)
    if all_ or status:
        raise typer.BadParameter(f"give --all and --status after `{ctx.invoked_subcommand}`", param_hint="rules")
    return None


@verb("ruleproof rules list", "ruleproof rules list --status retired --json")
def list_(all_: All = False, status: WithStatus = None) -> Reply:
    """List rules, oldest first.

    The live ones, or as --all and --status say.
    """
    return listed(all_, status)


def listed(everything: bool, status: Status | None) -> Reply:
    """The rules of the workspace as a table."""
    with opened() as harness:
        found = [
            rule
            for rule in harness.rules.all()
            if (rule.status == status if status else everything or rule.live or rule.status == "unknown")
        ]
        rows = [(rule.id, standing(harness, rule), tags_of(rule), rule.rule) for rule in found]
        data = {"rules": [value_of(harness, rule) for rule in found], "trusted": harness.trust.trusted}
        text = table(("rule", "status", "tags", "text"), rows) if rows else "No rules."
        warning = distrust(harness)
    return Reply(data, text, notes=(warning,) if warning else ())


@verb("ruleproof rules show r-9772c134b8")
def show(rule_id: Id) -> Reply:
    """Show one rule: its text, where it came from, how it stands."""
    with opened() as harness:
        rule = harness.rules.get(ids.rule_id(rule_id))
        after = harness.rules.after(rule.id)
        shown = [
            ("rule", rule.id),
            ("status", standing(harness, rule)),
            ("text", rule.rule),
            ("rationale", rule.rationale or None),
            ("metric", rule.metric),
            ("tags", ", ".join(rule.tags) or "none: it is global and stands in every context"),
            ("added", f"{rule.created_at} by {rule.author or 'somebody'}"),
            ("notice", rule.source_notice_id),
            ("from the pool", rule.pool or None),
            ("reason", rule.reason or None),
            ("evidence", harness.evidence.line(rule) or None),
            ("since then", after.line if rule.status == "active" or after.last else None),
            ("digest", rule.digest),
        ]
        evidence = dict(harness.rules.evidence(rule.id))
        data = {"rule": value_of(harness, rule), "evidence": evidence, "after_promotion": after.as_json()}
        return Reply(data, facts(shown))


@verb("ruleproof rules search 'payment breach'", "ruleproof rules search refund --status retired")
def search(
    query: Annotated[str, typer.Argument(help="Words; tags count double.")],
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many.")] = 10,
    status: WithStatus = None,
) -> Reply:
    """Find rules by words, best first, and say why each was found."""
    with opened() as harness:
        statuses = (status,) if status else ("active", "candidate")
        found = harness.rules.ranked(query, limit=limit, statuses=statuses)
        rows = [(ranked.rule.id, ranked.rule.status, ranked.score, ranked.why, ranked.rule.rule) for ranked in found]
        data = [{**value_of(harness, ranked.rule), "score": ranked.score, "why": ranked.why} for ranked in found]
    text = table(("rule", "status", "score", "why", "text"), rows) if rows else "No rule has a word of that."
    return Reply({"rules": data}, text)


@verb(
    "ruleproof rules add 'Check the fare rules before a change.' --tag flights",
    "ruleproof rules add - < rule.txt",
)
def add(
    text: Annotated[str, typer.Argument(metavar="TEXT", help="One rule, in one sentence; - reads standard input.")],
    rationale: Annotated[str, typer.Option(help="Why it exists.")] = "",
    metric: Annotated[str | None, typer.Option(help="The metric that it is to improve.")] = None,
    tag: Annotated[list[str] | None, typer.Option(help="When it applies; none: always. May be repeated.")] = None,
    notice: Annotated[
        str | None, typer.Option(metavar="ID", help="The notice that it answers; gives tags too.")
    ] = None,
    again: Annotated[bool, typer.Option("--again", help="Try a text again that evidence retired.")] = False,
) -> Reply:
    """Add a rule.

    It starts as a candidate, unless rule_validation is off. A live rule of the same text is returned instead.
    """
    from ruleproof.engine.add_rule import Draft

    with opened(make=True) as harness:
        if text == "-":
            text = sys.stdin.buffer.read().decode("utf-8-sig", "replace")
        added = harness.rules.draft(Draft(text, rationale, notice, metric, tuple(tag or ()), "person", again))
        rule = added.rule
        said = (
            f"{rule.id} was added as {rule.status}."
            if added.created
            else f"{rule.id} says the same; nothing was added."
        )
        if not added.created and rule.held:
            said = (
                f"{rule.id} says the same and waits for a person: `ruleproof rules accept {rule.id}` puts it in force."
            )
        if added.redacted:
            said += f" Redacted before it was stored: {', '.join(added.redacted)}."
        data = {"rule": value_of(harness, rule), "created": added.created, "redacted": list(added.redacted)}
        warning = distrust(harness)
    return Reply(data, paragraph(said), notes=(warning,) if warning else ())


@verb("ruleproof rules retire r-9772c134b8 --reason 'a broader rule replaces it'")
def retire(rule_id: Id, reason: Annotated[str, typer.Option(help="Why; kept with the rule.")] = "") -> Reply:
    """Retire a rule.

    Retired is final; the text may be added anew.
    """
    with opened() as harness:
        rule = harness.rules.retire(rule_id, reason=reason)
        return Reply({"rule": value_of(harness, rule)}, f"{rule.id} is retired.")


@verb("ruleproof rules accept r-9772c134b8")
def accept(rule_id: Id) -> Reply:
    """Put a rule in force that an agent suggested (mode suggest)."""
    from ruleproof.engine.change_rule import accept as accept_rule

    with opened() as harness:
        rule = accept_rule(harness.workspace, rule_id)
        return Reply({"rule": value_of(harness, rule)}, f"{rule.id} is in force as {rule.status}.")


@verb("ruleproof rules recheck r-9772c134b8")
def recheck(rule_id: Id) -> Reply:
    """Judge an active rule once more, from nothing.

    It stays active meanwhile, and is kept or retired in the end. Where rule_holdout or rule_holdout_active is set,
    sessions that see it are compared with sessions from which it is withheld; otherwise a few fresh sessions are
    looked at, without a control.
    """
    with opened() as harness:
        rule = harness.rules.recheck(ids.rule_id(rule_id))
        after = harness.rules.after(rule.id)
        data = {"rule": value_of(harness, rule), "after_promotion": after.as_json()}
        return Reply(data, paragraph(f"{rule.id} stays active: {after.line}."))


@verb("ruleproof rules status r-9772c134b8")
def status(rule_id: Id) -> Reply:
    """Show how a rule's trial stands, and what that is worth."""
    from ruleproof.surfaces.cli.trial import one

    return one(rule_id)


@verb("ruleproof rules dead", "ruleproof rules dead --json")
def dead() -> Reply:
    """List live rules that no recorded context ever held.

    Only contexts that were composed for a session, or before its turn, are known. Approved pool rules are looked for
    in the notices that sessions were given.
    """
    from ruleproof.engine.dead import dead_pool_rules, dead_rules

    with opened() as harness:
        found = dead_rules(harness.workspace)
        trials = harness.workspace.trials
        sessions = trials.exposed_sessions
        unseen = dead_pool_rules(trials, harness.governance.approved) if trials.noticed_sessions else ()
    notes = (f"In none of {trials.noticed_sessions:,} recorded notices: {', '.join(unseen)}.",) if unseen else ()
    data = {
        "sessions": sessions,
        "dead": [{"rule_id": one.rule.id, "why": one.why} for one in found],
        "notices": trials.noticed_sessions,
        "dead_pool_rules": list(unseen),
    }
    if not sessions:
        said = "No context was recorded yet, so nothing is known: give `system_context` a session_id."
        return Reply(data, paragraph(said), Exit.UNCHECKED, notes=notes)
    if not found:
        said = f"Every live rule was shown in at least one of {sessions:,} sessions."
        return Reply(data, paragraph(said), notes=notes)
    rows = [(one.rule.id, one.rule.status, one.why, one.rule.rule) for one in found]
    head = paragraph(f"{len(found)} live rules were never shown in {sessions:,} recorded sessions.")
    return Reply(data, f"{head}\n\n{table(('rule', 'status', 'why', 'text'), rows)}", notes=notes)


@verb("ruleproof rules overlap", "ruleproof rules overlap --limit 5 --json")
def overlap(limit: Annotated[int, typer.Option(min=1, max=10_000, help="Show at most this many pairs.")] = 50) -> Reply:
    """Name rules that repeat or may contradict each other.

    Hints from words alone, for a person to judge; nothing changes. Opposites and negations are known in few languages.
    """
    from ruleproof.core.overlap import overlaps

    with opened() as harness:
        rules = [rule for rule in harness.rules.all() if rule.in_force]
    found = overlaps(rules)
    repeats = sum(pair.kind == "repeats" for pair in found.pairs)
    shown = found.pairs[:limit]
    data = {
        "rules": len(rules),
        "repeats": repeats,
        "may_contradict": len(found.pairs) - repeats,
        "unchecked": found.unchecked,
        "pairs": [
            {"kind": pair.kind, "first": pair.first.id, "second": pair.second.id, "similarity": pair.similarity}
            | {"why": pair.why}
            for pair in shown
        ],
    }
    said = f"Of {len(rules):,} rules in force: {len(found.pairs) - repeats:,} pairs may contradict, {repeats:,} repeat."
    if found.unchecked:
        said += f" {found.unchecked:,} pairs were not looked at: too many rules share the same words."
    if len(shown) < len(found.pairs):
        said += f" The first {len(shown):,} are shown (--limit)."
    parts = [paragraph(said)]
    for pair in shown:
        head = f"{pair.kind}, {pair.similarity:.0%} alike" + (f": {pair.why}" if pair.why else "")
        parts.append(f"{head}\n{facts([(rule.id, rule.rule) for rule in (pair.first, pair.second)])}")
    return Reply(data, "\n\n".join(parts))


COMMANDS: tuple[tuple[str, Verb], ...] = (
    ("list", list_),
    ("show", show),
    ("search", search),
    ("add", add),
    ("retire", retire),
    ("accept", accept),
    ("adopt", adopt),
    ("recheck", recheck),
    ("status", status),
    ("dead", dead),
    ("overlap", overlap),
)


def value_of(harness: Harness, rule: Rule) -> dict[str, object]:
    """A rule as JSON: its record, the trial as of now, and whether it is in force."""
    from dataclasses import replace

    from ruleproof.codec.records import rule_to
    from ruleproof.core.trial import TrialState

    harness.workspace.refresh_trials()
    trial = harness.workspace.trial_of(rule)
    known = None if rule.trial is None and trial == TrialState() else trial
    return {**rule_to(replace(rule, trial=known)), "in_force": in_force(harness, rule)}


def tags_of(rule: Rule) -> str:
    """The first tags of a rule, few enough to leave its text room."""
    return cut(one_line(", ".join(rule.tags)), TAGS) if rule.tags else "(all tasks)"


def in_force(harness: Harness, rule: Rule) -> bool:
    """Whether the rule may stand in a context of this process."""
    paused = harness.workspace.rulebook.all_paused or harness.config.pause
    return rule.in_force and harness.trust.trusted and not paused


def standing(harness: Harness, rule: Rule) -> str:
    """The status in one word or two: what keeps a live rule out of force is said."""
    if rule.live and rule.held:
        return f"{rule.status}, waits for a person"
    if rule.status == "active" and rule.trial is not None and rule.trial.recheck and not rule.trial.recheck.ended:
        return "active, recheck open"
    if rule.live and (rule.paused or harness.workspace.rulebook.all_paused or harness.config.pause):
        return f"{rule.status}, paused"
    return f"{rule.status}, not trusted" if rule.live and not harness.trust.trusted else rule.status
