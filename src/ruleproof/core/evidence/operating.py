"""How a watch and a recheck behave: many simulated lives of one active rule whose effect is known. Pure; chance is an
argument. Harm and help are looked at after every unit, the interval after every tenth.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from ruleproof.core.evidence.anytime import AnytimeState, Unit
from ruleproof.core.evidence.recheck import HELP, OPENING, Ending, decayed, judge, recheck_policy, watch_policy
from ruleproof.core.evidence.stream import Arm
from ruleproof.core.recheck import LIFE

Uniform = Callable[[], float]
LOOK = 10


@dataclass(frozen=True, slots=True)
class Life:
    """An active rule: outcomes pass with `rate` where it is withheld and with `rate` + `effect` where it is shown.

    `holdout`: share withheld, in (0, 1); `most`: units of a recheck, or of a watch that is given up.
    """

    rate: float
    effect: float
    holdout: float = 0.5
    least: float = 0.05
    most: int = 2000


def recheck_once(life: Life, uniform: Uniform, level: float = LIFE / 2.0) -> tuple[Ending, int]:
    """(how a recheck at `level` ended, after how many units). The default is the level of a rule's first recheck."""
    state = AnytimeState(recheck_policy(life.holdout, level, life.least, life.most))
    for at in range(1, life.most + 1):
        _add(state, at, life, uniform)
        sure = state.e_help >= 1.0 / HELP or state.e_harm >= 2.0 / level
        if sure or at % LOOK == 0 or at == life.most:
            ending = judge(state, level, life.least, life.most, "outcome")[0]
            if ending != "open":
                return ending, at
    raise AssertionError("a recheck ends at its limit")


def watch_once(life: Life, promoted_with: float, uniform: Uniform) -> int | None:
    """After how many units a watch opened a recheck; None where it never did."""
    state = AnytimeState(watch_policy(life.holdout, life.least, life.most))
    for at in range(1, life.most + 1):
        _add(state, at, life, uniform)
        due = state.e_harm >= 2.0 / OPENING or at % LOOK == 0
        if due and decayed(state, promoted_with, life.least, "outcome")[0]:
            return at
    return None


def _add(state: AnytimeState, at: int, life: Life, uniform: Uniform) -> None:
    arm: Arm = "withheld" if uniform() < life.holdout else "shown"
    rate = life.rate + life.effect * (arm == "shown")
    state.add(Unit(str(at), arm, float(uniform() < rate)))
