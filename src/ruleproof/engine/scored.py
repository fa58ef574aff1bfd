"""What an evaluator returned, as scores; or what is wrong with it, in words: then there are no scores at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from ruleproof.core import ids
from ruleproof.core.score import Score, checked_value
from ruleproof.errors import RuleproofError


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
            checked_value(score.metric, score.value)
    except (RuleproofError, TypeError, AttributeError) as error:
        return (), str(error)[:500]
    return scores, ""
