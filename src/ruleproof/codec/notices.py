"""Notice files: JSON, two spaces of indent, sorted keys, ASCII only: byte for byte what the 0.6 system writes.

Reading never raises and never loses: whatever our record would not write back as it stood (unknown keys, fields of a
wrong type, a severity of the future) is kept beside it and written back. What belongs to us alone is written only where
it differs from its default. A file without a usable id is a Problem.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from math import isfinite

from ruleproof.core.ids import component, shown
from ruleproof.core.notice import SEVERITIES, MailboxStatus, Notice, NoticeMetric, Resolution
from ruleproof.core.problems import Problem
from ruleproof.errors import Refused

MAX_BYTES = 8 << 20
"""A larger file is not read."""
MAX_DEPTH = 32
_SETTLED = ("id", "status", "resolution")
"""Fields that acknowledging writes anew, so a foreign value of theirs is not kept."""


def encode(notice: Notice) -> bytes:
    """The file of a notice."""
    return _dumped(to_json(notice))


def decode(data: bytes, where: str) -> tuple[Notice | None, tuple[Problem, ...]]:
    """The notice in a file named `where`, with a warning for each field of a wrong type; None where there is none."""
    try:
        value: object = json.loads(data.decode("utf-8-sig"))
    except UnicodeDecodeError as error:
        return None, (Problem("bad-encoding", f"not UTF-8 (byte {error.start}); the notice is left as it is", where),)
    except (ValueError, RecursionError):
        return None, (Problem("broken-file", "not JSON (torn or foreign); the notice is left as it is", where),)
    return from_json(value, where)


def to_json(notice: Notice) -> dict[str, object]:
    """The record as a JSON object; also the body of its journal event."""
    record: dict[str, object] = {
        "id": notice.id,
        "created_at": notice.created_at,
        "session_id": notice.session_id,
        "turn_index": notice.turn_index,
        "severity": notice.severity,
        "metrics": [
            {
                "name": metric.name,
                "value": _number(metric.value),
                "threshold": _number(metric.threshold),
                "reason": metric.reason,
                "conditions": list(metric.conditions),
            }
            for metric in notice.metrics
        ],
        "flagged_traces": list(notice.flagged_traces),
        "signal_breakdown": {
            trace: {name: _number(value) for name, value in signals.items()}
            for trace, signals in notice.signal_breakdown.items()
        },
        "dump_path": notice.dump_path,
        "summary": notice.summary,
        "signatures": list(notice.signatures),
        "status": notice.status,
        "resolution": _resolution_to(notice.resolution),
    }
    ours: dict[str, tuple[object, object]] = {
        "count": (notice.count, 1),
        "examples": (list(notice.examples), []),
        "source": (notice.source, "live"),
        "task_id": (notice.task_id, None),
    }
    return record | {key: value for key, (value, default) in ours.items() if value != default} | dict(notice.extra)


def from_json(value: object, where: str = "") -> tuple[Notice | None, tuple[Problem, ...]]:
    """The notice that a JSON value describes; see `decode`."""
    try:
        name, value = _checked(value)
    except Refused as refusal:
        return None, (Problem("bad-notice", f"{refusal.message} The notice is left as it is.", where),)
    get = value.get
    severity = get("severity")
    fields = {
        "id": name,
        "created_at": _text(get("created_at")),
        "session_id": _text(get("session_id")),
        "turn_index": _whole(get("turn_index"), 0),
        "severity": severity if severity in SEVERITIES else "breach",
        "metrics": tuple(_metric_from(item) for item in _list(get("metrics")) if isinstance(item, dict)),
        "flagged_traces": _texts(get("flagged_traces")),
        "signal_breakdown": {
            trace: {signal: _number(number) for signal, number in signals.items()}
            for trace, signals in _object(get("signal_breakdown")).items()
            if isinstance(signals, dict)
        },
        "dump_path": _text(get("dump_path")),
        "summary": _text(get("summary")),
        "signatures": _texts(get("signatures")),
        "status": "acknowledged" if get("status") == "acknowledged" else "pending",
        "resolution": _resolution_from(get("resolution")),
        "count": _whole(get("count"), 1),
        "examples": _texts(get("examples")),
        "source": "ingest" if get("source") == "ingest" else "live",
        "task_id": _maybe_text(get("task_id")),
    }
    written = to_json(Notice(**fields))  # type: ignore[arg-type]
    missing = object()
    extra = {k: v for k, v in value.items() if k not in _SETTLED and written.get(k, missing) != v}
    odd = [key for key in extra if key in fields]
    problems = tuple(
        Problem("odd-field", f"{key} holds {shown(extra[key])}, which is kept but not all understood", where, "warning")
        for key in odd
    )
    return Notice(**fields, extra=extra), problems  # type: ignore[arg-type]


def encode_status(status: MailboxStatus, at: str) -> bytes:
    """`status.json` as the 0.6 system writes it: for people and for that system; nothing of ours trusts it."""
    return _dumped(
        {
            "pending_count": status.pending_count,
            "max_severity": status.max_severity,
            "latest_id": status.latest_id,
            "updated_at": at,
        }
    )


def status_says(data: bytes, status: MailboxStatus) -> bool:
    """Whether a `status.json` says what `status` says."""
    try:
        value: object = json.loads(data)
    except (ValueError, RecursionError):
        return False
    if not isinstance(value, dict):
        return False
    told = value.get("pending_count"), value.get("max_severity"), value.get("latest_id")
    return told == (status.pending_count, status.max_severity, status.latest_id)


def _dumped(record: Mapping[str, object]) -> bytes:
    return json.dumps(record, indent=2, sort_keys=True, allow_nan=False).encode()


def _metric_from(item: Mapping[str, object]) -> NoticeMetric:
    threshold = _number(item.get("threshold"))
    return NoticeMetric(
        name=_text(item.get("name")),
        value=_number(item.get("value")),
        threshold=0.5 if threshold is None else threshold,
        reason=_maybe_text(item.get("reason")),
        conditions=_texts(item.get("conditions")),
    )


def _resolution_from(value: object) -> Resolution | None:
    if not isinstance(value, dict):
        return None
    return Resolution(_text(value.get("acked_at")), _maybe_text(value.get("rule_id")), _maybe_text(value.get("note")))


def _resolution_to(value: Resolution | None) -> dict[str, object] | None:
    return None if value is None else {"acked_at": value.acked_at, "rule_id": value.rule_id, "note": value.note}


def _text(value: object) -> str:
    return value if isinstance(value, str) else ""


def _maybe_text(value: object) -> str | None:
    return value if isinstance(value, str) else None


def _whole(value: object, default: int) -> int:
    return value if isinstance(value, int) and not isinstance(value, bool) else default


def _number(value: object) -> float | None:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return None
    try:
        return float(value) if isfinite(value) else None
    except OverflowError:
        return None


def _list(value: object) -> Sequence[object]:
    return value if isinstance(value, list) else ()


def _object(value: object) -> Mapping[str, object]:
    return value if isinstance(value, dict) else {}


def _texts(value: object) -> tuple[str, ...]:
    return tuple(item for item in _list(value) if isinstance(item, str))


def _checked(value: object) -> tuple[str, dict[str, object]]:
    """The id and the finite form of a record; raises Refused where it is no object, has no id or nests too deep."""
    finite = _finite(value, MAX_DEPTH)
    if not isinstance(finite, dict):
        raise Refused(f"{type(value).__name__} where a notice belongs.")
    return component(finite.get("id"), "notice"), finite


def _finite(value: object, depth: int) -> object:
    """`value` without NaN and infinities, which no JSON file may hold: they are missing numbers."""
    if depth < 0:
        raise Refused(f"It nests deeper than {MAX_DEPTH} levels.")
    if isinstance(value, dict):
        return {str(key): _finite(item, depth - 1) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [_finite(item, depth - 1) for item in value]
    return value if not isinstance(value, float) or isfinite(value) else None
