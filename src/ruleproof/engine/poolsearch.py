"""Search over pool rules, and for a person over learned rules too. An agent's search reads what is in force, no more.

What an agent may not see is not in its index at all, so that neither a result nor a count tells of it.
"""

from __future__ import annotations

from collections.abc import Iterable

from ruleproof.core.proposal import Proposal, title_of
from ruleproof.core.rule import Rule
from ruleproof.core.search import RULE, Document, Found, Index, Query
from ruleproof.engine.desk import Desk

LEARNED = "learned"
MAX_SUMMARY = 2_000


def search(
    desk: Desk,
    text: str,
    category: str = "",
    kinds: tuple[str, ...] = (),
    *,
    agent: bool,
    limit: int = 50,
    learned: Iterable[Rule] = (),
    others: Iterable[Document] = (),
) -> Found:
    """The best matches. `agent`: only rules in force here; `learned`: rules of a workspace, found beside pool rules;
    `others`: documents of kinds that a host has, such as its archive.
    """
    approved = desk.in_force()
    documents = [document(rule) for rule in (approved if agent else desk.rules())]
    documents += [*(_learned(rule, desk.key) for rule in learned), *others]
    query = Query(text, desk.key, category, kinds, agent, desk.bonus, limit)
    return Index(documents, desk.aliases).search(query, [rule.id for rule in approved], desk.now().date())


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
