"""Who sees a rule: a keyed coin that is fixed before any outcome and can be recomputed by anybody who holds the key.

The same key, rule and unit always give the same arm; without the key the arm cannot be told from a fair coin. Nothing
here looks at outcomes, at time, or at how many units there were before (blocks excepted, which count their own task).
"""

from __future__ import annotations

import hashlib
import hmac
from collections import Counter
from collections.abc import Iterable
from math import isfinite

from ruleproof.core.evidence.stream import Arm
from ruleproof.errors import Refused

_SPAN = float(1 << 53)


def assigned(key: bytes, rule_digest: str, unit: str, holdout: float) -> Arm:
    """The arm of one unit; P(withheld) = `holdout` in [0, 1) over keys. Raises Refused for another holdout.

    HMAC-SHA-256 (RFC 2104) over the length-prefixed digest and unit; its first 53 bits are compared with the holdout.
    """
    if not isfinite(holdout) or not 0.0 <= holdout < 1.0:
        raise Refused(f"rule_holdout is {holdout!r}.", hint="Give a fraction from 0 up to, not including, 1.")
    return "withheld" if _coin(key, "unit", rule_digest, unit) < holdout else "shown"


def assigned_in_block(key: bytes, rule_digest: str, task: str, occurrence: int) -> tuple[Arm, str]:
    """(arm, block id) of the `occurrence`-th unit (from 0) of a task: in every two, one is shown and one withheld.

    The order within a block is a fair coin. Blocked (stratified permuted-block) randomisation: Zelen 1974.
    """
    if occurrence < 0:
        raise Refused(f"occurrence is {occurrence}.", hint="Count the units of a task from 0.")
    number = occurrence // 2
    first_withheld = _coin(key, "block", rule_digest, f"{number}:{task}") < 0.5
    withheld = first_withheld == (occurrence % 2 == 0)
    return ("withheld" if withheld else "shown"), f"{task}#{number}"


def unit_in_task(task: str, occurrence: int) -> str:
    """The unit that is the `occurrence`-th (from 0) of its task. No session has such an id: ids hold no tab."""
    return f"{task}\t{occurrence}"


def place_in_task(unit: str) -> tuple[str, int] | None:
    """(task, occurrence) of a unit made by `unit_in_task`; None for any other."""
    task, tab, number = unit.rpartition("\t")
    return (task, int(number)) if tab and number.isascii() and number.isdigit() and len(number) < 10 else None


def suits_blocks(history: Iterable[str | None]) -> bool:
    """Whether a trial should be blocked, from the task ids of 20 or more earlier sessions: two thirds have a partner.

    A blocked unit is worth more (its partner is its control), and nothing while it has none. Decide before the trial.
    """
    sizes = Counter(history)
    alone = sizes.pop(None, 0)
    total = sum(sizes.values()) + alone
    return total >= 20 and 3 * sum(size // 2 * 2 for size in sizes.values()) >= 2 * total


def _coin(key: bytes, kind: str, rule_digest: str, unit: str) -> float:
    """A number in [0, 1) that looks uniform to whoever lacks the key. Any text is legal, lone surrogates included."""
    parts = [text.encode("utf-8", "surrogatepass") for text in (kind, rule_digest, unit)]
    message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    return (int.from_bytes(hmac.digest(key, message, hashlib.sha256)[:8], "big") >> 11) / _SPAN
