"""Whether what a comparison shows survives the values that it lacks: as if all of them had been 0, and as if all 1.

A score that is missing because of what happened in the session is missing in one arm more than in the other, long
before a test of the counts can tell. So nothing is decided in favour of a rule, and no other metric speaks against it,
on the strength of who got a score.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

from ruleproof.core.evidence.exact import sign_test
from ruleproof.core.evidence.permutation import BlockBet
from ruleproof.core.evidence.stream import Arm, Stream

Seen = tuple[Arm, str | None, float | None, str | None]
"""One unit: arm, task, value (None = missing), block."""
Arms = tuple[Sequence[float], int, Sequence[float], int]
"""One case of one round: the values of an arm and how many replays it had, treated and then control."""
FILLS = (0.0, 1.0)


def least_of_sessions(units: Iterable[Seen], stream: Callable[[], Stream], *, up: bool) -> float:
    """The smaller e-value (`up`: of help, else of harm) of the two fillings."""
    units, found = tuple(units), []
    for fill in FILLS:
        filled = stream()
        for arm, task, value, block in units:
            filled.add(arm, task, fill if value is None else value, block)
        found.append(filled.bet.e_up if up else filled.bet.e_down)
    return min(found)


def least_of_replays(cases: Iterable[Arms], effects: tuple[float, ...]) -> float:
    """The same for the help that replays show."""
    found = []
    for blocks in filled(cases):
        bet = BlockBet(effects)
        for treated, control in blocks:
            bet.add(treated, control)
        found.append(bet.e_up)
    return min(found)


def exact_of_replays(cases: Iterable[Arms]) -> float:
    """The larger p of the exact sign test on all their pairs, of the two fillings."""
    found = []
    for blocks in filled(cases):
        pairs = [one - other for block in blocks for one, other in zip(*block, strict=False)]
        found.append(sign_test(sum(pair > 0.0 for pair in pairs), sum(pair < 0.0 for pair in pairs)))
    return max(found)


def filled(cases: Iterable[Arms]) -> list[list[tuple[list[float], list[float]]]]:
    """(treated, control) of each case, under each filling."""
    known = tuple(cases)
    return [
        [
            ([*treated, *[fill] * (of_treated - len(treated))], [*control, *[fill] * (of_control - len(control))])
            for treated, of_treated, control, of_control in known
        ]
        for fill in FILLS
    ]
