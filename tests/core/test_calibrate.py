"""Scores against labels: every figure by hand, and what the sentences say."""

from __future__ import annotations

import json
from itertools import product
from math import sqrt
from pathlib import Path

import pytest

from ruleproof.codec.transcripts.registry import read_sessions
from ruleproof.core.calibrate import SWEEP, MetricCalibration, auc, calibrate, kappa, outcome_labels
from ruleproof.core.session import Session
from ruleproof.core.signals import evaluate_session

SCORES: dict[str, dict[str, float | None]] = {
    "a::1": {"m": 0.1, "other": 0.1},
    "1e5": {"m": 0.4, "other": 0.9},
    "c": {"m": 0.45, "other": 0.2},
    "d": {"m": 0.6, "other": 0.8},
    "e": {"m": 0.9, "other": 0.9},
    "f": {"m": 1.0, "other": None},
    "g": {"m": None, "other": 0.3},
}
LABELS = {"a::1": True, "1e5": True, "c": False, "d": True, "e": False, "f": False, "g": True, "nowhere": True}


def metric(name: str = "m", **options: float) -> MetricCalibration:
    found = calibrate(SCORES, LABELS, {"m": 0.5}, **options)
    return next(each for each in found.metrics if each.metric == name)


def test_the_distribution_counts_scores_and_missing_ones_apart() -> None:
    found = metric()
    assert (found.n, found.missing, found.minimum, found.maximum) == (6, 1, 0.1, 1.0)
    assert (found.mean, found.median, found.stdev) == pytest.approx((0.575, 0.525, sqrt(0.55875 / 5)))
    assert found.histogram == (0, 1, 0, 0, 2, 0, 1, 0, 0, 2)


def test_the_confusion_at_the_threshold_is_over_labelled_sessions_with_a_score() -> None:
    here = metric().at_threshold
    assert (here.tp, here.fp, here.fn, here.tn, here.below) == (2, 1, 1, 2, 3)
    assert (here.precision, here.recall, here.f1) == pytest.approx((2 / 3, 2 / 3, 2 / 3))
    assert (metric().labelled, metric().unseen) == (6, 2)


def test_a_score_at_the_threshold_is_not_below_it() -> None:
    found = calibrate({"a": {"m": 0.5}}, {"a": True}, {"m": 0.5})
    assert (found.metrics[0].at_threshold.tp, found.metrics[0].at_threshold.fn) == (0, 1)


def test_the_sweep_has_nineteen_points_and_names_the_lowest_best_one() -> None:
    found = metric()
    assert [point.threshold for point in found.sweep] == list(SWEEP)
    assert SWEEP[0] == 0.05
    assert SWEEP[-1] == 0.95
    assert [point.tp for point in found.sweep] == [0, 0, *[1] * 6, 2, 2, 2, 2, *[3] * 7]
    assert found.best_f1 is not None
    assert found.best_f1.threshold == 0.65
    assert found.best_f1.f1 == pytest.approx(6 / 7)


def test_the_threshold_for_a_precision_is_the_lowest_that_sees_anything() -> None:
    found = metric(target_precision=0.7).for_precision
    assert found is not None
    assert (found.threshold, found.tp, found.fp) == (0.15, 1, 0)
    inverse = calibrate({"a": {"m": 0.9}, "b": {"m": 0.1}}, {"a": True, "b": False}, {})
    assert inverse.metrics[0].for_precision is None


def test_auc_counts_pairs_with_ties_half() -> None:
    grid = [0.0, 0.25, 0.5]
    for failed in product(grid, repeat=3):
        for passed in product(grid, repeat=2):
            by_hand = sum((f < p) + (f == p) / 2 for f in failed for p in passed) / 6
            assert auc(failed, passed) == by_hand
    assert auc([], [1.0]) is None
    assert auc([1.0], []) is None
    assert metric().auc == pytest.approx(8 / 9)


@pytest.mark.parametrize(
    ("one", "other", "expected"),
    [
        ([], [], None),
        ([True, True], [True, True], None),
        ([True, False], [True, False], 1.0),
        ([True, False], [False, True], -1.0),
        ([True, True, False, False], [True, False, True, False], 0.0),
        (
            [True] * 20 + [False] * 15 + [True] * 5 + [False] * 10,
            [True] * 20 + [False] * 15 + [False] * 5 + [True] * 10,
            0.4,
        ),
    ],
)
def test_kappa_is_agreement_beyond_chance(one: list[bool], other: list[bool], expected: float | None) -> None:
    assert kappa(one, other) == (None if expected is None else pytest.approx(expected))


