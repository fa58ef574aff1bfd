"""What a person sees before deciding: every pool rule with where it stands here, and what approving it would cost.

For people only: it shows rules that nobody approved. What an agent may see is asked of `core.approval`.
"""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ruleproof.core.approval import SHORT, Approvals, Standing
from ruleproof.core.corerules import HEADING, Block, OverBudget, compose, entry
from ruleproof.core.problems import Problem
from ruleproof.core.proposal import Proposal
from ruleproof.core.rulecheck import superseded
from ruleproof.core.rulecommand import Listing
from ruleproof.core.rulelint import signs
from ruleproof.core.text import one_line

Count = Callable[[str], int]


@dataclass(frozen=True, slots=True)
class Row:
    """One rule as a person reviews it. All texts are one line and safe to print; the rule itself is `rule.text`."""

    rule: Proposal
    standing: Standing
    category: str
    title: str
    provenance: str
    """Who, from where, when, as the file claims."""
    digest: str
    """The first digits, to be typed on approval."""
    tokens: int
    """Of its entry in the block."""
    evidence: str
    """`none`, or the file's claim."""
    signs: tuple[Problem, ...]
    budget: str = ""
    """Of a rule that is not in force: what approving it would make of the block."""
    problems: tuple[Problem, ...] = ()
    """What its file claims and is not so: another SHA-256, a status."""

    @property
    def id(self) -> str:
        return self.rule.id


def rows(
    rules: Iterable[Proposal],
    approvals: Approvals,
    count: Count,
    asked: Listing,
    disputed: Collection[str] = (),
    *,
    cap: int = 0,
    problems: Iterable[Problem] = (),
) -> tuple[Row, ...]:
    """The rows that `asked` selects, by writer and number. `cap`: of the block; `problems`: of reading the files."""
    found = []
    rules = list(rules)
    budget = Budget.of(approvals.select(rules, disputed), cap, count)
    named: dict[str, list[Problem]] = {}
    for problem in problems:
        named.setdefault(file_of(problem), []).append(problem)
    for rule in sorted(rules, key=lambda rule: (rule.place.harness, rule.place.number, rule.place.name)):
        standing = approvals.standing(rule, disputed)
        if asked.category and rule.category.casefold() != asked.category:
            continue
        if asked.proposed and standing in ("core", "revoked"):
            continue
        if standing == "revoked" and not asked.everything:
            continue
        row = _row(rule, standing, count)
        after = "" if standing == "core" else budget.says(row, superseded(rule, approvals))
        found.append(replace(row, budget=after, problems=tuple(named.get(rule.place.path, ()))))
    return tuple(found)


def file_of(problem: Problem) -> str:
    """The path in the place of a complaint about a file, with or without its line."""
    path, _, line = problem.where.rpartition(":")
    return path if path and line.isdigit() else problem.where


@dataclass(frozen=True, slots=True)
class Budget:
    """The block as it is: tokens of each rule in it, and of its heading."""

    entries: Mapping[str, int]
    heading: int
    cap: int

    @classmethod
    def of(cls, in_force: Iterable[Proposal], cap: int, count: Count) -> Budget:
        """`in_force`: the rules in the block."""
        return cls({rule.id: count(entry(rule)) for rule in in_force}, count(HEADING), cap)

    def tokens(self, *without: str) -> int:
        """Of the block, less the rules of these ids; 0: no block."""
        kept = [tokens for rule, tokens in self.entries.items() if rule not in without]
        return self.heading + sum(kept) if kept else 0

    def says(self, row: Row, old: str = "") -> str:
        """What approving the row would make of it. `old`: a rule in force that it amends, or ""."""
        kept = self.tokens(row.id)
        after = (kept or self.heading) + row.tokens
        text = f"{self.tokens()} -> {after} of {self.cap} tokens"
        if old in self.entries:
            after = (self.tokens(row.id, old) or self.heading) + row.tokens
            text += f", {after} without {old}, which it amends"
        return text + (": over the budget" if after > self.cap else "")


def _row(rule: Proposal, standing: Standing, count: Count) -> Row:
    who = {"agent": "an agent", "import": "an import", "learned": "a learned rule", "untrusted": "UNTRUSTED text"}
    parts = [rule.place.harness, who.get(rule.origin, "a person" if rule.origin == "person" else "unknown")]
    parts += [text for text in (rule.source, rule.authored_at, f"amends {rule.amends}" if rule.amends else "") if text]
    return Row(
        rule=rule,
        standing=standing,
        category=one_line(rule.category, 40),
        title=one_line(rule.title or rule.text, 60),
        provenance=one_line(", ".join(parts), 200),
        digest=rule.digest[:SHORT],
        tokens=count(entry(rule)),
        evidence=evidence_line(rule.evidence),
        signs=signs(rule.text),
    )


def evidence_line(evidence: Mapping[str, object]) -> str:
    """A claim of evidence as one line; `none` where there is none."""
    return one_line(", ".join(f"{key}={value}" for key, value in evidence.items()), 300) or "none"


@dataclass(frozen=True, slots=True)
class Plan:
    """What the block would be after a decision: `before` and `after` in tokens, 0 = no block."""

    before: int
    after: int
    cap: int
    refusal: OverBudget | None

    @property
    def says(self) -> str:
        return f"core rules: {self.before} -> {self.after} of {self.cap} tokens"


def plan(in_force: Sequence[Proposal], cap: int, count: Count, *, add: Proposal | None = None, drop: str = "") -> Plan:
    """What approving `add` and revoking the id `drop` would make of the block; nothing is decided."""
    kept = [rule for rule in in_force if rule.id != drop and (add is None or rule.id != add.id)]
    before = compose(in_force, cap, count)
    after = compose([*kept, add] if add else kept, cap, count)
    return Plan(_tokens(before), _tokens(after), cap, after if isinstance(after, OverBudget) else None)


def _tokens(block: Block | OverBudget | None) -> int:
    return block.tokens if block else 0
