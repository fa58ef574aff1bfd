"""The rules of one workspace, for programs: add, list, search, retire, and what became of notices since."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import get_args

from ruleproof.core import ids
from ruleproof.core.retrieval import Ranked
from ruleproof.core.rule import Rule, Status
from ruleproof.core.trial import TrialState
from ruleproof.engine import change_rule
from ruleproof.engine.add_rule import Added, Author, Draft, Limits, add_rule
from ruleproof.engine.compose import Composer
from ruleproof.engine.evidence import Evidence
from ruleproof.engine.recheck import After, Rechecks, RecheckSettings
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import NotFound, Refused

LIVE = ("active", "candidate")
KNOWN = get_args(Status)


@dataclass(frozen=True, slots=True)
class Effect:
    """Notices of a rule's metric (of any, where it names none) journaled before the rule was added, and since."""

    metric: str | None
    status: str
    created_at: str
    notices_before: int
    notices_after: int


class Rules:
    """`harness.rules`."""

    def __init__(
        self,
        workspace: Workspace,
        composer: Composer,
        limits: Limits,
        evidence: Evidence | None = None,
        session: Callable[[], str | None] = lambda: None,
        rechecks: Rechecks | None = None,
    ) -> None:
        self._workspace, self._composer, self._limits, self._session = workspace, composer, limits, session
        self._evidence = evidence or Evidence(workspace)
        self._rechecks = rechecks or Rechecks(workspace, RecheckSettings())

    def add(
        self,
        rule: str,
        rationale: str = "",
        *,
        metric: str | None = None,
        tags: Sequence[str] = (),
        source_notice_id: str | None = None,
        author: Author = "person",
        again: bool = False,
    ) -> Rule:
        """Add a rule and return it, or the live rule of the same text.

        Raises Refused (no text, too long, invisible characters, retired by evidence before), CapReached, StoreError.
        """
        return self.draft(Draft(rule, rationale, source_notice_id, metric, tags, author, again)).rule

    def draft(self, draft: Draft) -> Added:
        """Like `add`, and says whether the rule is new and what was redacted."""
        return add_rule(self._workspace, draft, self._limits, self._session())

    @property
    def validating(self) -> bool:
        """Whether a rule that is added now is on trial."""
        return self._limits.validation

    def retire(self, rule_id: str, *, reason: str = "", author: Author = "person") -> Rule:
        """Retire a live rule. Raises NotFound or Refused."""
        return change_rule.retire(self._workspace, rule_id, reason, author)

    def pause(self, rule_id: str) -> Rule:
        """Take a live rule out of force at the next compose; journaled. Raises NotFound or Refused."""
        return change_rule.pause(self._workspace, rule_id, True)

    def resume(self, rule_id: str) -> Rule:
        """Put a paused rule back in force."""
        return change_rule.pause(self._workspace, rule_id, False)

    def pause_all(self) -> None:
        """Take every rule out of force at the next compose; journaled."""
        change_rule.pause_all(self._workspace, True)

    def resume_all(self) -> None:
        """Put every rule back that is not paused by itself."""
        change_rule.pause_all(self._workspace, False)

    def accept(self, rule_id: str) -> Rule:
        """Put a rule in force that an agent suggested (mode `suggest`): a person's act. Raises NotFound or Refused."""
        return change_rule.accept(self._workspace, rule_id)

    def recheck(self, rule_id: str) -> Rule:
        """Open a recheck of an active rule; it stays active meanwhile. Raises NotFound or Refused."""
        return self._rechecks.open(rule_id)

    def after(self, rule_id: str) -> After:
        """How a rule stands since its promotion: whether it is monitored or rechecked, and the figures so far."""
        return self._rechecks.after(self.get(rule_id))

    def get(self, rule_id: str) -> Rule:
        """One rule, whatever its status. Raises NotFound."""
        rule = self._workspace.refresh().get(rule_id)
        if rule is None:
            raise NotFound(f"There is no rule {rule_id}.", hint="`ruleproof rules list --all` shows every id.")
        return rule

    def trial(self, rule_id: str) -> TrialState:
        """The rule's trial as of now, with the sessions that do not count and why. Raises NotFound."""
        rule = self.get(rule_id)
        with self._workspace.mutex:
            return self._workspace.refresh_trials().in_detail(rule.id, rule.metric, rule.trial)

    def evidence(self, rule_id: str) -> Mapping[str, object]:
        """What the rule's verdict rests on, or would rest on now: arms, effect, interval, chance, grade. JSON values;
        empty for a rule that was never judged. Raises NotFound.
        """
        return self._evidence.of(self.get(rule_id))

    def sessions_needed(self, rule_id: str) -> int:
        """How many sessions the rule's trial needs in all; under the anytime policy a forecast. Raises NotFound."""
        rule = self.get(rule_id)
        return self._evidence.needed(rule, self.trial(rule_id))

    def active(self) -> list[Rule]:
        """Validated rules, oldest first."""
        return self._workspace.refresh().active()

    def candidates(self) -> list[Rule]:
        """Rules under trial, oldest first."""
        return self._workspace.refresh().candidates()

    def all(self) -> list[Rule]:
        """Every rule, oldest first."""
        return list(self._workspace.refresh().all())

    def search(self, query: str, *, limit: int = 10, statuses: Sequence[str] = LIVE) -> list[tuple[Rule, float]]:
        """Rules with a word of `query`, best first, with scores in [0, 2]; without any word: the newest."""
        return [(found.rule, found.score) for found in self.ranked(query, limit=limit, statuses=statuses)]

    def ranked(self, query: str, *, limit: int = 10, statuses: Sequence[str] = LIVE) -> list[Ranked]:
        """Like `search`, and says why each ranked. Raises Refused for a query, a limit or a status that is none."""
        if not isinstance(query, str):
            raise Refused(f"The query is {type(query).__name__}, not text.", hint="Give words, or an empty text.")
        if isinstance(limit, bool) or not isinstance(limit, int) or limit < 0:
            raise Refused(f"The limit is {ids.shown(limit)}.", hint="Give a whole number, 0 or more.")
        strange = [status for status in ([statuses] if isinstance(statuses, str) else statuses) if status not in KNOWN]
        if strange or isinstance(statuses, str):
            said = f"{ids.shown(strange[0])} is no status" if strange else "The statuses are one text"
            raise Refused(f"{said}.", hint=f"Give a list of some of {', '.join(KNOWN)}.")
        return self._composer.search(query, limit=limit, statuses=statuses)

    def effectiveness(self) -> dict[str, Effect]:
        """Per rule id: notices of its metric before and after it was added. Counts, not proof."""
        book, journal = self._workspace.refresh(), self._workspace.refresh_journal()
        return {
            rule.id: Effect(
                rule.metric, rule.status, rule.created_at, *journal.notices_around(rule.metric, rule.created_at)
            )
            for rule in book.all()
        }
