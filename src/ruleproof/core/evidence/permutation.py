"""The exact bet on which replays of a case were the treated ones: nothing is assumed about how outcomes are spread.

Under a useless rule every way to call `t` of the `n` replays of one case treated is equally likely. The bettor compares
the weight of the true labelling with the mean weight of all of them. Blocks (cases, rounds) multiply.
"""

from __future__ import annotations

from collections.abc import Sequence
from math import comb, exp, fsum, log, sqrt

from ruleproof.core.evidence.betting import RICH
from ruleproof.errors import Refused

EFFECTS = (0.4, 0.8, 1.6)
"""Effects that the bettors expect, in standard deviations of repeated runs of one case."""

_LEAST_SPREAD = 0.02


def permutation_e(treated: Sequence[float], control: Sequence[float], stake: float) -> float:
    """E-value of one block against exchangeable replays: exp(s sum treated) / mean over labellings of the same.

    The softmax e-value for exchangeability, Koning 2023 (arXiv 2310.01153, section 6); the mean over the C(n, t)
    labellings is an elementary symmetric polynomial of exp(s x), computed in n t steps. With one replay in each arm it
    is 1 + tanh(s d / 2). Its expectation is exactly 1 under exchangeability, at most 1 for stake > 0 when the treated
    are stochastically no larger. 1 where an arm is empty. At most C(n, t).
    """
    size, chosen = len(treated) + len(control), len(treated)
    if not treated or not control:
        return 1.0
    middle = (sum(treated) + sum(control)) / size
    symmetric = [1.0] + [0.0] * chosen
    for value in (*treated, *control):
        weight = exp(stake * (value - middle))
        for order in range(chosen, 0, -1):
            symmetric[order] += weight * symmetric[order - 1]
    return exp(stake * (sum(treated) - chosen * middle)) * comb(size, chosen) / symmetric[chosen]


class BlockBet:
    """Capital over blocks, for a rise (`e_up`) and for a fall (`e_down`) of the treated values.

    Stakes are effects divided by the spread within blocks, which is pooled over arms and so tells nothing of labels:
    the current block may be part of it. A block is added once, whole; repeats that come later are a new block.
    """

    __slots__ = ("_noise", "_weight", "down", "effects", "up")

    def __init__(self, effects: Sequence[float] = EFFECTS) -> None:
        if not effects or not all(effect > 0.0 for effect in effects):
            raise Refused(
                f"effects {tuple(effects)!r} are not all positive numbers.", hint="Give for example 0.3, 0.6."
            )
        self.effects = tuple(effects)
        self.up = [1.0 / len(self.effects)] * len(self.effects)
        self.down = list(self.up)
        self._noise, self._weight = 0.18, 2.0

    @property
    def spread(self) -> float:
        """Standard deviation within blocks, 0.3 before the first; never below 0.02."""
        return max(_LEAST_SPREAD, sqrt(self._noise / self._weight))

    @property
    def e_up(self) -> float:
        return sum(self.up)

    @property
    def e_down(self) -> float:
        return sum(self.down)

    def add(self, treated: Sequence[float], control: Sequence[float]) -> None:
        """One block; values in [0, 1]. A block without a value in one of its arms is evidence of nothing."""
        if not treated or not control:
            return
        values = (*treated, *control)
        middle = sum(values) / len(values)
        self._noise += sum((value - middle) ** 2 for value in values)
        self._weight += len(values) - 1
        spread = self.spread
        for place, effect in enumerate(self.effects):
            stake = effect / spread
            self.up[place] = min(RICH, self.up[place] * permutation_e(treated, control, stake))
            self.down[place] = min(RICH, self.down[place] * permutation_e(treated, control, -stake))


def log_most_evidence(blocks: Sequence[tuple[int, int]]) -> float:
    """log of the largest e-value that any outcome of blocks of (treated, control) sizes can give: sum log C(t + c,
    t).
    """
    return fsum(log(comb(treated + control, treated)) for treated, control in blocks)
