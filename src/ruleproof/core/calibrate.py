"""How well a metric sees failure: its scores against labels, at its threshold and at every other one.

Pure. A session counts as seen where its score is strictly below the threshold; a missing score is counted as missing
and as nothing else, so precision, recall and AUC are over labelled sessions that have a score, and the summary says how
many have none. No figure is given where its denominator is zero.
"""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from statistics import fmean, median, stdev

from ruleproof.core.signals import OUTCOME, Thresholds, threshold_of

SWEEP = tuple(step / 20 for step in range(1, 20))
"""0.05, 0.10, ... 0.95."""


@dataclass(frozen=True, slots=True)
class Confusion:
    """Alarms against labels: `tp` failed and seen, `fp` passed and seen, `fn` failed and not seen, `tn` the rest."""

    threshold: float
    below: int
    """Sessions with a score below the threshold, labelled or not."""
    tp: int
    fp: int
    fn: int
    tn: int

    @property
    def precision(self) -> float | None:
        return _share(self.tp, self.tp + self.fp)

    @property
    def recall(self) -> float | None:
        return _share(self.tp, self.tp + self.fn)

    @property
    def f1(self) -> float | None:
        return _share(2 * self.tp, 2 * self.tp + self.fp + self.fn)

    def as_json(self) -> dict[str, float | None]:
        counts = {"tp": self.tp, "fp": self.fp, "fn": self.fn, "tn": self.tn}
        rates = {"precision": self.precision, "recall": self.recall, "f1": self.f1}
        return {"threshold": self.threshold, "below": self.below, **counts, **rates}


@dataclass(frozen=True, slots=True)
class MetricCalibration:
    """One metric. Figures in [0, 1]; None where there is nothing to compute them from."""

    metric: str
    n: int
    """Sessions with a score."""
    missing: int
    minimum: float | None
    maximum: float | None
    mean: float | None
    median: float | None
    stdev: float | None
    """Of the sample; needs two scores."""
    histogram: tuple[int, ...]
    """Ten buckets of a tenth each; 1.0 falls into the last."""
    labelled: int
    """Sessions with a score and a label."""
    unseen: int
    """Sessions with a label and without a score."""
    at_threshold: Confusion
    auc: float | None
    """The chance that a failed session scores lower than a passed one, ties counted half (Mann-Whitney); exact."""
    sweep: tuple[Confusion, ...]
    best_f1: Confusion | None
    """The sweep point of the highest F1; the lowest such threshold."""
    for_precision: Confusion | None
    """The lowest sweep point that reaches the target precision and sees any failure."""
    target_precision: float
    summary: tuple[str, ...]

    def as_json(self) -> dict[str, object]:
        plain = {name: getattr(self, name) for name in self.__slots__ if name not in _NESTED}
        return {
            **plain,
            "at_threshold": self.at_threshold.as_json(),
            "sweep": [point.as_json() for point in self.sweep],
            "best_f1": self.best_f1.as_json() if self.best_f1 else None,
            "for_precision": self.for_precision.as_json() if self.for_precision else None,
        }


_NESTED = ("at_threshold", "sweep", "best_f1", "for_precision")


@dataclass(frozen=True, slots=True)
class Agreement:
    """Whether the metrics that have scores give the same verdict (below its threshold or not) on the same sessions."""

    sessions: int
    """Sessions in which each of them has a score."""
    share: float | None
    """Share of those in which all verdicts are the same; None with fewer than two metrics."""
    kappa: Mapping[tuple[str, str], float | None]
    """Cohen's kappa of each pair, over the sessions that both score; None where chance alone explains everything."""


