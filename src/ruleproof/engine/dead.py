"""Live rules that never reached anybody: they cost their place and can do neither good nor harm."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Literal

from ruleproof.core.proposal import Proposal
from ruleproof.core.rule import Rule
from ruleproof.core.trial import Exposure, TrialFold
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import RuleproofError

Why = Literal["never eligible", "never shown"]
"""`never eligible`: no context would have held it; `never shown`: it was withheld wherever it would have stood."""


@dataclass(frozen=True, slots=True)
class Dead:
    """One rule without any reach."""

    rule: Rule
    why: Why


def dead_rules(workspace: Workspace) -> tuple[Dead, ...]:
    """The live rules that no recorded context held, oldest first. All of them where no context was recorded."""
    reach = workspace.refresh_trials().reach
    book = workspace.refresh()
    found = []
    for rule in book.all():
        counts: Mapping[Exposure, int] = reach.get(rule.id, {})
        if rule.live and not counts.get("shown") and not counts.get("assumed"):
            found.append(Dead(rule, "never shown" if counts.get("withheld") else "never eligible"))
    return tuple(found)


def dead_pool_rules(trials: TrialFold, approved: Callable[[], Sequence[Proposal]]) -> tuple[str, ...]:
    """Ids of the pool rules in force here that stood in no recorded notice; none where they cannot be read."""
    with suppress(RuleproofError):
        return tuple(rule.id for rule in approved() if not trials.pool_reach[rule.id])
    return ()
