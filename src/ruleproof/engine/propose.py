"""Propose: write one rule file that binds nothing, or refuse with figures. The same for a person and for an agent."""

from __future__ import annotations

from dataclasses import dataclass

from ruleproof.core.draft import Checked, Draft, check
from ruleproof.core.proposal import Proposal, place
from ruleproof.engine.desk import Desk
from ruleproof.errors import NotFound, StoreError


@dataclass(frozen=True, slots=True)
class Proposed:
    """The rule that stands now; `created`: False where a file said exactly this before."""

    rule: Proposal
    created: bool
    checked: Checked


def propose(desk: Desk, draft: Draft) -> Proposed:
    """Write the draft as a new file of this machine's own. Raises Refused, NotFound or StoreError; then nothing was."""
    check(draft, desk.cap, desk.count)  # refused before anything is made, even a harness id
    others = desk.rules()
    own = desk.make_own()
    found: list[tuple[Checked, Proposal | None]] = []

    def make(number: int, mine: tuple[Proposal, ...]) -> Proposal | None:
        known = {rule.place.path: rule for rule in (*others, *mine)}
        made = check(draft, desk.cap, desk.count, known.values())
        if made.draft.amends and not any(rule.id == made.draft.amends for rule in known.values()):
            raise NotFound(f"{made.draft.amends}, which is to be amended, is not a rule of this project.")
        found.append((made, next((rule for rule in known.values() if rule.id == made.same), None)))
        if made.same:
            return None
        return made.proposal(place(desk.key, own, number, made.draft.category, made.title), desk.at())

    written = desk.files.create(desk.key, own, make, desk.taken())
    checked, same = found[-1]
    rule = written or same
    if rule is None:
        raise StoreError(
            "The rule file that was just written cannot be read.", hint="Look at it with `ruleproof doctor`."
        )
    return Proposed(rule, written is not None, checked)