@dataclass(frozen=True, slots=True)
class Calibration:
    sessions: int
    failed: int
    passed: int
    metrics: tuple[MetricCalibration, ...]
    agreement: Agreement

    @property
    def summary(self) -> tuple[str, ...]:
        """Every metric's sentences, in plain words."""
        return tuple(sentence for metric in self.metrics for sentence in metric.summary)

    def as_json(self) -> dict[str, object]:
        kappa = [{"metrics": list(pair), "kappa": value} for pair, value in self.agreement.kappa.items()]
        return {
            "sessions": self.sessions,
            "failed": self.failed,
            "passed": self.passed,
            "metrics": [metric.as_json() for metric in self.metrics],
            "agreement": {"sessions": self.agreement.sessions, "share": self.agreement.share, "kappa": kappa},
        }


def outcome_labels(
    scores: Mapping[str, Mapping[str, float | None]], thresholds: Thresholds, metric: str = OUTCOME
) -> dict[str, bool]:
    """Session -> whether it failed, as the checker `metric` has it; sessions that it did not score are left out."""
    limit = threshold_of(thresholds, metric)
    return {session: value < limit for session, row in scores.items() if (value := row.get(metric)) is not None}


def calibrate(
    scores: Mapping[str, Mapping[str, float | None]],
    labels: Mapping[str, bool],
    thresholds: Thresholds,
    *,
    target_precision: float = 0.9,
) -> Calibration:
    """Each metric of `scores` (session -> metric -> value, None = missing) against `labels` (session -> failed).

    Labels of sessions without scores count as unseen. Metrics come in alphabetical order.
    """
    names = sorted({metric for row in scores.values() for metric in row})
    limits = {metric: threshold_of(thresholds, metric) for metric in names}
    return Calibration(
        len(scores),
        sum(labels.values()),
        sum(not failed for failed in labels.values()),
        tuple(_metric(metric, scores, labels, limits[metric], target_precision) for metric in names),
        _agreement(scores, {metric: limits[metric] for metric in names if _scored(metric, scores)}),
    )


def auc(failed: Sequence[float], passed: Sequence[float]) -> float | None:
    """The chance that a failed session scores lower than a passed one, ties half; None if either group is empty."""
    if not failed or not passed:
        return None
    ordered = sorted(passed)
    doubled = sum(2 * len(ordered) - bisect_left(ordered, value) - bisect_right(ordered, value) for value in failed)
    return doubled / (2 * len(failed) * len(passed))


def kappa(one: Sequence[bool], other: Sequence[bool]) -> float | None:
    """Cohen's kappa of two rows of verdicts of equal length; None if empty or if both always say the same one thing."""
    n = len(one)
    if not n:
        return None
    same = sum(a == b for a, b in zip(one, other, strict=True))
    by_chance = sum(one) * sum(other) + (n - sum(one)) * (n - sum(other))  # times n squared
    return None if by_chance == n * n else (same * n - by_chance) / (n * n - by_chance)


def _metric(
    metric: str,
    scores: Mapping[str, Mapping[str, float | None]],
    labels: Mapping[str, bool],
    limit: float,
    target: float,
) -> MetricCalibration:
    given = {session: value for session, row in scores.items() if (value := row.get(metric)) is not None}
    values = sorted(given.values())
    failed = sorted(value for session, value in given.items() if labels.get(session) is True)
    passed = sorted(value for session, value in given.items() if labels.get(session) is False)
    here = _confusion(limit, values, failed, passed)
    sweep = tuple(_confusion(step, values, failed, passed) for step in SWEEP)
    ranked = [point for point in sweep if point.f1]
    best = max(ranked, key=lambda point: point.f1 or 0.0, default=None)
    reached = next((point for point in sweep if point.tp and (point.precision or 0.0) >= target), None)
    chance = auc(failed, passed)
    histogram = [0] * 10
    for value in values:
        histogram[min(9, max(0, int(value * 10)))] += 1
    unseen = sum(session not in given for session in labels)
    missing = len(scores) - len(given)
    return MetricCalibration(
        metric,
        len(values),
        missing,
        values[0] if values else None,
        values[-1] if values else None,
        fmean(values) if values else None,
        median(values) if values else None,
        stdev(values) if len(values) > 1 else None,
        tuple(histogram),
        len(failed) + len(passed),
        unseen,
        here,
        chance,
        sweep,
        best,
        reached,
        target,
        _summary(metric, here, chance, reached, target, len(values), missing, unseen),
    )


