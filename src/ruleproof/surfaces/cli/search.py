"""`ruleproof search`: find pool rules and learned rules by words, within a budget of tokens. For people."""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, Annotated, Literal

import typer

from ruleproof.surfaces.cli.governing import governed
from ruleproof.surfaces.cli.layout import paragraph
from ruleproof.surfaces.cli.opening import opened
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.core.rule import Rule


@verb(
    "ruleproof search 'archive restore'",
    "ruleproof search restore --category security --max-tokens 400",
    "ruleproof search restore --kind rule",
)
def search(
    query: Annotated[str, typer.Argument(help="Words; topics count most, then category, title, text.")],
    category: Annotated[str, typer.Option(help="Only pool rules of this category.")] = "",
    kind: Annotated[Literal["rule", "learned"] | None, typer.Option(help="Only pool rules, or learned ones.")] = None,
    project: Annotated[str, typer.Option(metavar="KEY", help="Pool rules of another project in the pool.")] = "",
    max_tokens: Annotated[int, typer.Option(min=1, help="Stop at this many tokens.")] = 2000,
    limit: Annotated[int, typer.Option(min=1, max=1000, help="At most this many.")] = 50,
) -> Reply:
    """Find pool rules and learned rules by words.

    Best first. A pool rule that you approved here gains a little. Proposed rules are found too: this is for people, an
    agent's own search finds approved ones alone.
    """
    from ruleproof.core.search import pack
    from ruleproof.core.tokencount import estimate_tokens
    from ruleproof.engine.poolsearch import PersonsSearch, elsewhere

    governance = governed()
    other = project not in ("", governance.project.key)
    with ExitStack() as stack:
        learned: tuple[Rule, ...] = ()
        if governance.config.root.is_dir() and not other and kind != "rule":
            harness = stack.enter_context(opened())
            learned = tuple(rule for rule in harness.rules.all() if rule.live and harness.trust.trusted)
        searched = PersonsSearch(elsewhere(governance.desk, project) if other else governance.desk)
        found = searched.search(query, category, (kind,) if kind else (), limit=limit, learned=learned)
    packed = pack(found, max_tokens, estimate_tokens)
    hits = found.hits[: packed.shown]
    data = {
        "total": packed.total,
        "shown": packed.shown,
        "tokens": packed.used,
        "hits": [
            {
                "id": hit.document.id,
                "kind": hit.document.kind,
                "score": round(hit.score, 2),
                "title": hit.document.title,
                "category": hit.document.category,
                "path": hit.document.path or None,
                "matched": [list(pair) for pair in hit.matched],
            }
            for hit in hits
        ],
    }
    if not packed.total:
        return Reply(data, "Nothing has a word of that.")
    lines = [paragraph(text, indent="    ") for text in packed.lines]
    left = f"{packed.shown} of {packed.total} shown, {packed.used:,} tokens."
    return Reply(data, "\n".join([*lines, left]))
