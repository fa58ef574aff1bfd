"""A notice: what went wrong in one session (or in ingested history), for an agent or a person to act on.

It is built from a report and its judgement, and lists alerting metrics only. Reasons come from evaluators and models,
so credentials in them are redacted and all prose is put on one safe line; ids, metric names and signatures stay what
they were, so that they still match, and whoever renders them sanitizes them.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Literal

from ruleproof.core.gate import Judgement
from ruleproof.core.gate import metric_of as family
from ruleproof.core.ids import shown
from ruleproof.core.score import Report, Score
from ruleproof.core.secrets import redact
from ruleproof.core.text import one_line
from ruleproof.errors import Refused

__all__ = [
    "MAX_TAGS",
    "SEVERITIES",
    "MailboxStatus",
    "Notice",
    "NoticeMetric",
    "Resolution",
    "Severity",
    "build",
    "clean_tags",
    "derive_tags",
    "family",
    "in_family",
    "ingest_notice",
    "needs_human",
    "notice_id",
    "summarise",
    "worst",
]

Severity = Literal["trend", "relative", "breach", "needs_human"]
SEVERITIES: tuple[Severity, ...] = ("trend", "relative", "breach", "needs_human")
"""From the mildest to the worst."""

_OF_CONDITION: Mapping[str, Severity] = MappingProxyType({"breach": "breach", "relative": "relative"})

MAX_TAGS, MAX_TAG = 16, 48
_IN_SUMMARY = 5
_EXAMPLES = 3
_MAX_LEN = 2000
_NO_SIGNALS: Mapping[str, Mapping[str, float | None]] = MappingProxyType({})
_NOTHING: Mapping[str, object] = MappingProxyType({})
_COMPACT = re.compile(r"[0-9]{8}T[0-9]{12}")
_HEX8 = re.compile(r"[0-9a-f]{8}")


@dataclass(frozen=True, slots=True)
class NoticeMetric:
    """One alerting metric. `value` in [0, 1], or None where a foreign record has none."""

    name: str
    value: float | None
    threshold: float
    reason: str | None = None
    conditions: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Resolution:
    """How a notice was settled, and when (ISO-8601, UTC)."""

    acked_at: str
    rule_id: str | None = None
    note: str | None = None


@dataclass(frozen=True, slots=True)
class Notice:
    """One record of the mailbox. Times are ISO-8601, UTC."""

    id: str
    created_at: str
    session_id: str
    turn_index: int = 0
    severity: Severity = "breach"
    metrics: tuple[NoticeMetric, ...] = ()
    flagged_traces: tuple[str, ...] = ()
    signal_breakdown: Mapping[str, Mapping[str, float | None]] = field(default_factory=lambda: _NO_SIGNALS)
    """Trace id -> signal -> value in [0, 1]."""
    dump_path: str = ""
    summary: str = ""
    signatures: tuple[str, ...] = ()
    """Sorted."""
    status: Literal["pending", "acknowledged"] = "pending"
    resolution: Resolution | None = None
    count: int = 1
    """How many sessions it stands for."""
    examples: tuple[str, ...] = ()
    """Some of those sessions."""
    source: Literal["live", "ingest"] = "live"
    task_id: str | None = None
    extra: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    """What a foreign record holds beyond this, key by key as it was read; written back as it is."""


@dataclass(frozen=True, slots=True)
class MailboxStatus:
    """What waits. `latest_id` is the newest pending notice."""

    pending_count: int = 0
    max_severity: Severity | None = None
    latest_id: str | None = None


def build(
    report: Report,
    judgement: Judgement,
    *,
    notice_id: str,
    now: str,
    dump_path: str = "",
    max_len: int = _MAX_LEN,
) -> Notice:
    """The notice of a judgement with at least one signature. Raises Refused where there is none."""
    if judgement.severity is None:
        raise Refused(f"The report of session {shown(report.session_id)} raises no alert: there is nothing to notice.")
    metrics = _metrics(judgement, max_len)
    flagged = _flagged(judgement)
    summary = "; ".join(
        f"{m.name}={_figure(m.value)} [{', '.join(m.conditions)}, threshold {_figure(m.threshold)}]" for m in metrics
    )
    if flagged:
        summary += f"; flagged traces: {', '.join(flagged[:_IN_SUMMARY])}"
    return _notice(report, judgement, judgement.severity, summary, notice_id, now, dump_path, max_len)


def needs_human(
    report: Report,
    judgement: Judgement,
    *,
    count: int,
    window_s: float,
    notice_id: str,
    now: str,
    max_len: int = _MAX_LEN,
) -> Notice:
    """The call for a person when the breaker trips on this report, after `count` notices in `window_s` seconds."""
    summary = (
        f"{count} notices in the last {window_s:g} seconds: self-healing is paused until the rate falls. "
        "A person needs to look at what the sessions have in common."
    )
    return _notice(report, judgement, "needs_human", summary, notice_id, now, "", max_len)


def ingest_notice(
    signature: str,
    value: float | None,
    threshold: float,
    count: int,
    total: int,
    examples: Sequence[str],
    *,
    notice_id: str,
    now: str,
    max_len: int = _MAX_LEN,
) -> Notice:
    """One notice for one signature over recorded history: it hit `count` of `total` scored sessions.

    `value` is the mean of the metric over the sessions that were hit; of `examples` the first three are kept.
    """
    condition, _, metric = signature.partition(":")
    some = tuple(examples[:_EXAMPLES])
    summary = f"{signature} in {count} of {total} recorded sessions"
    if value is not None:
        summary += f" (mean {_figure(value)}, threshold {_figure(threshold)})"
    if some:
        summary += f"; for example {', '.join(some)}"
    return Notice(
        id=notice_id,
        created_at=now,
        session_id=some[0] if some else "",
        severity=_OF_CONDITION.get(condition, "trend"),
        metrics=(NoticeMetric(metric, value, threshold, None, (condition,)),),
        summary=one_line(summary, max_len),
        signatures=(signature,),
        count=count,
        examples=some,
        source="ingest",
    )


def notice_id(at_compact: str, hex8: str) -> str:
    """`n-YYYYMMDDTHHMMSSffffff-xxxxxxxx` from a UTC time without separators and eight hex digits; sorts by time."""
    if not _COMPACT.fullmatch(at_compact) or not _HEX8.fullmatch(hex8):
        raise Refused(f"{shown(at_compact)} and {shown(hex8)} make no notice id.")
    return f"n-{at_compact}-{hex8}"


def derive_tags(notice: Notice) -> tuple[str, ...]:
    """Tags for a rule that this notice motivates: signatures, metric names, signal names, severity."""
    signals = (name for trace in notice.signal_breakdown.values() for name in trace)
    return clean_tags((*notice.signatures, *(m.name for m in notice.metrics), *signals, notice.severity))


def clean_tags(tags: Iterable[str]) -> tuple[str, ...]:
    """Each on one line, stripped, casefolded, cut to 48 characters; no empty one, no repeat, at most 16."""
    found: dict[str, None] = {}
    for tag in tags:
        clean = one_line(tag).strip().casefold()[:MAX_TAG].strip()
        if clean:
            found[clean] = None
            if len(found) == MAX_TAGS:
                break
    return tuple(found)


def in_family(signatures: Iterable[str], metric: str | None) -> bool:
    """Whether one of them is of breach, relative, trend or percentile on `metric`; without a metric, whether any is."""
    return any(metric is None or family(signature) == metric for signature in signatures)


def worst(severities: Iterable[Severity]) -> Severity | None:
    """The worst of them; None of none."""
    return max(severities, key=SEVERITIES.index, default=None)


def summarise(pending: Sequence[Notice]) -> MailboxStatus:
    """The status of a mailbox in which `pending` waits, oldest first."""
    latest = pending[-1].id if pending else None
    return MailboxStatus(len(pending), worst(notice.severity for notice in pending), latest)


def _notice(
    report: Report,
    judgement: Judgement,
    severity: Severity,
    summary: str,
    notice_id: str,
    now: str,
    dump_path: str,
    max_len: int,
) -> Notice:
    return Notice(
        id=notice_id,
        created_at=now,
        session_id=report.session_id,
        turn_index=report.turn,
        severity=severity,
        metrics=_metrics(judgement, max_len),
        flagged_traces=_flagged(judgement),
        signal_breakdown=_breakdown(finding.score for finding in judgement.alerting),
        dump_path=dump_path,
        summary=one_line(summary, max_len),
        signatures=judgement.signatures,
        task_id=report.task_id,
    )


def _metrics(judgement: Judgement, max_len: int) -> tuple[NoticeMetric, ...]:
    return tuple(
        NoticeMetric(
            name=finding.score.metric,
            value=finding.score.value,
            threshold=finding.score.threshold,
            reason=one_line(redact(finding.score.reason)[0], max_len) or None,
            conditions=finding.conditions,
        )
        for finding in judgement.alerting
    )


def _figure(value: float | None) -> str:
    return "missing" if value is None else f"{value:.2f}"


def _flagged(judgement: Judgement) -> tuple[str, ...]:
    return tuple(dict.fromkeys(trace for finding in judgement.alerting for trace in finding.score.flagged))


def _breakdown(scores: Iterable[Score]) -> Mapping[str, Mapping[str, float | None]]:
    found: dict[str, dict[str, float | None]] = {}
    for score in scores:
        for trace, signals in score.signals.items():
            found.setdefault(trace, {}).update(signals)
    return found
