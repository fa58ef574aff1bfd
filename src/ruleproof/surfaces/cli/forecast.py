"""`ruleproof forecast`: how many sessions until a verdict, before a trial and during it."""

from __future__ import annotations

from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated

import typer

from ruleproof.core import ids
from ruleproof.surfaces.cli.layout import facts, paragraph, table
from ruleproof.surfaces.cli.opening import opened
from ruleproof.surfaces.cli.output import Reply
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.core.rulebook import Rulebook
    from ruleproof.engine.outlook import Outlook
    from ruleproof.harness import Harness

HALF = 0.5


@verb(
    "ruleproof forecast",
    "ruleproof forecast --effect 0.2 --rate 0.42",
    "ruleproof forecast r-9772c134b8",
    "ruleproof forecast r-9772c134b8 --effect 0.1",
)
def forecast(
    rule: Annotated[str | None, typer.Argument(metavar="ID", help="A rule on trial; without it a new trial.")] = None,
    effect: Annotated[
        float | None, typer.Option(min=-1, max=1, help="What the rule adds to its metric, such as 0.2.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(min=0, max=1, help="The pass rate without the rule; left out: spread 0.5.")
    ] = None,
    holdout: Annotated[
        float | None, typer.Option(min=0.01, max=0.99, help="Share of sessions that do not see the rule.")
    ] = None,
) -> Reply:
    """Say how many sessions a trial needs.

    Of a new trial for one effect, or for a table of them; of a running one for the effect seen so far, or for one that
    you name. The policy is `anytime`; the fixed gate needs rule_trial_min_sessions, whatever that is worth.
    """
    from ruleproof.config import HarnessConfig
    from ruleproof.core.rulebook import Rulebook

    if rule is None:
        config = HarnessConfig.load()
        if not config.root.is_dir():
            return _new(Rulebook(), config, effect, rate, holdout)
        with opened() as harness:
            return _new(harness.workspace.refresh(), config, effect, rate, holdout)
    if rate is not None or holdout is not None:
        raise typer.BadParameter("a running trial has both already; leave out --rate and --holdout", param_hint="ID")
    with opened() as harness:
        return _running(harness, ids.rule_id(rule), effect)


def _new(book: Rulebook, config: object, effect: float | None, rate: float | None, holdout: float | None) -> Reply:
    from ruleproof.config import HarnessConfig
    from ruleproof.engine.outlook import EFFECTS_SHOWN, outlook

    assert isinstance(config, HarnessConfig)
    share = holdout or config.rule_holdout or HALF
    effects = (effect,) if effect is not None else tuple(one for one in EFFECTS_SHOWN if (rate or 0.0) + one <= 1.0)
    found = [
        row for one in effects for row in outlook(book, one, rate=rate, holdout=share, alpha=config.rule_trial_alpha)
    ]
    data = {
        "holdout": share,
        "rate": rate,
        "alpha": config.rule_trial_alpha,
        "most_sessions": config.rule_trial_most_sessions,
        "forecasts": [asdict(row) for row in found],
    }
    head = f"{share:.0%} of the sessions withheld; " + (
        f"pass rate {rate:g} without the rule." if rate is not None else "standard deviation 0.5 within tasks."
    )
    return Reply(data, f"{paragraph(head)}\n\n{_table(found)}\n\n{_meaning(found, config.rule_trial_most_sessions)}")


_MEANING = (
    "Half of such trials are decided by the first number of sessions, four in five by the second; a dash: not within a "
    "million. The levels share one error budget over all rules that were ever on trial."
)


def _meaning(found: list[Outlook], most: int) -> str:
    beyond = f" {_beyond('such a trial', most)}" if any(row.exceeds(most) for row in found) else ""
    return paragraph(_MEANING + beyond)


def _beyond(what: str, most: int) -> str:
    return (
        f"Where that is above the limit of {most:,} sessions in all, the limit ends {what} as inconclusive first; "
        "raise rule_trial_most_sessions."
    )


def _table(found: list[Outlook]) -> str:
    rows = [(f"{row.effect:+.2f}", row.case, f"{row.level:.2g}", row.median, row.likely) for row in found]
    return table(("effect", "rule", "level", "half by", "4 in 5 by"), rows, whole=1)


def _running(harness: Harness, rule_id: str, effect: float | None) -> Reply:
    from ruleproof.engine.outlook import running

    rule, trial = harness.rules.get(rule_id), harness.rules.trial(rule_id)
    seen, most = len(trial.observed), harness.config.rule_trial_most_sessions
    if effect is not None:
        found = running(harness.workspace, rule, trial, effect, harness.config.rule_trial_alpha)
        data = {
            "rule_id": rule.id,
            "status": rule.status,
            "sessions": seen,
            "most_sessions": most,
            "forecasts": [asdict(found)],
        }
        return Reply(data, f"{_table([found])}\n\n{_meaning([found], most)}")
    evidence = harness.rules.evidence(rule_id)
    needed = evidence.get("units_needed")
    if rule.status == "candidate" and trial.policy == "fixed":
        needed = max(0, harness.config.rule_trial_min_sessions - seen)
    data = {
        "rule_id": rule.id,
        "status": rule.status,
        "policy": trial.policy,
        "sessions": seen,
        "more": needed if rule.status == "candidate" else 0,
        "most_sessions": most,
        "effect": evidence.get("effect"),
        "evidence": dict(evidence),
    }
    shown = [
        ("rule", f"{rule.id} ({rule.status})"),
        ("sessions", f"{seen} counted"),
        ("still needed", _still(rule.status == "candidate", needed)),
        ("evidence", harness.evidence.line(rule) or None),
    ]
    beyond = rule.status == "candidate" and trial.policy != "fixed" and isinstance(needed, int) and seen + needed > most
    return Reply(data, facts(shown) + (f"\n\n{paragraph(_beyond('the trial', most))}" if beyond else ""))


def _still(candidate: bool, needed: object) -> str:
    if not candidate:
        return "nothing: its trial is over"
    return f"about {needed} sessions" if isinstance(needed, int) else "unknown: no effect has been seen, or it is tiny"
