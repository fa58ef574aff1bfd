"""What `ruleproof demo --scenario router` saw, for people: figures as they came, pleasant or not."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from ruleproof.demo.router_desk import MESSAGES, QUEUES
from ruleproof.demo.router_seen import Routed, Seen, Tally, Tried, tally
from ruleproof.surfaces.cli.layout import Cell, facts, heading, paragraph, table


def text_of(seen: Seen) -> str:
    """The run in the order in which it happened."""
    parts = [_opening(seen), heading("Messages that reached the right queue"), _rates(seen)]
    for tried in seen.tried:
        parts += [heading(f"The {tried.guess.name} rule, for {tried.guess.queue}"), _rule(tried)]
    if seen.gave_up:
        parts.append(paragraph(f"The demo stopped: {seen.gave_up}"))
    root = Path(seen.folder) / ".ruleproof"
    parts += [heading("Files"), facts([("workspace", str(root)), ("look", "ruleproof rules --all; ruleproof journal")])]
    return "\n\n".join(parts)


def _opening(seen: Seen) -> str:
    failures, wins = seen.cases
    return paragraph(
        f"A support desk sorts {len(MESSAGES)} messages into {len(QUEUES)} queues. The router is the {seen.router}, at "
        "temperature 0, and answers with JSON by a schema. Of the context its prompt holds the rules alone. Two "
        "conventions of the house stand in no prompt: gift cards go to billing, what arrived damaged to shipping. The "
        "rules below are ours; the answers, the replays and the verdicts are the model's and the product's, as seen: "
        f"{seen.calls} calls, {seen.seconds:.0f} s. Captured: {failures} failures, {wins} wins."
    )


def _rates(seen: Seen) -> str:
    rows = [_rate("no rule", seen.plain), *(_rate(f"with the {one.guess.name} rule", one.routed) for one in seen.tried)]
    heads = ("", "all", "plain", "gift card", "damaged")
    note = paragraph(
        "Measured over all messages beside the trials, with the rules that were active then; the verdicts rest on "
        "replays of three failures and two wins and know nothing of it."
    )
    return f"{table(heads, rows)}\n\n{note}"


def _rate(name: str, routed: tuple[Routed, ...]) -> tuple[Cell, ...]:
    found: Tally = tally(routed)
    parts = [found.kinds["plain"], found.kinds["gift card"], found.kinds["damaged"]]
    return name, *(f"{right}/{of}" if of else None for right, of in ((found.right, found.answered), *parts))


def _rule(tried: Tried) -> str:
    replays = [(row.queue, row.treated, row.control, " and ".join(map(str, row.counted))) for row in tried.rows]
    said = facts(
        [
            ("text", tried.guess.text),
            ("expected", tried.guess.expected),
            ("now", tried.status or None),
            ("verdict", tried.words or None),
            ("harms", ", ".join(tried.harmed) or None),
            ("evidence", _evidence(tried.details)),
            ("cost", f"{tried.calls} calls, {tried.seconds:.0f} s" if tried.calls else None),
            ("no verdict", tried.problem or None),
        ]
    )
    return f"{said}\n\n{table(('replays of', 'with it', 'without', 'counted'), replays)}" if replays else said


def _evidence(details: Mapping[str, object]) -> str | None:
    effect, chance, grade = details.get("effect"), details.get("chance"), details.get("grade")
    if not isinstance(effect, float) or not isinstance(chance, float):
        return None
    return (
        f"effect {effect:+.2f} on the replayed failures ({details.get('pairs')} pairs); a useless rule comes so far "
        f"with a chance of at most {chance:.2g} ({grade})"
    )
