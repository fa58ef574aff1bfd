"""`ruleproof forecast`: how many sessions or pairs of replays until a verdict, before a trial and during it."""

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
    from ruleproof.config import HarnessConfig
    from ruleproof.core.rulebook import Rulebook
    from ruleproof.engine.outlook import Outlook
    from ruleproof.harness import Harness

HALF = 0.5


@verb(
    "ruleproof forecast",
    "ruleproof forecast --effect 0.2 --rate 0.42",
    "ruleproof forecast --pairs --effect 0.26 --lost 0.05",
    "ruleproof forecast r-9772c134b8",
    "ruleproof forecast r-9772c134b8 --effect 0.1",
)
def forecast(
    rule: Annotated[str | None, typer.Argument(metavar="ID", help="A rule on trial; without it a new trial.")] = None,
    effect: Annotated[
        float | None, typer.Option(min=-1, max=1, help="What the rule adds to its metric, such as 0.2.")
    ] = None,
    rate: Annotated[
        float | None, typer.Option(min=0, max=1, help="Pass rate of sessions without the rule; left out: see --spread.")
    ] = None,
    holdout: Annotated[
        float | None, typer.Option(min=0.01, max=0.99, help="Share of sessions that do not see the rule.")
    ] = None,
    pairs: Annotated[bool, typer.Option("--pairs", help="Of paired replays: a failure with and without it.")] = False,
    lost: Annotated[
        float | None,
        typer.Option(min=0, max=1, help="Share of pairs that pass only without the rule; left out: see --spread."),
    ] = None,
    spread: Annotated[
        float | None,
        typer.Option(min=0, help="Standard deviation in sessions of a task, or replays of a case; left out: 0.5."),
    ] = None,
) -> Reply:
    """Say how many sessions, or pairs of replays, a trial needs.

    Of a new trial for one effect, or for a table of them; of a running one for the effect seen so far, or for one that
    you name. Sessions are forecast for the policy `anytime`, pairs for `paired`; the fixed gate needs
    rule_trial_min_sessions, whatever that is worth.
    """
    from ruleproof.config import HarnessConfig
    from ruleproof.core.rulebook import Rulebook

    if rule is not None:
        if pairs or any(one is not None for one in (rate, holdout, lost, spread)):
            raise typer.BadParameter("a running trial has its own figures; name at most an --effect", param_hint="ID")
        with opened() as harness:
            return _running(harness, ids.rule_id(rule), effect)
    if spread is not None and (rate is not None or lost is not None):
        raise typer.BadParameter("rates say how far outcomes spread; leave it out", param_hint="--spread")
    config = HarnessConfig.load()

    def new(book: Rulebook) -> Reply:
        wide = HALF if spread is None else spread
        return _pairs(book, config, effect, lost, wide) if pairs else _new(book, config, effect, rate, wide, holdout)

    if pairs and (rate is not None or holdout is not None):
        raise typer.BadParameter("pairs need neither --rate nor --holdout", param_hint="--pairs")
    if lost is not None and not pairs:
        raise typer.BadParameter("sessions are not paired; add --pairs", param_hint="--lost")
    if not config.root.is_dir():
        return new(Rulebook())
    with opened() as harness:
        return new(harness.workspace.refresh())


def _new(
    book: Rulebook,
    config: HarnessConfig,
    effect: float | None,
    rate: float | None,
    spread: float,
    holdout: float | None,
) -> Reply:
    from ruleproof.engine.outlook import EFFECTS_SHOWN, outlook

    share, alpha = holdout or config.rule_holdout or HALF, config.rule_trial_alpha
    effects = (effect,) if effect is not None else tuple(one for one in EFFECTS_SHOWN if (rate or 0.0) + one <= 1.0)
    found = [row for one in effects for row in outlook(book, one, rate=rate, spread=spread, holdout=share, alpha=alpha)]
    data = {
        "unit": "sessions",
        "policy": "anytime",
        "holdout": share,
        "rate": rate,
        "spread": spread if rate is None else None,
        "alpha": alpha,
        "most_sessions": config.rule_trial_most_sessions,
        "forecasts": [asdict(row) for row in found],
    }
    head = f"Sessions of a trial under the policy anytime, {share:.0%} of them withheld; " + (
        f"pass rate {rate:g} without the rule." if rate is not None else f"standard deviation {spread:g} within tasks."
    )
    if config.rule_trial_policy == "fixed":
        head += (
            f" Your setting is fixed: it withholds nothing and takes {config.rule_trial_min_sessions} sessions, "
            "whatever they are worth."
        )
    return Reply(data, f"{paragraph(head)}\n\n{_table(found)}\n\n{_meaning(found, config.rule_trial_most_sessions)}")


