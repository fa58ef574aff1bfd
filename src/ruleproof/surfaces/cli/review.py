"""`ruleproof review`: what waits for a decision, with what a person needs to decide; in a terminal one by one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from ruleproof.errors import Refused, RuleproofError
from ruleproof.surfaces.cli.approve import settle
from ruleproof.surfaces.cli.governing import governed, require_decider, shown, unread, value_of
from ruleproof.surfaces.cli.layout import heading, paragraph
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.core.review import Budget, Row
    from ruleproof.engine.approve import Showing
    from ruleproof.governance import Governance

QUESTION = "Type the digest (8 digits will do) to approve it, Enter to leave it for later, q to stop"
HOW = "`ruleproof review` in a terminal goes through them one by one; `ruleproof approve ID` decides about one."


@verb("ruleproof review", "ruleproof review --all --category security")
def review(
    out: Output,
    all_: Annotated[
        bool, typer.Option("--all", help="List rules in force and revoked ones, too; ask nothing.")
    ] = False,
    category: Annotated[str, typer.Option(help="Only rules of this category.")] = "",
) -> Reply:
    """Go through the pool rules that wait for a decision.

    Text, digest, tokens, where each comes from, its evidence, what looks odd, the budget now and after it. In a
    terminal you decide about one after the other, as with `ruleproof approve`; elsewhere they are listed. It is for
    people: a proposed rule reaches no prompt.
    """
    from ruleproof.core.rulecommand import Listing

    governance = governed()
    rows = governance.review(Listing(not all_, all_, category.casefold()))
    notes = unread(governance)
    if rows and out.interactive and not all_:
        try:
            require_decider(out, governance, "approve")
        except Refused as refused:
            notes = (*notes, str(refused))
        else:
            return _one_by_one(out, governance, rows, notes)
    budget = _budget(governance)
    data = {
        "project": governance.project.key,
        "canonical": governance.project.canonical,
        "tokens": budget.tokens(),
        "heading": budget.heading,
        "cap": budget.cap,
        "rules": [value_of(row) for row in rows],
        "unreadable": list(notes),
    }
    if not rows:
        return Reply(data, f"{'No pool rule to show' if all_ else 'Nothing waits for a decision'}.", notes=notes)
    how = () if all_ else (paragraph(HOW),)
    return Reply(data, "\n\n".join([*map(shown, rows), *how]), notes=notes)


def _budget(governance: Governance) -> Budget:
    from ruleproof.core.review import Budget

    desk = governance.desk
    return Budget.of(desk.in_force(), desk.cap, desk.count)


def _one_by_one(out: Output, governance: Governance, rows: Sequence[Row], notes: Sequence[str]) -> Reply:
    approved: list[str] = []
    for note in notes:
        out.note(note)
    for number, row in enumerate(rows, 1):
        out.note(heading(f"{number} of {len(rows)}"))
        try:
            showing = governance.show(row.id)
            out.note(shown(showing.row))
            _require_possible(governance, showing)
        except RuleproofError as error:
            out.note(f"It cannot be approved: {error}")
            continue
        answer = _decided(out, governance, showing)
        if answer is None:
            break
        approved += [row.id] if answer else []
    budget = _budget(governance)
    said = f"{len(approved)} approved, {len(rows) - len(approved)} left. The core rules hold {budget.tokens()} of "
    return Reply({"approved": approved, "waiting": len(rows) - len(approved)}, f"{said}{budget.cap} tokens.")


def _require_possible(governance: Governance, showing: Showing) -> None:
    from ruleproof.core.approval import require_approvable

    require_approvable(showing.row.rule, governance.desk.disputed())
    if showing.decisive.refusal is not None:
        raise showing.decisive.refusal.refusal()


def _decided(out: Output, governance: Governance, showing: Showing) -> bool | None:
    """Whether the rule was approved; None: the person stops here."""
    while True:
        typed = str(typer.prompt(QUESTION, default="", show_default=False, err=True)).strip()
        if typed.casefold() in ("", "q"):
            return None if typed else False
        try:
            out.note(paragraph(settle(governance, showing, governance.decision(showing.row.rule.digest, typed))))
        except Refused as refused:
            out.note(str(refused))
        else:
            return True