def _confusion(limit: float, values: Sequence[float], failed: Sequence[float], passed: Sequence[float]) -> Confusion:
    """All three sorted."""
    tp, fp = bisect_left(failed, limit), bisect_left(passed, limit)
    return Confusion(limit, bisect_left(values, limit), tp, fp, len(failed) - tp, len(passed) - fp)


def _agreement(scores: Mapping[str, Mapping[str, float | None]], limits: Mapping[str, float]) -> Agreement:
    verdicts = [
        {metric: value < limits[metric] for metric, value in row.items() if value is not None}
        for row in scores.values()
    ]
    full = [row for row in verdicts if len(row) == len(limits)]
    share = _share(sum(len(set(row.values())) == 1 for row in full), len(full)) if len(limits) > 1 else None
    pairs: dict[tuple[str, str], float | None] = {}
    for one, other in combinations(limits, 2):
        both = [row for row in verdicts if one in row and other in row]
        pairs[one, other] = kappa([row[one] for row in both], [row[other] for row in both])
    return Agreement(len(full), share, pairs)


def _summary(
    metric: str,
    here: Confusion,
    chance: float | None,
    reached: Confusion | None,
    target: float,
    n: int,
    missing: int,
    unseen: int,
) -> tuple[str, ...]:
    """The figures in sentences, those that disappoint included."""
    if not n:
        return (f"{metric} has no score in any of {missing} sessions: it says nothing.",)
    said = [f"{metric} has a score in {n} sessions" + (f" and none in {missing}." if missing else ".")]
    failed, passed = here.tp + here.fn, here.fp + here.tn
    if unseen:
        said.append(f"{unseen} labelled sessions have no {metric}; they are in none of its figures.")
    if not failed or not passed:
        said.append(f"{failed} failed and {passed} passed sessions are labelled: nothing can be said without both.")
        return tuple(said)
    if here.fn == here.fp == 0:
        said.append(f"At {here.threshold:.2f} it says exactly what the labels say; it may be where they come from.")
        return tuple(said)
    said.append(_seen(metric, here, failed, passed))
    if chance is not None:
        said.append(f"Its AUC is {chance:.2f}: {_ranking(chance)}.")
    if (here.recall or 0.0) < 0.5:
        said.append(
            f"It sees little: {here.fn} of {failed} failed sessions look healthy to it, so its silence is no evidence "
            "of success."
        )
    if reached is None:
        said.append(f"No threshold of the sweep reaches a precision of {target:.2f}.")
    else:
        said.append(
            f"The lowest threshold with a precision of {target:.2f} is {reached.threshold:.2f}; it sees "
            f"{reached.tp} of {failed} failed sessions."
        )
    if min(failed, passed) < 20:
        said.append(f"Only {failed} failed and {passed} passed sessions are labelled: these figures are rough.")
    return tuple(said)


def _seen(metric: str, here: Confusion, failed: int, passed: int) -> str:
    alarms = here.tp + here.fp
    right = f"{here.tp} of its {alarms} alarms are right (precision {here.precision:.2f})" if alarms else "no alarm"
    return (
        f"Below {here.threshold:.2f} it sees {here.tp} of {failed} failed sessions (recall {here.recall:.2f}) and "
        f"accuses {here.fp} of {passed} passed ones: {right}."
    )


def _ranking(chance: float) -> str:
    """AUC in words; the bands are the customary ones."""
    if chance < 0.45:
        return "failed sessions score higher than passed ones; is higher really better?"
    bands = ((0.6, "hardly better than a coin (0.5)"), (0.7, "weak"), (0.8, "fair"), (0.9, "good"))
    return next((word for limit, word in bands if chance < limit), "strong")


def _scored(metric: str, scores: Mapping[str, Mapping[str, float | None]]) -> bool:
    return any(row.get(metric) is not None for row in scores.values())


def _share(part: int, whole: int) -> float | None:
    return part / whole if whole else None