def _pairs(book: Rulebook, config: HarnessConfig, effect: float | None, lost: float | None, spread: float) -> Reply:
    from ruleproof.engine.outlook import EFFECTS_SHOWN, outlook_pairs

    if effect is not None and effect <= 0.0:
        raise typer.BadParameter("pairs are forecast for a rule that helps: above 0", param_hint="--effect")
    effects = (effect,) if effect is not None else tuple(one for one in EFFECTS_SHOWN if one + 2 * (lost or 0.0) <= 1.0)
    planned = config.replay_planned_pairs
    alpha, most = config.rule_trial_alpha, planned or config.replay_max_pairs
    found = [row for one in effects for row in outlook_pairs(book, one, lost=lost, spread=spread, alpha=alpha)]
    data = {
        "unit": "pairs",
        "policy": "paired",
        "lost": lost,
        "spread": spread if lost is None else None,
        "alpha": alpha,
        "most_pairs": most,
        "forecasts": [asdict(row) for row in found],
    }
    head = "Pairs of replays of failures, with the rule and without it, under the policy paired; " + (
        f"{lost:.0%} of them pass only without it."
        if lost is not None
        else f"standard deviation {spread:g} between replays of one case."
    )
    head += f" A round has {config.replay_repeats} pairs for each failure and is judged as a whole."
    if planned:
        head += f" Your replay_planned_pairs is {planned}: a trial is judged once there, by an exact test."
    if config.replay_policy != "paired":
        head += f" Your setting is {config.replay_policy}: it runs each case once, whatever that is worth."
    return Reply(data, f"{paragraph(head)}\n\n{_table(found)}\n\n{_meaning(found, most, 'pairs')}")


_MEANING = (
    "Half of such trials are decided by the first number of {unit}, four in five by the second; a dash: not within a "
    "million. The levels share one error budget over all rules that were ever on trial."
)


_LIMIT = {"sessions": "rule_trial_most_sessions", "pairs": "replay_max_pairs"}


def _meaning(found: list[Outlook], most: int, unit: str = "sessions") -> str:
    beyond = f" {_beyond('such a trial', most, unit)}" if any(row.exceeds(most) for row in found) else ""
    return paragraph(_MEANING.format(unit=unit) + beyond)


def _beyond(what: str, most: int, unit: str = "sessions") -> str:
    return (
        f"Where that is above the limit of {most:,} {unit} in all, the limit ends {what} as inconclusive first; "
        f"raise {_LIMIT[unit]}."
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
    evidence, candidate = harness.rules.evidence(rule_id), rule.status == "candidate"
    unit, needed = "sessions", evidence.get("units_needed")
    if evidence.get("policy") == "paired":
        unit, needed = "pairs", evidence.get("pairs_needed")
        most = harness.config.replay_planned_pairs or harness.config.replay_max_pairs
    elif candidate and trial.policy == "fixed":
        needed = max(0, harness.config.rule_trial_min_sessions - seen)
    counted = evidence.get("pairs") if unit == "pairs" else seen
    data = {
        "rule_id": rule.id,
        "status": rule.status,
        "policy": "paired" if unit == "pairs" else trial.policy,
        "unit": unit,
        "sessions": seen,
        "more": needed if candidate else 0,
        f"most_{unit}": most,
        "effect": evidence.get("effect"),
        "evidence": dict(evidence),
    }
    shown = [
        ("rule", f"{rule.id} ({rule.status})"),
        ("sessions", f"{seen} counted"),
        ("pairs", f"{counted} of replays" if unit == "pairs" else None),
        ("still needed", _still(candidate, needed, unit)),
        ("evidence", harness.evidence.line(rule) or None),
    ]
    limited = candidate and (unit == "pairs" or trial.policy != "fixed")
    beyond = limited and isinstance(needed, int) and isinstance(counted, int) and counted + needed > most
    return Reply(data, facts(shown) + (f"\n\n{paragraph(_beyond('the trial', most, unit))}" if beyond else ""))


def _still(candidate: bool, needed: object, unit: str) -> str:
    if not candidate:
        return "nothing: its trial is over"
    return f"about {needed} {unit}" if isinstance(needed, int) else "unknown: no effect has been seen, or it is tiny"
