"""The records of `sessions.jsonl`: JSON objects <-> values. Reading is total."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from typing import cast, get_args

from ruleproof.codec import notices
from ruleproof.codec.reading import count, mapping, maybe_text, number, text, texts, unit
from ruleproof.core.notice import Notice
from ruleproof.core.problems import Problem
from ruleproof.core.score import DEFAULT_THRESHOLD, Report, Score, Source
from ruleproof.core.secrets import redact
from ruleproof.core.sessions import Did, IngestDone, Ingested, Released, Reported, SessionRecord
from ruleproof.core.text import sanitize_text

_DID = frozenset(get_args(Did))
_SOURCES = frozenset(get_args(Source))


def seconds_of(at: str) -> float:
    """Wall-clock seconds of an ISO-8601 time; 0.0 where it is none."""
    try:
        return datetime.fromisoformat(at).timestamp()
    except ValueError:
        return 0.0


def reported_to(report: Report, did: Did, held: Notice | None) -> dict[str, object]:
    """One handled report."""
    record: dict[str, object] = {
        "kind": "report",
        "session": report.session_id,
        "turn": report.turn,
        "at": report.at,
        "scores": {score.metric: _score_to(score) for score in report.scores},
        "did": did,
    }
    if report.task_id is not None:
        record["task"] = report.task_id
    if report.costs:
        record["costs"] = dict(report.costs)
    if held is not None:
        record["held"] = notices.to_json(held)
    return record


def released_to(notice_id: str, at: str) -> dict[str, object]:
    """A held notice was posted."""
    return {"kind": "released", "notice": notice_id, "at": at}


def ingested_to(record: Ingested) -> dict[str, object]:
    """One recorded session."""
    value: dict[str, object] = {
        "kind": "ingested",
        "session": record.session_id,
        "digest": record.digest,
        "at": record.at,
        "scores": {score.metric: _score_to(score) for score in record.scores},
        "signatures": list(record.signatures),
        "traces": record.traces,
    }
    if record.task_id is not None:
        value["task"] = record.task_id
    if record.costs:
        value["costs"] = dict(record.costs)
    return value


def ingest_done_to(at: str) -> dict[str, object]:
    """The notices of an ingestion are posted."""
    return {"kind": "ingest_done", "at": at}


def session_record_from(value: Mapping[str, object], where: str = "") -> SessionRecord | Problem:
    """One object of `sessions.jsonl`."""
    kind, session, at = value.get("kind"), value.get("session"), text(value.get("at"))
    if kind == "report" and isinstance(session, str):
        held = value.get("held")
        notice = notices.from_json(held, where)[0] if held is not None else None
        did = value.get("did")
        return Reported(
            Report(
                session, scores_from(value.get("scores")), at, count(value.get("turn")), maybe_text(value.get("task"))
            ),
            cast(Did, did) if isinstance(did, str) and did in _DID else "nothing",
            seconds_of(at),
            notice,
        )
    if kind == "released" and isinstance(value.get("notice"), str):
        return Released(text(value["notice"]), seconds_of(at))
    if kind == "ingested" and isinstance(session, str):
        return Ingested(
            session_id=session,
            digest=text(value.get("digest")),
            at=at,
            scores=scores_from(value.get("scores")),
            signatures=texts(value.get("signatures")),
            task_id=maybe_text(value.get("task")),
            costs=_costs(value.get("costs")),
            traces=count(value.get("traces")),
        )
    if kind == "ingest_done":
        return IngestDone(at)
    return Problem("unknown-record", "no session record that we know; it is kept and has no effect", where)


def task_from(value: Mapping[str, object]) -> tuple[str, str | None] | None:
    """(session, its task) of a report or of an ingested session; None for anything else."""
    session = value.get("session")
    known = value.get("kind") in ("report", "ingested") and isinstance(session, str)
    return (str(session), maybe_text(value.get("task"))) if known else None


def scores_from(value: object) -> tuple[Score, ...]:
    """Scores by metric; one of a wrong type or out of range is missing."""
    return tuple(_score_from(metric, item) for metric, item in mapping(value).items())


def _score_to(score: Score) -> dict[str, object]:
    record: dict[str, object] = {"value": score.value, "threshold": score.threshold, "source": score.source}
    if score.reason:
        record["reason"] = sanitize_text(redact(str(score.reason))[0])
    return record


def _score_from(metric: str, value: object) -> Score:
    item = mapping(value)
    threshold, source = unit(item.get("threshold")), item.get("source")
    return Score(
        metric,
        unit(item.get("value")),
        DEFAULT_THRESHOLD if threshold is None else threshold,
        cast(Source, source) if isinstance(source, str) and source in _SOURCES else "caller",
        text(item.get("reason")),
    )


def _costs(value: object) -> dict[str, float]:
    return {name: cost for name, given in mapping(value).items() if (cost := number(given)) is not None}
