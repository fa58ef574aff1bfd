"""Search over pool rules, and for a person over learned rules too. An agent's search reads what is in force, no more.

What an agent may not see is not in its index at all, so that neither a result nor a count tells of it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from ruleproof.core.proposal import Proposal, title_of
from ruleproof.core.rule import Rule
from ruleproof.core.search import RULE, Document, Found, Index, Query
from ruleproof.engine.desk import Desk

LEARNED = "learned"
MAX_SUMMARY = 2_000


def agents_search(desk: Desk, text: str, category: str = "", *, limit: int = 50) -> Found:
    """The best matches among the rules in force here."""
    approved = desk.in_force()
    index = Index(map(document, approved), desk.aliases)
    query = Query(text, desk.key, category, (), True, desk.bonus, limit)
    return index.search(query, [rule.id for rule in approved], desk.now().date())


class PersonsSearch:
    """What a person searches: every rule of the project. A process that searches again indexes only what changed."""

    def __init__(self, desk: Desk) -> None:
        self._desk = desk
        self._index = Index(aliases=desk.aliases)
        self._held: dict[str, object] = {}
        """Document id -> what it was made of."""

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
        more = {made.id: made for made in (*(_learned(rule, desk.key) for rule in learned), *others)}
        self._follow({rule.id: rule for rule in desk.rules()}, more)
        query = Query(text, desk.key, category, kinds, False, desk.bonus, limit)
        return self._index.search(query, [rule.id for rule in desk.in_force()], desk.now().date())

    def _follow(self, rules: Mapping[str, Proposal], more: Mapping[str, Document]) -> None:
        """Bring the index to what there is now. An unchanged file is read as the same object."""
        for gone in self._held.keys() - rules.keys() - more.keys():
            self._index.remove(gone)
            del self._held[gone]
        for name in sorted(rules.keys() | more.keys()):
            found = more.get(name) or rules[name]
            held = self._held.get(name)
            if held is not found and held != found:
                self._index.put(found if isinstance(found, Document) else document(found))
            self._held[name] = found


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
