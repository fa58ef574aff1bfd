"""Pool rules: propose one, and find those in force here. Of a rule that nobody approved an agent is told nothing.

Approving and revoking are a person's acts: no handler reaches them.
"""

from __future__ import annotations

from ruleproof.core.draft import Draft
from ruleproof.engine.poolsearch import AgentsSearch
from ruleproof.engine.propose import propose
from ruleproof.errors import Refused
from ruleproof.toolset.arguments import ChaptersRulePropose, ChaptersSearch
from ruleproof.toolset.bounded import WHOLE, rows
from ruleproof.toolset.spec import Bench, Result

FOUND, MOST_FOUND = 10, 50


def chapters_rule_propose(bench: Bench, args: ChaptersRulePropose) -> Result:
    """Write a proposal whose source is the session; the id of the one that says exactly this, where there is one."""
    source = bench.session() or "manual"
    draft = Draft(args.category, args.text, source, "agent", tuple(args.topics or ()), args.amends or "")
    made = propose(_pool(bench).desk, draft)
    return {
        "id": made.rule.id,
        "created": made.created,
        "status": "proposed: it binds nothing before a person decides",
        "tokens": made.checked.tokens,
        "cap": made.checked.cap,
        "redacted": list(made.checked.redacted),
    }


def chapters_search(bench: Bench, args: ChaptersSearch) -> Result:
    """The best matches among the rules in force, and how many there are in all."""
    pool = _pool(bench)
    limit = min(args.limit if args.limit > 0 else FOUND, MOST_FOUND)
    found = pool.search(args.query, args.category or "", limit=limit)
    texts = {rule.id: rule.text for rule in pool.desk.in_force()}
    hits = [
        {
            "id": hit.document.id,
            "category": hit.document.category,
            "score": round(hit.score, 2),
            "text": texts[hit.document.id],
        }
        for hit in found.hits
        if hit.document.id in texts
    ]
    shown, cut = rows(hits, keep="first", longest=WHOLE)
    return {"rules": shown, "total": found.total, "cut": cut}


def _pool(bench: Bench) -> AgentsSearch:
    if bench.pool is None:
        raise Refused("This host has no pool rules.", hint="Go on without them.")
    return bench.pool()