def test_agreement_is_over_sessions_that_every_metric_scored() -> None:
    agreement = calibrate(SCORES, {}, {}).agreement
    assert (agreement.sessions, agreement.share) == (5, 0.8)
    assert set(agreement.kappa) == {("m", "other")}
    one_only = calibrate({"a": {"m": 0.1}}, {}, {}).agreement
    assert (one_only.share, dict(one_only.kappa)) == (None, {})


def test_a_metric_that_never_has_a_score_says_nothing_and_spoils_no_agreement() -> None:
    scores: dict[str, dict[str, float | None]] = {session: {**row, "silent": None} for session, row in SCORES.items()}
    found = calibrate(scores, LABELS, {})
    silent = next(each for each in found.metrics if each.metric == "silent")
    assert silent.summary == ("silent has no score in any of 7 sessions: it says nothing.",)
    assert (silent.auc, silent.mean, silent.at_threshold.precision, silent.best_f1) == (None, None, None, None)
    assert found.agreement.sessions == 5


def test_without_labels_only_the_distribution_is_given() -> None:
    found = calibrate(SCORES, {}, {})
    assert all(each.auc is None and each.at_threshold.recall is None for each in found.metrics)
    assert all("nothing can be said" in " ".join(each.summary) for each in found.metrics)
    assert not calibrate({}, {}, {}).metrics


def test_the_sentences_name_the_figures_the_missing_and_the_roughness() -> None:
    text = " ".join(metric().summary)
    assert "sees 2 of 3 failed sessions (recall 0.67)" in text
    assert "accuses 1 of 3 passed ones" in text
    assert "none in 1" in text
    assert "2 labelled sessions have no m" in text
    assert "Only 3 failed and 3 passed" in text


@pytest.mark.parametrize(("failed", "word"), [(0.9, "is higher really better"), (0.5, "coin"), (0.1, "strong")])
def test_the_ranking_is_put_into_words(failed: float, word: str) -> None:
    scores = {"a": {"m": failed}, "b": {"m": failed}, "c": {"m": 0.5}, "d": {"m": 0.4 if failed == 0.1 else 0.5}}
    found = calibrate(scores, {"a": True, "b": True, "c": False, "d": False}, {"m": 0.45})
    text = " ".join(found.summary)
    assert word in text or "exactly what the labels say" in text


def test_labels_come_from_the_checker_where_it_has_a_score() -> None:
    scores: dict[str, dict[str, float | None]] = {
        "a": {"outcome": 0.0},
        "b": {"outcome": 1.0},
        "c": {"outcome": None},
        "d": {"other": 0.0},
        "e": {"outcome": 0.5},
    }
    assert outcome_labels(scores, {}) == {"a": True, "b": False, "e": False}
    assert outcome_labels(scores, {"outcome": 0.6})["e"] is True
    assert outcome_labels(scores, {}, "other") == {"d": True}


def test_a_calibration_is_plain_json() -> None:
    found = json.loads(json.dumps(calibrate(SCORES, LABELS, {}).as_json(), allow_nan=False))
    assert found["metrics"][0]["metric"] == "m"
    assert found["metrics"][0]["at_threshold"]["precision"] == pytest.approx(2 / 3)
    assert len(found["metrics"][0]["sweep"]) == 19
    assert found["agreement"]["kappa"][0]["metrics"] == ["m", "other"]


def test_on_recorded_sessions_the_trace_sees_little_and_the_report_says_so(data_dir: Path) -> None:
    with (data_dir / "tau_bench" / "gpt-4o-airline.json").open("rb") as file:
        found = [
            record for record in read_sessions(iter(lambda: file.read(1 << 16), b"")) if isinstance(record, Session)
        ]
    scores = {session.id: {score.metric: score.value for score in evaluate_session(session)} for session in found}
    report = calibrate(scores, outcome_labels(scores, {}), {})
    assert (report.sessions, report.failed, report.passed) == (200, 116, 84)
    trace = next(each for each in report.metrics if each.metric == "agent_reliability")
    assert trace.n == 200
    assert trace.at_threshold.recall is not None
    assert trace.at_threshold.recall < 0.5
    assert trace.auc is not None
    assert 0.5 < trace.auc < 0.7
    text = " ".join(trace.summary)
    assert "It sees little" in text
    assert "its silence is no evidence of success" in text
    perfect = sum(row["agent_reliability"] == 1.0 for row in scores.values())
    assert perfect == 161  # an identical call or an error in the other 39, as counted in the recording itself
