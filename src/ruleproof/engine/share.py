"""Instruction files of other systems become proposals, piece by piece; what is in force can be printed for them.

Nothing is cut to fit and nothing is left out in silence: a piece that may not be written is named with the reason.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from ruleproof.codec.rulefile import front_matter
from ruleproof.core.corerules import HEADING, entry, entry_of
from ruleproof.core.draft import Draft, check
from ruleproof.core.importing import split_text
from ruleproof.core.problems import Problem
from ruleproof.core.proposal import title_of
from ruleproof.core.rule import Rule
from ruleproof.engine.desk import Desk
from ruleproof.engine.notice import core_rules
from ruleproof.engine.propose import propose
from ruleproof.errors import Refused

MAX_TOPIC, MAX_TOPICS = 48, 16
Outcome = Literal["proposed", "would-propose", "same", "refused"]
Target = Literal["agents-md", "claude-md", "cursor"]
TARGETS: tuple[Target, ...] = ("agents-md", "claude-md", "cursor")


@dataclass(frozen=True, slots=True)
class Piece:
    """What became of one piece of a file. `rule`: the id that was given, or of the rule that says the same."""

    source: str
    title: str
    outcome: Outcome
    rule: str = ""
    tokens: int = 0
    near: tuple[str, ...] = ()
    reason: str = ""


def import_file(
    desk: Desk, source: str, data: bytes, category: str, *, write: bool
) -> tuple[tuple[Piece, ...], tuple[Problem, ...]]:
    """Propose what stands in a file, or say what that would be. `source`: its path, kept as provenance.

    Returns the pieces, and what is odd about its front matter. A file that is no UTF-8, that holds a merge conflict or
    whose front matter never ends is refused whole, with the line.
    """
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        return (Piece(source, "", "refused", reason=f"Line {line} is not UTF-8 (byte {error.start})."),), ()
    _, body, problems = front_matter(text, source)
    fatal = [problem for problem in problems if problem.code in ("conflict-marker", "open-front-matter")]
    if fatal:
        return (Piece(source, "", "refused", reason=str(fatal[0])),), ()
    room = desk.cap - desk.count(HEADING)
    label = f"{desk.own()}/0000"
    pieces = split_text(body, lambda part: desk.count(entry_of(label, category, part)) <= room)
    return tuple(_piece(desk, source, part, category, write) for part in pieces), problems


def _piece(desk: Desk, source: str, text: str, category: str, write: bool) -> Piece:
    draft = Draft(category, text, source, "import")
    title = title_of(text)
    try:
        if write:
            made = propose(desk, draft)
            checked, rule = made.checked, made.rule.id
            outcome: Outcome = "proposed" if made.created else "same"
        else:
            checked = check(draft, desk.cap, desk.count, desk.rules(), rule_id=f"{desk.own()}/001")
            rule, outcome = checked.same, "same" if checked.same else "would-propose"
    except Refused as refused:
        return Piece(source, title, "refused", reason=f"{refused.message} {refused.hint}".strip())
    return Piece(source, title, outcome, rule, checked.tokens, tuple(near for near, _ in checked.near))


def learned(rule: Rule, evidence: Mapping[str, object], category: str) -> Draft:
    """A learned rule as a draft for the pool, its evidence as a claim. Raises Refused unless it earned `active`."""
    if rule.status != "active":
        raise Refused(
            f"{rule.id} is {rule.status}; only an active rule is proposed to others with its evidence.",
            hint=f"`ruleproof trial {rule.id}` shows how its trial stands.",
        )
    topics = tuple(tag for tag in rule.tags if len(tag) <= MAX_TOPIC)[:MAX_TOPICS]
    claim = {"rule": rule.id, "text_sha256": rule.digest, **evidence}
    return Draft(category, rule.rule, rule.source_notice_id or "manual", "learned", topics, evidence=claim)


def exported(desk: Desk, target: Target) -> str:
    """The rules in force here, as the file of another system has them; "" where there is none.

    Raises Refused, with figures, over the budget.
    """
    block = core_rules(desk)
    if block is None:
        return ""
    rules = {rule.id: rule for rule in desk.in_force()}
    texts = "\n\n".join(entry(rules[rule]) for rule, _ in block.per_rule if rule in rules)
    return f"{export_head(target)}\n{texts}"


def export_head(target: Target) -> str:
    """How every export begins: by this a file is known to be one."""
    head = "---\ndescription: Rules approved on this machine\nalwaysApply: true\n---\n" if target == "cursor" else ""
    return f"{head}# Rules approved on this machine\n"
