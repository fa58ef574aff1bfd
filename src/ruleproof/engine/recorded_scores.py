"""The scores that a workspace holds, session by session: reported ones and those of recorded history."""

from __future__ import annotations

from ruleproof.codec.jsonl import decode_line
from ruleproof.codec.sessionlog import session_record_from
from ruleproof.core.sessions import Ingested, Reported
from ruleproof.engine.workspace import Workspace


def recorded_scores(workspace: Workspace) -> dict[str, dict[str, float | None]]:
    """Session -> metric -> its latest value; None where every report of it was missing."""
    found: dict[str, dict[str, float | None]] = {}
    for raw in workspace.ports.sessions.content().split(b"\n"):
        value = decode_line(raw, "sessions.jsonl")
        record = session_record_from(value, "sessions.jsonl") if isinstance(value, dict) else None
        if isinstance(record, Reported):
            session_id, scores = record.report.session_id, record.report.scores
        elif isinstance(record, Ingested):
            session_id, scores = record.session_id, record.scores
        else:
            continue
        row = found.setdefault(session_id, {})
        for score in scores:
            if score.value is not None or score.metric not in row:
                row[score.metric] = score.value
    return found
