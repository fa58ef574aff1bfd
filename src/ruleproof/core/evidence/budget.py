"""One error budget over all rules that were ever put on trial: of the promoted ones, at most `alpha` are useless.

Each trial gets a share of the budget by its number in the order of starting; a share, once given, is never returned,
so a rule that is tried again counts again. Rules that were promoted already raise the level of all others, and stay
counted even when they are retired later. Harm has no part in it: see docs/adr/0006-error-budget.md.
"""

from __future__ import annotations

from ruleproof.errors import Refused

SHARING = 10
"""The first ten trials share one half of the budget, the first n share n / (n + 10)."""


def share(number: int, sharing: int = SHARING) -> float:
    """The share of trial `number` (from 1): k / ((n + k - 1) (n + k)), k = `sharing`; all shares add up to 1."""
    if number < 1 or sharing < 1:
        raise Refused(f"Trial number {number} with {sharing} sharing is no place in the budget.", hint="Count from 1.")
    return sharing / ((number + sharing - 1) * (number + sharing))


def level(number: int, promoted: int, alpha: float = 0.05, sharing: int = SHARING) -> float:
    """The level at which trial `number` may be promoted while `promoted` other rules have been.

    alpha gamma_t (R + 1): the level of e-LOND, Xu & Ramdas 2024 (AISTATS), section 3; promote when e >= 1 / level.
    The false discovery rate is at most alpha under any dependence between the trials and at any stopping times,
    because 1{e >= 1 / level} / R_final <= alpha gamma_t e, and E[e] <= 1 for a useless rule. R may count rules with
    later numbers, as in online e-BH (Fischer, Xu & Ramdas 2024), since that bound only needs R + 1 <= R_final. Never
    above alpha.
    """
    if promoted < 0 or not 0.0 < alpha < 1.0:
        raise Refused(f"alpha {alpha!r} with {promoted} promoted rules is no budget.", hint="Give 0 < alpha < 1.")
    return min(alpha, alpha * share(number, sharing) * (promoted + 1))
