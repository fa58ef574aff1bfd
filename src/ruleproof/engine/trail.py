"""The dump behind an ingested notice: what its example sessions did, redacted, bounded, with figures where cut."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence

from ruleproof.core.notice import Notice
from ruleproof.core.score import Score
from ruleproof.core.secrets import redact_json
from ruleproof.core.session import Session, Trace
from ruleproof.engine.ports import Files

Trail = dict[str, object]

MAX_BYTES = 256 << 10
"""Of one dump."""
_ROOM = 60_000
"""Bytes of one session in it."""
_TEXTS = (4000, 1000, 250, 60)
"""Characters of one text: the first that makes the session fit."""
_TRACES, _CALLS = 100, 100
_SLACK = 8192
"""Characters that redaction sees beyond the longest text, so that no credential is halved before it is recognised."""


def trail_of(session: Session, scores: Sequence[Score]) -> Trail:
    """One session as its dump shows it, at most 60,000 bytes as JSON; the traces that were flagged go before others."""
    flagged = tuple(dict.fromkeys(trace for score in scores for trace in score.flagged))
    first = sorted(range(len(session.traces)), key=lambda at: (session.traces[at].id not in flagged, at))
    chosen = first[:_TRACES]
    for longest in (*_TEXTS, 0):
        while True:
            traces = [session.traces[at] for at in sorted(chosen)]
            trail = _trail(session, scores, flagged[:_TRACES], traces, longest)
            if len(json.dumps(trail)) <= _ROOM:
                return trail
            if longest != _TEXTS[-1] or len(chosen) <= 1:
                break
            chosen = chosen[: len(chosen) // 2]
    return {"session_id": session.id, "left_out": "everything: its names and ids alone are too long"}


def _trail(
    session: Session, scores: Sequence[Score], flagged: Sequence[str], traces: Sequence[Trace], longest: int
) -> Trail:
    shown = [_trace(trace, longest) for trace in traces]
    made: Trail = {
        "session_id": session.id,
        "task_id": session.task_id,
        "started_at": session.started_at,
        "costs": dict(session.costs),
        "flagged_traces": list(flagged),
        "signal_breakdown": {t: dict(s) for score in scores for t, s in score.signals.items() if t in flagged},
        "scores": [_score(score) for score in scores[:_CALLS]],
        "traces": shown,
    }
    if len(traces) < len(session.traces):
        made["left_out"] = f"{len(session.traces) - len(traces)} of {len(session.traces)} traces"
    return made


def _score(score: Score) -> dict[str, object]:
    return {
        "metric": score.metric,
        "value": score.value,
        "threshold": score.threshold,
        "breach": score.breached,
        "pending": score.value is None,
        "source": score.source,
        "reason": _cut(score.reason, _TEXTS[0]),
    }


def _trace(trace: Trace, longest: int) -> dict[str, object]:
    made: dict[str, object] = {
        "id": trace.id,
        "prompt": _cut(trace.prompt, longest),
        "calls": [
            {
                "name": _cut(call.name, 200),
                "arguments": _cut(call.arguments, longest),
                "result": _cut(call.result, longest),
                "failed": call.failed,
            }
            for call in trace.calls[:_CALLS]
        ],
        "answer": _cut(trace.answer, longest),
        "stop_reason": _cut(trace.stop_reason, 200),
    }
    if len(trace.calls) > _CALLS:
        made["left_out"] = f"{len(trace.calls) - _CALLS} of {len(trace.calls)} calls"
    return made


def _cut(text: str | None, longest: int) -> str | None:
    """`text` redacted, and its first characters with the figures where it is longer."""
    if text is None:
        return None
    clean = str(redact_json(text[: longest + _SLACK]))
    if len(text) <= longest and len(clean) <= longest:
        return clean
    return f"{clean[:longest]} [cut: {longest} of {len(text)} characters]"


def write_dump(files: Files, notice: Notice, trails: Iterable[Trail]) -> None:
    """`traces/<notice id>.json`: the first example in the shape of any dump, and every example under `sessions`."""
    shown = list(trails)
    first = shown[0] if shown else {}
    dump: Trail = {
        "session_id": notice.session_id,
        "turn_index": 0,
        "task_id": first.get("task_id"),
        "flagged_traces": first.get("flagged_traces", []),
        "signal_breakdown": first.get("signal_breakdown", {}),
        "scores": first.get("scores", []),
        "signatures": list(notice.signatures),
        "count": notice.count,
        "examples": list(notice.examples),
        "sessions": shown,
    }
    if len(shown) < len(notice.examples):
        dump["left_out"] = f"{len(notice.examples) - len(shown)} of {len(notice.examples)} examples: not in this file"
    data = json.dumps(dump, sort_keys=True, indent=1).encode()
    files.write(notice.dump_path, data if len(data) <= MAX_BYTES else json.dumps(dump, sort_keys=True).encode())
