"""What a watch and a recheck say of an active rule. Pure, over the same statistics as the anytime trial.

A watch opens a recheck where there is some evidence that the rule does not help any more: a cheap look, at a level that
errs once in five. A recheck begins afresh and carries the burden of proof against the rule, which has paid for its
promotion: it is kept where it helps again, and where its limit comes first; it is retired where it does harm, or where
its effect is shown to be below what matters.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from math import fsum
from typing import Literal

from ruleproof.core.evidence.anytime import AnytimePolicy, AnytimeState, AnytimeVerdict
from ruleproof.core.evidence.pretest import beta_binomial_pmf

Ending = Literal["open", "kept", "retired", "inconclusive"]
"""`inconclusive` retires too: the effect is too small to matter, which refutes no text."""

OPENING = 0.2
"""Chance at most that a watch opens a recheck of a rule with half of its effect left; half of it for harm."""
HELP = 0.05
"""Level at which a recheck says that the rule helps. It promotes nothing, so it takes nothing from the error budget."""

UNFAIR = 100.0
"""E-value from which units without a score differ between the arms: what is left then proves nothing but harm."""


@dataclass(frozen=True, slots=True)
class Ruling:
    """What a recheck says now: `reason` in words, `figures` as JSON values."""

    ending: Ending
    reason: str
    figures: Mapping[str, object]


def watch_policy(holdout: float, least: float, most: int) -> AnytimePolicy:
    """Of a watch: half of OPENING for harm in any metric, half for the upper limit of the interval."""
    return AnytimePolicy(holdout, OPENING / 2.0, least, most, coverage=1.0 - OPENING)


def recheck_policy(holdout: float, level: float, least: float, most: int) -> AnytimePolicy:
    """Of a recheck at `level`: half for harm, a quarter for "too small" at any look, a quarter for the last look."""
    return AnytimePolicy(holdout, level / 2.0, least, most, coverage=1.0 - level / 2.0)


def decayed(state: AnytimeState, promoted_with: float, least: float, metric: str) -> tuple[str, AnytimeVerdict]:
    """(why a recheck is due, "" where none is; the look). `state` has a `watch_policy`.

    Due when some metric fell (e-value 1 / (OPENING / 2)), or when the confidence sequence lies below half of the effect
    that the rule was promoted with, `least` at the lowest. A promoted effect is overestimated on average, so this is
    due too often rather than too seldom; that costs sessions and no rule.
    """
    found = state.verdict(HELP, metric)
    if found.harmed:
        return f"it seems to lower {', '.join(found.harmed)} (e-value {max(_harms(found)):.3g})", found
    bar = max(least, promoted_with / 2.0)
    if found.interval[1] < bar:
        low, high = found.interval
        said = f"{promoted_with:+.3f} when it was promoted" if promoted_with > 0.0 else "not known from its promotion"
        return f"its effect lies between {low:+.3f} and {high:+.3f} now, below {bar:.3g}; it was {said}", found
    return "", found


def judge(
    state: AnytimeState, level: float, least: float, most: int, metric: str
) -> tuple[Ending, str, AnytimeVerdict]:
    """(ending, reason, look) of a recheck at `level`. `state` has the `recheck_policy` of the same figures.

    A rule with an effect of `least` or more is retired with a chance of at most `level`: harm and "too small" are
    judged at every look, and once more when `most` units are counted, where one planned look says more than a test
    that may be looked at always.
    """
    found = state.verdict(HELP, metric)
    low, high = found.interval
    between = f"its effect lies between {low:+.3f} and {high:+.3f}"
    fair = found.e_dropout < UNFAIR
    if found.outcome == "retire":
        return "retired", found.reasons[0], found
    if found.outcome == "promote":
        return "kept", found.reasons[0], found
    if fair and high < least:
        return "inconclusive", f"Too small to matter: {between}, below {least:g}.", found
    if state.counted < most:
        return "open", found.reasons[0], found
    limit = state.upper(level / 4.0)
    if fair and limit < least:
        return "inconclusive", f"Too small to matter after {state.counted} units: at most {limit:+.3f}.", found
    return "kept", f"{state.counted} units decided nothing against it: {between}.", found


def judge_window(hit: int, seen: int, window: int, baseline: tuple[int, int], level: float) -> Ruling:
    """A recheck without a control: `hit` of `seen` fresh sessions alerted; `baseline` of sessions before the rule did.

    Kept after `window` sessions, unless so many alerts would be rare (chance <= `level`) even at the rate from before
    the rule: beta-binomial, rate Beta(breached + 1/2, healthy + 1/2). Weak either way, and the reason says so.
    """
    breached, sessions = baseline if 0 <= baseline[0] <= baseline[1] else (0, 0)
    before = {"breached": breached, "sessions": sessions}
    figures = {"policy": "window", "breached": hit, "sessions": seen, "baseline": before, "grade": "none"}
    if seen < window:
        return Ruling("open", f"{seen} of {window} fresh sessions", figures)
    said = f"{hit} of {seen} fresh sessions alerted, {breached} of {sessions} before the rule"
    weak = "there is no control, so that a change of the model and a change of the rule look the same"
    if not sessions:
        return Ruling(
            "kept", f"{hit} of {seen} fresh sessions alerted, and nothing is known from before; {weak}", figures
        )
    a, b = breached + 0.5, sessions - breached + 0.5
    chance = min(1.0, fsum(beta_binomial_pmf(k, seen, a, b) for k in range(hit, seen + 1)))
    figures["chance_of_so_many_alerts"] = chance
    if chance <= level:
        return Ruling("inconclusive", f"worse than without the rule: {said} (chance {chance:.2g}); {weak}", figures)
    return Ruling("kept", f"not worse than without the rule: {said}; very weak evidence, and {weak}", figures)


def _harms(found: AnytimeVerdict) -> list[float]:
    return [row.e_down for row in found.rows if row.name in found.harmed]
