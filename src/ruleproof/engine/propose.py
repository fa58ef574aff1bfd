"""Propose: write one rule file that binds nothing, or refuse with figures. The same for a person and for an agent."""

from __future__ import annotations

from dataclasses import dataclass

from ruleproof.codec.rulefile import read_rule, write_rule
from ruleproof.core.draft import Checked, Draft, check
from ruleproof.core.proposal import Proposal, place
from ruleproof.engine.desk import Desk
from ruleproof.errors import NotFound, Refused, StoreError


@dataclass(frozen=True, slots=True)
class Proposed:
    """The rule that stands now; `created`: False where a file said exactly this before."""

    rule: Proposal
    created: bool
    checked: Checked


def propose(desk: Desk, draft: Draft) -> Proposed:
    """Write the draft as a new file of this machine's own. Raises Refused, NotFound or StoreError; then nothing was."""
    first = f"{desk.own()}/001"
    check(draft, desk.cap, desk.count, rule_id=first)  # refused before anything is made, even a harness id
    others = desk.rules()
    own = desk.make_own()
    found: list[tuple[Checked, Proposal | None]] = []

    def make(number: int, mine: tuple[Proposal, ...]) -> Proposal | None:
        known = {rule.place.path: rule for rule in (*others, *mine)}
        made = check(draft, desk.cap, desk.count, known.values(), rule_id=f"{own}/{number:03d}")
        if made.draft.amends and not any(rule.id == made.draft.amends for rule in known.values()):
            raise NotFound(f"{made.draft.amends}, which is to be amended, is not a rule of this project.")
        found.append((made, next((rule for rule in known.values() if rule.id == made.same), None)))
        if made.same:
            return None
        rule = made.proposal(place(desk.key, own, number, made.draft.category, made.title), desk.at())
        _require_readable(rule)
        return rule

    written = desk.files.create(desk.key, own, make, desk.taken())
    checked, same = found[-1]
    rule = written or same
    if rule is None:
        raise StoreError(
            "The rule file that was just written cannot be read.", hint="Look at it with `ruleproof doctor`."
        )
    return Proposed(rule, written is not None, checked)


def _require_readable(rule: Proposal) -> None:
    """Raises Refused for a text whose file would not be read as it: what is written is read first."""
    read, problems = read_rule(rule.place, write_rule(rule))
    if read is None or read.text != rule.text or not read.intact:
        why = f": {problems[0].message}" if problems else ""
        raise Refused(
            f"The text makes a rule file that cannot be read{why}.",
            hint="Say it in other words, or indent such a line; nothing was written.",
        )
