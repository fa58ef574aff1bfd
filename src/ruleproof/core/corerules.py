"""The CORE RULES block: approved texts, verbatim, inside a continuation notice, or a refusal with figures; never a cut.

No rule in force: no block, zero bytes. A one-line text stands after its label; of a longer one every line, whatever the
line break, is prefixed by two spaces, so that nothing in it can begin a line of the notice; `unprefix` gives the exact
text back.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

from ruleproof.core.proposal import MAX_CATEGORY, Proposal, category_of
from ruleproof.errors import Refused

HEADING = "## CORE RULES (approved for this project — follow them)"
SETTING = "coreRulesBudgetTokens"
BREAK = re.compile("\r\n|[\n\r\v\f\x1c\x1d\x1e\x85\u2028\u2029]")
"""A line break for any reader: the eleven of Unicode and the three separators that Python splits at, too."""

MAX_SETS = 3
MAX_STEPS = 10_000
MAX_SIZE = 50
_PREFIXED = re.compile(f"({BREAK.pattern})  ")
_NOT_IN_CATEGORY = re.compile(r"[^\w./+#-]+")

Count = Callable[[str], int]
"""Text -> tokens, exact or never below."""


@dataclass(frozen=True, slots=True)
class Block:
    """A block that fits. `tokens` is the heading and every entry; `per_rule`: (id, tokens of its entry)."""

    text: str
    tokens: int
    cap: int
    per_rule: tuple[tuple[str, int], ...]


@dataclass(frozen=True, slots=True)
class OverBudget:
    """Nothing was composed: the approved rules hold more tokens than the cap."""

    tokens: int
    cap: int
    per_rule: tuple[tuple[str, int], ...]
    cheapest: tuple[tuple[str, ...], ...]
    """Sets of ids whose revocation would fit: as few rules as possible, then as few tokens; the best first."""
    exact: bool = True
    """False: the search ended early; fewest rules still holds, fewest tokens may not."""

    @property
    def heading(self) -> int:
        """Tokens of the heading, which stands once however many rules there are."""
        return self.tokens - sum(tokens for _, tokens in self.per_rule)

    def refusal(self) -> Refused:
        """The refusal, the same on every surface: total, cap, a figure for each rule, and what to revoke."""
        figures = ", ".join(f"{name}={tokens}" for name, tokens in (("heading", self.heading), *self.per_rule))
        sets = "; or ".join(" + ".join(rules) for rules in self.cheapest)
        return Refused(
            f"The core rules hold {self.tokens} tokens, {SETTING} is {self.cap}: {figures}. Rules are never clipped, "
            "so nothing was composed.",
            hint=f"Revoke {sets}; or raise {SETTING}.",
        )


def compose(rules: Iterable[Proposal], cap: int, count: Count) -> Block | OverBudget | None:
    """The block of `rules`, all of which the caller found in force; None where there is none.

    Sorted by category, then writer and number. `cap` in tokens; equal to the cap passes.
    """
    entries = [(rule, entry(rule)) for rule in sorted(rules, key=_order)]
    if not entries:
        return None
    per_rule = tuple((rule.id, count(text)) for rule, text in entries)
    total = count(HEADING) + sum(tokens for _, tokens in per_rule)
    if total > cap:
        sets, exact = cheapest_sets(per_rule, total - cap)
        return OverBudget(total, cap, per_rule, sets, exact)
    return Block("\n".join([HEADING, "\n\n".join(text for _, text in entries)]), total, cap, per_rule)


def entry(rule: Proposal) -> str:
    """The rule as it stands in the block: its label and its text."""
    return entry_of(rule.id, rule.category, rule.text)


def entry_of(rule_id: str, category: str, text: str) -> str:
    """What the rule with that id, category and text puts into the block: what its tokens are counted over."""
    label = f"[{rule_id}] ({shown_category(category)})"
    return f"{label}\n{prefix(text)}" if BREAK.search(text) else f"{label} {text}"


def _order(rule: Proposal) -> tuple[str, str, int, str]:
    return shown_category(rule.category), rule.place.harness, rule.place.number, rule.place.name


def shown_category(text: str) -> str:
    """A category that cannot leave its brackets: what `category_of` refuses is reduced to its letters and digits."""
    try:
        return category_of(text)
    except Refused:
        return _NOT_IN_CATEGORY.sub("-", text.casefold())[:MAX_CATEGORY].strip("-.") or "general"


def prefix(text: str) -> str:
    """`text` with two spaces before every line."""
    return "  " + BREAK.sub(lambda found: found.group() + "  ", text)


def unprefix(text: str) -> str:
    """The exact text that `prefix` was given."""
    return _PREFIXED.sub(r"\1", text.removeprefix("  "))


def cheapest_sets(per_rule: Sequence[tuple[str, int]], excess: int) -> tuple[tuple[tuple[str, ...], ...], bool]:
    """Up to three sets of ids that hold at least `excess` tokens, and whether the search was exhaustive.

    As few rules as possible; among those, as few tokens as possible. Branch and bound over the rules sorted
    by tokens: the best that a branch can still reach is a run of neighbours, so most branches end at once.
    """
    rules = sorted(per_rule, key=lambda item: (-item[1], item[0]))
    sums = [0]
    for _, tokens in rules:
        sums.append(sums[-1] + tokens)
    if sums[-1] < excess:
        return (tuple(sorted(rule for rule, _ in rules)),), True
    size = next(size for size in range(len(sums)) if sums[size] >= excess)
    if size > MAX_SIZE:
        return (tuple(sorted(rule for rule, _ in rules[:size])),), False
    best: list[tuple[int, tuple[str, ...]]] = []
    steps = 0

    def visit(start: int, left: int, held: int, chosen: tuple[int, ...]) -> None:
        nonlocal steps
        steps += 1
        if left == 0:
            best.append((held, tuple(sorted(rules[index][0] for index in chosen))))
            best.sort()
            del best[MAX_SETS:]
            return
        for index in range(len(rules) - left, start - 1, -1):
            most = held + sums[index + left] - sums[index]
            least = held + rules[index][1] + sums[-1] - sums[len(rules) - left + 1]
            full = len(best) == MAX_SETS
            if most < excess:
                continue
            if (full and least >= best[-1][0]) or (steps > MAX_STEPS and best):
                break
            visit(index + 1, left - 1, held + rules[index][1], (*chosen, index))

    visit(0, size, 0, ())
    return tuple(ids for _, ids in best), steps <= MAX_STEPS
