"""fold(records) -> Rulebook: every rule by id, what is live, what is wrong. Total: nothing on disk makes it raise.

The latest legal record of an id wins. Retired is final, so a stale writer cannot bring a rule back. An unknown status
takes the rule out of force. The fold advances record by record and keeps counts, so a question about the whole book
costs no walk over it.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from operator import attrgetter

from ruleproof.core.lifecycle import may_follow
from ruleproof.core.problems import Problem
from ruleproof.core.rule import Rule, Status
from ruleproof.core.text import normalise


@dataclass(frozen=True, slots=True)
class PauseAll:
    """Takes every rule out of force, or back."""

    paused: bool
    at: str = ""


@dataclass(frozen=True, slots=True)
class Tombstone:
    """What is left of a forgotten text: its digest, who is gone, why and when."""

    id: str
    digest: str
    reason: str
    at: str


Record = Rule | PauseAll | Tombstone
_age = attrgetter("created_at", "id")
MAX_PROBLEMS = 1000
RECENT = 256


class Rulebook:
    """All rules of one workspace, folded. `version` grows with every record that changed anything."""

    def __init__(self) -> None:
        self.rules: dict[str, Rule] = {}
        self.problems: list[Problem] = []
        self.tombstones: dict[str, Tombstone] = {}
        self.all_paused = False
        self.version = 0
        self.active_version = 0
        """Grows with every record that changed an active rule, or which rules are active."""
        self.recent: deque[tuple[Rule, Status | None]] = deque(maxlen=RECENT)
        """The file's last rule records, each with the status before it: only their journal events can be missing."""
        self._candidates: dict[str, Rule] = {}
        self._active: dict[str, Rule] = {}
        self._checked: dict[str, Rule] = {}
        self._normal: dict[str, str] | None = None
        self._rejected: dict[str, str] | None = None
        self._watchers: list[Callable[[Rule | None, Rule], None]] = []

    def watch(self, watcher: Callable[[Rule | None, Rule], None]) -> None:
        """Call `watcher(before, after)` for each later change of a rule (an index that follows along)."""
        self._watchers.append(watcher)

    def complain(self, problem: Problem) -> None:
        """Keep a problem of the file; the first thousand are kept, the last of them says that there are more."""
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    def feed(self, record: Record, where: str = "") -> None:
        """Fold one record in."""
        if isinstance(record, Rule):
            self._feed_rule(record, where)
        elif isinstance(record, PauseAll):
            self.all_paused = record.paused
            self.version += 1
        else:
            self.tombstones[record.id] = record

    def _feed_rule(self, rule: Rule, where: str) -> None:
        before = self.rules.get(rule.id)
        if rule.status == "unknown":
            self.complain(
                Problem("unknown-status", f"rule {rule.id} has an unknown status; it is not in force", where),
            )
            if before is not None and before.status == "retired":
                return
        elif not may_follow(before.status if before else None, rule.status):
            self.complain(_illegal(before, rule, where))
            return
        elif before is not None and before.rule != rule.rule:
            self.complain(
                Problem(
                    "changed-text",
                    f"rule {rule.id} came back with another text, which would be a new rule; the record has no effect",
                    where,
                ),
            )
            return
        self._put(before, rule)

    def _put(self, before: Rule | None, rule: Rule) -> None:
        self.rules[rule.id] = rule
        self.recent.append((rule, before.status if before else None))
        self.version += 1
        if before is not None:
            self._candidates.pop(rule.id, None)
            self.active_version += self._active.pop(rule.id, None) is not None
            self._checked.pop(rule.id, None)
        if rule.status == "candidate":
            self._candidates[rule.id] = rule
        elif rule.status == "active":
            self._active[rule.id] = rule
            self.active_version += 1
            trial = rule.trial
            if trial is not None and (trial.watch or trial.recheck) and trial.comparison is not None:
                self._checked[rule.id] = rule
        if self._normal is not None:
            self._remember(rule)
        for watcher in self._watchers:
            watcher(before, rule)

    # --- questions -------------------------------------------------------------------------------------------------

    def __len__(self) -> int:
        return len(self.rules)

    def get(self, rule_id: str) -> Rule | None:
        """The rule, whatever its status."""
        return self.rules.get(rule_id)

    def all(self) -> list[Rule]:
        """Every rule by (created_at, id)."""
        return sorted(self.rules.values(), key=_age)

    @property
    def live_count(self) -> int:
        """Active and candidate."""
        return len(self._candidates) + len(self._active)

    def candidates(self) -> list[Rule]:
        """By (created_at, id)."""
        return sorted(self._candidates.values(), key=_age)

    def active(self) -> list[Rule]:
        """By (created_at, id)."""
        return sorted(self._active.values(), key=_age)

    def checked(self) -> list[Rule]:
        """Active rules that are watched or rechecked, by id."""
        return sorted(self._checked.values(), key=attrgetter("id")) if self._checked else []

    def live_twin(self, text: str) -> Rule | None:
        """The live rule whose normalised text is that of `text`."""
        found = self._index()[0].get(normalise(text))
        return self.rules[found] if found else None

    def rejected_twin(self, text: str) -> Rule | None:
        """The rule of the same normalised text that evidence retired, if any."""
        found = self._index()[1].get(normalise(text))
        return self.rules[found] if found else None

    def _index(self) -> tuple[Mapping[str, str], Mapping[str, str]]:
        if self._normal is None or self._rejected is None:
            self._normal, self._rejected = {}, {}
            for rule in self.all():
                self._remember(rule)
        return self._normal, self._rejected

    def _remember(self, rule: Rule) -> None:
        assert self._normal is not None and self._rejected is not None
        key = normalise(rule.rule)
        if rule.live:
            self._normal.setdefault(key, rule.id)
            return
        if self._normal.get(key) == rule.id:
            del self._normal[key]
        if retired_by_evidence(rule):
            self._rejected[key] = rule.id


def retired_by_evidence(rule: Rule) -> bool:
    """Whether a verdict of its trial or of a recheck, and not a person's or an agent's wish, retired the rule."""
    if rule.status != "retired" or rule.trial is None:
        return False
    verdicts = rule.trial.verdict, rule.trial.recheck.verdict if rule.trial.recheck is not None else ""
    return any(verdict.startswith("retired:") for verdict in verdicts)


def _illegal(before: Rule | None, rule: Rule, where: str) -> Problem:
    was = before.status if before else "nothing"
    return Problem(
        "illegal-move", f"rule {rule.id}: {rule.status} cannot follow {was}; the record has no effect", where
    )
