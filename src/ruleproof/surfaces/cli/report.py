"""`ruleproof report`: scores of one session, from any evaluator that a shell can call."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from ruleproof.surfaces.cli.layout import paragraph, table
from ruleproof.surfaces.cli.opening import opened
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.engine.report import Handled

MISSING = ("", "none", "null", "missing")


@verb(
    "ruleproof report session-17 agent_reliability=0.31",
    "ruleproof report session-17 outcome=1 coherence=missing --task refund-4",
    "ruleproof report --turn 3 -- -x outcome=0",
    lenient=True,
)
def report(
    session: Annotated[str, typer.Argument(help="The session's id; any text.")],
    scores: Annotated[
        list[str], typer.Argument(metavar="METRIC=VALUE", help="From 0 to 1, higher is better, or missing.")
    ],
    task: Annotated[str | None, typer.Option(metavar="ID", help="The task that the session worked on.")] = None,
    turn: Annotated[int, typer.Option(min=0, help="Which turn of the session; 0: not numbered.")] = 0,
    cost: Annotated[list[str] | None, typer.Option(metavar="NAME=VALUE", help="What it cost. May be repeated.")] = None,
) -> Reply:
    """Report scores of one session.

    The gate judges them, a notice may be posted, and running trials observe the session: once, however often it is
    reported. The same report of a numbered turn changes nothing. A value that is missing is `missing`, never 0.
    """
    given = dict(_pair(text, "METRIC=VALUE") for text in scores)
    costs = dict(_pair(text, "--cost") for text in cost or ())
    spent = {name: value for name, value in costs.items() if value is not None}
    with opened(make=True) as harness:
        trials = {rule.id: set(harness.rules.trial(rule.id).observed) for rule in harness.rules.candidates()}
        handled = harness.report(session, given, turn_index=turn, task_id=task, costs=spent)
        harness.close()
        decided = [rule for rule in harness.rules.all() if rule.id in trials and rule.status != "candidate"]
        verdicts = [{"rule_id": rule.id, "status": rule.status, "reason": rule.reason} for rule in decided]
        before = [rule_id for rule_id, counted in trials.items() if handled.report.session_id in counted]
        return Reply({**_data(handled), "verdicts": verdicts}, _text(handled, len(trials), before, verdicts))


def _pair(text: str, option: str) -> tuple[str, float | None]:
    name, equals, value = text.rpartition("=")
    if not equals or not name:
        raise typer.BadParameter(f"{text!r} is not name=value", param_hint=option)
    if value.strip().casefold() in MISSING:
        return name, None
    try:
        return name, float(value)
    except ValueError:
        raise typer.BadParameter(f"{value!r} of {name!r} is no number", param_hint=option) from None


def _data(handled: Handled) -> dict[str, object]:
    from ruleproof.codec.notices import to_json

    return {
        "session_id": handled.report.session_id,
        "repeated": handled.judgement.repeated,
        "did": handled.did,
        "signatures": list(handled.judgement.signatures),
        "recovered": handled.judgement.recovered,
        "notice": to_json(handled.notice) if handled.notice else None,
        "released": [notice.id for notice in handled.released],
        "observations": [
            {"rule_id": seen.rule_id, "breached": seen.breached, "exposure": seen.exposure}
            for seen in handled.observations
        ],
    }


def _text(handled: Handled, trials: int, before: list[str], verdicts: list[dict[str, str]]) -> str:
    """`before`: the running trials that had counted the session already."""
    did = {
        "nothing": "nothing to notice",
        "post": "a notice was posted",
        "needs_human": "the circuit breaker tripped: a notice calls for a person",
        "hold": "the circuit breaker holds its notice back",
        "shadow": "journaled only (mode observe_only)",
    }[handled.did]
    said = "it was reported before; nothing changed" if handled.judgement.repeated else did
    parts = [paragraph(f"{handled.report.session_id}: {said}.")]
    if handled.notice is not None and handled.did != "nothing":
        parts.append(
            paragraph(
                f"{handled.notice.id} ({handled.notice.severity}): {handled.notice.summary}", indent="  ", first="  "
            )
        )
    if handled.observations:
        rows = [(seen.rule_id, seen.exposure, seen.breached) for seen in handled.observations]
        parts.append(table(("counts for the trial of", "saw the rule", "alerted"), rows))
    elif before and not handled.judgement.repeated:
        said = f"It was counted before, for the trial of {', '.join(before)}; a session counts once."
        parts.append(paragraph(said))
    elif trials and not handled.judgement.repeated:
        parts.append(paragraph(f"It counts in none of {trials} running trials; `ruleproof trial` says why."))
    parts += [
        paragraph(f"{verdict['rule_id']} is {verdict['status']} now: {verdict['reason']}") for verdict in verdicts
    ]
    return "\n\n".join(parts)
