"""How long until a verdict: of a trial that would start now, or of one that runs, for an effect that somebody names."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from ruleproof.core.evidence import budget
from ruleproof.core.evidence.anytime import AnytimePolicy
from ruleproof.core.evidence.betting import EFFECTS
from ruleproof.core.evidence.forecast import Forecast, forecast_graded_pairs, forecast_pairs, forecast_sessions
from ruleproof.core.evidence.stream import Stream
from ruleproof.core.rule import Rule
from ruleproof.core.rulebook import Rulebook
from ruleproof.core.trial import TrialState
from ruleproof.engine.errorbudget import PAID, level_of, next_number
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import Refused

HARM = AnytimePolicy().harm_level
EFFECTS_SHOWN = (0.05, 0.1, 0.15, 0.2, 0.25, 0.3)


@dataclass(frozen=True, slots=True)
class Outlook:
    """Sessions, or pairs of replays, still needed at one level: half of such trials are decided by `median`, four in
    five by `likely`.

    None: out of reach. `case` says what the level stands for, `seen` how many units count already.
    """

    case: str
    effect: float
    level: float
    median: int | None
    likely: int | None
    seen: int = 0

    def exceeds(self, most: int) -> bool:
        """Whether a figure lies beyond the limit of `most` units in all."""
        return any(more is None or self.seen + more > most for more in (self.median, self.likely))


def outlook(
    book: Rulebook, effect: float, *, rate: float | None, spread: float, holdout: float, alpha: float
) -> tuple[Outlook, ...]:
    """A trial that starts now: alone, as the next of this workspace, and as the twentieth; harm has its own level."""

    def at(level: float) -> Forecast:
        return forecast_sessions(effect, level=level, rate=rate, spread=spread, holdout=holdout)

    levels = _levels(book, alpha) if effect >= 0.0 else (("harm, at any place", HARM),)
    return _rows(effect, levels, at)


def outlook_pairs(
    book: Rulebook, effect: float, *, lost: float | None, spread: float, alpha: float
) -> tuple[Outlook, ...]:
    """The same in pairs of replays of failures, for an effect above 0. `lost`: share of pairs that pass only without
    the rule, for a metric that passes or fails; None: a graded one, with this `spread` between replays of a case.
    """

    def at(level: float) -> Forecast:
        if lost is None:
            return forecast_graded_pairs(effect, spread, level=level)
        return forecast_pairs(effect + lost, lost, level=level)

    return _rows(effect, _levels(book, alpha), at)


def _levels(book: Rulebook, alpha: float) -> Sequence[tuple[str, float]]:
    number = next_number(book)
    promoted = sum(rule.trial is not None and rule.trial.verdict.startswith(PAID) for rule in book.all())
    cases = [("alone", alpha), (f"number {number}, the next here", budget.level(number, promoted, alpha))]
    if number < 20:
        cases.append(("number 20", budget.level(20, promoted, alpha)))
    return cases


def _rows(effect: float, levels: Sequence[tuple[str, float]], at: Callable[[float], Forecast]) -> tuple[Outlook, ...]:
    found = [(case, level, at(level)) for case, level in levels]
    return tuple(Outlook(case, effect, level, one.median, one.likely) for case, level, one in found)


def running(workspace: Workspace, rule: Rule, trial: TrialState, effect: float, alpha: float) -> Outlook:
    """A trial that runs, from what it has seen, if `effect` is true. Raises Refused for a trial without arms."""
    if not trial.randomised:
        raise Refused(
            f"Rule {rule.id} is on no trial that withholds, so an effect says nothing about its length.",
            hint="`ruleproof trial` shows how many sessions the fixed gate still needs.",
        )
    stream, seen = Stream(trial.holdout, EFFECTS), set[str]()
    for told in workspace.refresh_trials().told(rule.id):
        if told.value is not None and told.unit not in seen:
            seen.add(told.unit)
            stream.add(trial.arm(told.unit) or told.arm, told.task_id, told.value, trial.block(told.unit))
    level = level_of(workspace.rulebook, rule, alpha) if effect > 0.0 else HARM
    capital = stream.bet.up if effect > 0.0 else stream.bet.down
    found = forecast_sessions(
        effect, level=level, spread=stream.baseline.spread, holdout=trial.holdout, capital=capital
    )
    return Outlook(f"after {len(seen)} sessions", effect, level, found.median, found.likely, len(seen))
