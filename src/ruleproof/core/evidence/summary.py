"""The evidence of a verdict in one sentence. It may come from a journal that anybody wrote, so anything may be missing
or of a wrong type; then the sentence is shorter.
"""

from __future__ import annotations

from collections.abc import Mapping
from math import isfinite

GRADES = ("none", "weak", "moderate", "strong")


KINDS = ("replays", "sessions")
"""Where the evidence of another kind stands, which counts beside that of a verdict."""


def summary(evidence: Mapping[str, object]) -> str:
    """Grade, counts of both arms, effect with interval, chance; empty where nothing of that is there. What counts
    beside it follows.
    """
    beside = [f"its {kind}: {_alone(other)}" for kind in KINDS if isinstance(other := evidence.get(kind), Mapping)]
    return "; ".join(said for said in (_alone(evidence), *beside) if said)


def _alone(evidence: Mapping[str, object]) -> str:
    grade = evidence.get("grade")
    parts = [_arms(evidence), _effect(evidence), _chance(evidence), _more(evidence)]
    said = "; ".join(part for part in parts if part)
    return f"{grade if grade in GRADES else 'none'}{f' ({said})' if said else ''}" if said or grade in GRADES else ""


def _arms(evidence: Mapping[str, object]) -> str:
    shown, withheld = (_arm(evidence, name) for name in ("shown", "withheld"))
    if shown and withheld:
        return f"shown {shown}, withheld {withheld}"
    hit, seen = evidence.get("breached"), evidence.get("sessions")
    if isinstance(hit, int) and isinstance(seen, int):
        before = evidence.get("baseline")
        figures = (before.get("breached"), before.get("sessions")) if isinstance(before, dict) else (None, 0)
        history = f"{figures[0]} of {figures[1]} before" if figures[1] else "no history before"
        return f"{hit} of {seen} sessions alerted, {history}"
    pairs = evidence.get("pairs")
    return f"{pairs} pairs of replays" if isinstance(pairs, int) else ""


def _arm(evidence: Mapping[str, object], name: str) -> str:
    arm = evidence.get(name)
    if not isinstance(arm, dict) or not isinstance(arm.get("counted"), int):
        return ""
    mean = number(arm.get("mean"))
    missing = arm.get("missing")
    lost = f", {missing} without a score" if isinstance(missing, int) and missing else ""
    return f"{'-' if mean is None else f'{mean:.2f}'} over {arm['counted']}{lost}"


def _effect(evidence: Mapping[str, object]) -> str:
    effect, interval = number(evidence.get("effect")), evidence.get("interval")
    if effect is None:
        return ""
    limits = [number(limit) for limit in interval] if isinstance(interval, (list, tuple)) else []
    low, high = limits if len(limits) == 2 else (None, None)
    return f"effect {effect:+.2f}" + (f" [{low:+.2f}, {high:+.2f}]" if low is not None and high is not None else "")


def _chance(evidence: Mapping[str, object]) -> str:
    chance = number(evidence.get("chance"))
    if chance is not None:
        return f"chance that a useless rule shows as much: at most {chance:.2g}"
    chance = number(evidence.get("chance_useless_passes"))
    return f"chance that a useless rule passes this gate: {chance:.2g}" if chance is not None else ""


def _more(evidence: Mapping[str, object]) -> str:
    for name, what in (("units_needed", "sessions"), ("pairs_needed", "pairs")):
        needed = evidence.get(name)
        if isinstance(needed, int):
            return f"about {needed} more {what} at this effect"
    return ""


def number(value: object) -> float | None:
    """A finite number, else None; a boolean is none."""
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not isfinite(value):
        return None
    return float(value)
