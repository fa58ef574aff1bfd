"""`ruleproof calibrate`: how well each metric sees failure, against labels or the recorded outcome."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.layout import Cell, paragraph, table
from ruleproof.surfaces.cli.opening import opened
from ruleproof.surfaces.cli.output import Reply, as_value
from ruleproof.surfaces.cli.verb import verb

if TYPE_CHECKING:
    from ruleproof.core.calibrate import Calibration, MetricCalibration
    from ruleproof.core.problems import Problem


@verb("ruleproof calibrate", "ruleproof calibrate --labels failed.csv --target-precision 0.8")
def calibrate(
    labels: Annotated[
        Path | None, typer.Option(metavar="FILE", help="Session and failed (yes or no), as CSV or JSON.")
    ] = None,
    target_precision: Annotated[
        float, typer.Option(min=0, max=1, help="Find the lowest threshold that reaches it.")
    ] = 0.9,
) -> Reply:
    """Compare the metrics with labels of failure.

    For each: precision, recall, F1, AUC, and a sweep of thresholds (with --json); then how far they agree. Without
    --labels the recorded metric `outcome` says which sessions failed.
    """
    from ruleproof.core.calibrate import calibrate as calibrate_it
    from ruleproof.core.calibrate import outcome_labels
    from ruleproof.engine.recorded_scores import recorded_scores

    given, problems = _labels(labels) if labels else (None, ())
    with opened() as harness:
        scores = recorded_scores(harness.workspace)
        threshold = harness.config.threshold
        failed = outcome_labels(scores, threshold) if given is None else given
        found = calibrate_it(scores, failed, threshold, target_precision=target_precision)
    data = {**found.as_json(), "problems": [as_value(problem) for problem in problems]}
    if not scores or not failed:
        missing = (
            "no session has a score"
            if not scores
            else f"no label: {'the file gives none' if labels else 'no session has an outcome'}"
        )
        return Reply(data, paragraph(f"Nothing could be checked: {missing}."), Exit.UNCHECKED)
    return Reply(data, _text(found, problems), Exit.PROBLEMS if problems else Exit.DONE)


def _labels(file: Path) -> tuple[dict[str, bool], tuple[Problem, ...]]:
    from ruleproof.codec.transcripts.labels import read_labels

    try:
        data = file.read_bytes()
    except OSError as error:
        raise typer.BadParameter(f"{file}: {error.strerror}", param_hint="--labels") from None
    labels, problems = read_labels([data])
    return dict(labels), problems


def _text(found: Calibration, problems: tuple[Problem, ...]) -> str:
    share = found.agreement.share
    parts = [
        f"{found.sessions} sessions; {found.failed} labelled failed, {found.passed} passed.",
        table(("metric", "scored", "missing", "below", "precision", "recall", "F1", "AUC"), map(_row, found.metrics)),
        *(paragraph(" ".join(metric.summary)) for metric in found.metrics),
    ]
    if share is not None:
        parts.append(
            paragraph(f"All metrics agree in {share:.0%} of the {found.agreement.sessions} sessions that have each.")
        )
    parts += [paragraph(str(problem), indent="  ") for problem in problems]
    return "\n\n".join(parts)


def _row(metric: MetricCalibration) -> tuple[Cell, ...]:
    here = metric.at_threshold
    return (metric.metric, metric.n, metric.missing, here.threshold, here.precision, here.recall, here.f1, metric.auc)
