"""Search over pool rules, and for a person over learned rules too. An agent's search reads what is in force, no more.

What an agent may not see is not in its index at all, so that neither a result nor a count tells of it.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import replace

from ruleproof.core.ids import component
from ruleproof.core.proposal import Proposal, title_of
from ruleproof.core.rule import Rule
from ruleproof.core.search import RULE, Document, Found, Index, Query
from ruleproof.engine.desk import Desk

LEARNED = "learned"
MAX_SUMMARY = 2_000


class AgentsSearch:
    """What an agent searches: the rules in force here. What is in force no more leaves the index first."""

    def __init__(self, desk: Desk) -> None:
        self.desk = desk
        self._index = Index(aliases=desk.aliases)
        self._rules: dict[str, Proposal] = {}

    def search(self, text: str, category: str = "", *, limit: int = 50) -> Found:
        """The best matches."""
        desk = self.desk
        approved = {rule.id: rule for rule in desk.in_force()}
        self._rules = _followed(self._index, self._rules, approved)
        query = Query(text, desk.key, category, (), True, desk.bonus, limit)
        return self._index.search(query, list(approved), desk.now().date())


def elsewhere(desk: Desk, project: str) -> Desk:
    """The desk of another project of the same pool, by its key. Raises Refused for what is no key."""
    return replace(desk, project=replace(desk.project, key=component(project, "project")))


class PersonsSearch:
    """What a person searches: every rule of the project. A process that searches again indexes only what changed.

    While no folder changed no file is looked at but those that are found; one that was written to in its place, which
    nobody here does, brings all of them to be read again.
    """

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._index = Index(aliases=desk.aliases)
        self._rules: dict[str, Proposal] = {}
        self._more: dict[str, Document] = {}
        self._state: object | None = None

    def search(
        self,
        text: str,
        category: str = "",
        kinds: tuple[str, ...] = (),
        *,
        limit: int = 50,
        learned: Iterable[Rule] = (),
        others: Iterable[Document] = (),
    ) -> Found:
        """The best matches. `learned`: rules of a workspace, found beside pool rules; `others`: documents of kinds that
        a host has, such as its archive.
        """
        desk = self._desk
        self._follow_more({made.id: made for made in (*(_learned(rule, desk.key) for rule in learned), *others)})
        query = Query(text, desk.key, category, kinds, False, desk.bonus, limit)
        approved = [rule.id for rule in desk.in_force()]
        state = desk.files.state(desk.key)
        if state is not None and state == self._state:
            found = self._index.search(query, approved, desk.now().date())
            hits = [self._rules[hit.document.id] for hit in found.hits if hit.document.id in self._rules]
            if all(desk.files.read(rule.place)[0] is rule for rule in hits):
                return found
        self._rules = _followed(self._index, self._rules, {rule.id: rule for rule in desk.rules()})
        self._state = state
        return self._index.search(query, approved, desk.now().date())

    def _follow_more(self, more: dict[str, Document]) -> None:
        for gone in self._more.keys() - more.keys():
            self._index.remove(gone)
        for name, one in more.items():
            if self._more.get(name) != one:
                self._index.put(one)
        self._more = more


def _followed(index: Index, held: dict[str, Proposal], rules: dict[str, Proposal]) -> dict[str, Proposal]:
    """The rules that the index holds now. An unchanged file is read as the same object."""
    for gone in held.keys() - rules.keys():
        index.remove(gone)
    for name, rule in rules.items():
        if held.get(name) is not rule:
            index.put(document(rule))
    return rules


def document(rule: Proposal) -> Document:
    """A pool rule as something to be found."""
    place = rule.place
    title = rule.title or title_of(rule.text)
    summary = rule.text[:MAX_SUMMARY]
    return Document(
        rule.id, RULE, title, place.project, rule.category, summary, rule.topics, rule.authored_at, place.path
    )


def _learned(rule: Rule, project: str) -> Document:
    return Document(
        rule.id, LEARNED, title_of(rule.rule), project, "", rule.rule[:MAX_SUMMARY], rule.tags, rule.created_at
    )
