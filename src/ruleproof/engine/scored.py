"""What an evaluator returned, as scores; or what is wrong with it, in words: then there are no scores at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import get_args

from ruleproof.core import ids
from ruleproof.core.score import Score, Source, checked_value
from ruleproof.errors import Refused


def as_scores(raw: object, threshold: Callable[[str], float]) -> tuple[tuple[Score, ...], str]:
    """(scores, failure) of a mapping of metric to a number or None, of a sequence of Score, of None, of an exception.

    `threshold(metric)` is that of a metric whose score comes without one.
    """
    if isinstance(raw, BaseException):
        said = "timed out" if isinstance(raw, TimeoutError) else f"{type(raw).__name__}: {raw}"
        return (), said[:500]
    if raw is None:
        return (), ""
    try:
        if isinstance(raw, Mapping):
            return tuple(
                Score(ids.opaque(name, "metric"), checked_value(name, value), threshold(name))
                for name, value in raw.items()
            ), ""
        scores: tuple[Score, ...] = tuple(raw)  # type: ignore[arg-type]
        for score in scores:
            check(score)
    except Exception as error:  # whatever a foreign object does when it is looked at
        return (), (str(error) or type(error).__name__)[:500]
    return scores, ""


def check(score: object) -> None:
    """Raise Refused where a Score of an evaluator's holds anything but what its fields promise."""
    if not isinstance(score, Score):
        raise Refused(f"an evaluator gave {ids.shown(score)} where a Score belongs.")
    metric = ids.opaque(score.metric, "metric")
    checked_value(metric, score.value)
    checked_value(f"threshold of {metric}", score.threshold)
    if not isinstance(score.reason, str) or score.source not in get_args(Source):
        raise Refused(f"score {metric!r} has reason {ids.shown(score.reason)} and source {ids.shown(score.source)}.")
    for trace in score.flagged:
        ids.opaque(trace, "trace")
    for trace, signals in score.signals.items():
        ids.opaque(trace, "trace")
        for name, value in signals.items():
            checked_value(f"signal {ids.opaque(name, 'metric')}", value)
