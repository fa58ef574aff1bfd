"""Read recorded sessions into the workspace: scored, recorded once, and told of in one notice per signature.

Recorded history bypasses gate and breaker and is never trial evidence. Sessions are written in batches, so a killed run
loses a batch at most and the next run goes on behind it: a session is known by its id and the digest of its content.
What is breached and not told yet is owed; whichever run comes to its end posts it. Memory holds a batch, not the file.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, replace

from ruleproof.codec.sessionlog import ingest_done_to, ingested_to
from ruleproof.codec.transcripts.base import ScoreRow, fingerprint
from ruleproof.codec.transcripts.registry import read_sessions
from ruleproof.core.gate import signature
from ruleproof.core.notice import Notice, ingest_notice
from ruleproof.core.problems import Problem
from ruleproof.core.renaming import alias_of
from ruleproof.core.score import Score
from ruleproof.core.secrets import redact
from ruleproof.core.session import Session
from ruleproof.core.sessions import Ingested, Owed, SessionFold
from ruleproof.core.signals import evaluate_session
from ruleproof.engine.report import fresh_notice_id, journal_notice, post
from ruleproof.engine.trail import Trail, trail_of, write_dump
from ruleproof.engine.workspace import Transaction, Workspace

BATCH = 200
"""Sessions in one transaction."""
MAX_ROWS = 50_000
"""Score rows that wait for more of their session."""
MAX_TRAILS = 64
MAX_PROBLEMS = 100


@dataclass(frozen=True, slots=True)
class IngestResult:
    """What became of one stream. `read`: sessions, those made of score rows included, = new + known + changed.

    `skipped`: every record, or part of one, that was left out; `problems` names the first hundred with line and reason.
    """

    read: int
    new: int
    known: int
    changed: int
    skipped: int
    problems: tuple[Problem, ...]
    score_rows: int
    notices: tuple[Notice, ...]
    format: str | None
    """As given, or as it was recognised; None where no format knows the stream."""


def ingest(
    workspace: Workspace,
    chunks: Iterable[bytes],
    *,
    format: str | None = None,
    thresholds: Callable[[str], float],
    weights: Mapping[str, float],
    progress: Callable[[int, int], None] | None = None,
    dry_run: bool = False,
    shadow: bool = False,
) -> IngestResult:
    """Ingest a stream of bytes. `progress(bytes, sessions)` hears what was read so far, once a chunk and at the end.

    `dry_run` writes nothing and returns the notices that would be posted; `shadow` journals notices only. Raises
    Refused for an unknown format before anything is read, StoreError; nothing that the stream holds raises.
    """
    run = _Run(workspace, thresholds, weights, SessionFold() if dry_run else None)
    rows = _Rows(run.complain)
    told = progress or _nothing
    known: list[str] = []
    for record in read_sessions(_counted(chunks, run, told), format=format, told=known.append):
        if isinstance(record, Problem):
            run.complain(record)
        elif isinstance(record, ScoreRow):
            for session in rows.add(record):
                run.add(session)
        else:
            run.add(record)
    for session in rows.rest():
        run.add(session)
    run.flush()
    told(run.bytes, run.read)
    notices = run.finish(shadow)
    counts = run.counts
    return IngestResult(
        read=run.read,
        new=counts["new"],
        known=counts["known"],
        changed=counts["changed"],
        skipped=run.skipped,
        problems=tuple(run.problems),
        score_rows=rows.read,
        notices=notices,
        format=known[0] if known else format,
    )


def _counted(chunks: Iterable[bytes], run: _Run, told: Callable[[int, int], None]) -> Iterator[bytes]:
    for chunk in chunks:
        yield chunk
        run.bytes += len(chunk)
        told(run.bytes, run.read)


def _nothing(*_: int) -> None:
    """Nobody listens."""


class _Run:
    """One ingestion. `scratch` stands for the workspace's own fold in a dry run."""

    def __init__(
        self,
        workspace: Workspace,
        thresholds: Callable[[str], float],
        weights: Mapping[str, float],
        scratch: SessionFold | None,
    ) -> None:
        self.workspace, self._thresholds, self._weights, self._scratch = workspace, thresholds, weights, scratch
        workspace.refresh()
        self.counts = {"new": 0, "known": 0, "changed": 0}
        self.bytes = 0
        self.read = 0
        self.skipped = 0
        self.problems: list[Problem] = []
        self._batch: list[Session] = []
        self._trails: dict[str, tuple[Trail, tuple[Score, ...]]] = {}

    def complain(self, problem: Problem) -> None:
        """Something was left out."""
        self.skipped += 1
        if len(self.problems) < MAX_PROBLEMS:
            self.problems.append(problem)

    def add(self, session: Session) -> None:
        """One session that was read."""
        self.read += 1
        self._batch.append(session)
        if len(self._batch) >= BATCH:
            self.flush()

    def flush(self) -> None:
        """Record what was read and is not known; keep the trails of sessions that a notice will name."""
        batch, self._batch = self._batch, []
        known = self.workspace.refresh_sessions().ingested
        records: dict[str, Ingested] = {}
        for session in batch:
            digest = fingerprint(session)
            if known.get(session.id) == digest:
                self.counts["known"] += 1
            else:
                records[session.id] = self._record(session, digest)
        if self._scratch is not None:
            for record in records.values():
                if self._is_news(record, known):
                    self._scratch.feed(record)
        elif records:
            with self.workspace.transaction() as plan:
                known = self.workspace.refresh_sessions().ingested  # somebody else may have been here meanwhile
                for record in records.values():
                    if self._is_news(record, known):
                        plan.sessions.append(ingested_to(replace(record, at=plan.at)))
        owed = self.workspace.refresh_sessions().owed if self._scratch is None else {}
        named = {session_id for debt in owed.values() for session_id in debt.examples}
        for session in batch:
            if session.id in named and session.id not in self._trails and len(self._trails) < MAX_TRAILS:
                scores = self._scores(session)
                self._trails[session.id] = trail_of(session, scores), scores

    def _is_news(self, record: Ingested, known: Mapping[str, str]) -> bool:
        if alias_of(record.session_id) in self.workspace.rulebook.tombstones:
            self.read -= 1
            self.complain(Problem("forgotten", "this session was forgotten and stays so", record.session_id, "info"))
            return False
        before = known.get(record.session_id)
        self.counts["new" if before is None else "known" if before == record.digest else "changed"] += 1
        return before != record.digest

    def _record(self, session: Session, digest: str) -> Ingested:
        scores = self._scores(session)
        return Ingested(
            session_id=session.id,
            digest=digest,
            at="",
            scores=scores,
            signatures=tuple(sorted(signature("breach", score.metric) for score in scores if score.breached)),
            task_id=session.task_id,
            costs=session.costs,
            traces=len(session.traces),
        )

    def _scores(self, session: Session) -> tuple[Score, ...]:
        found = evaluate_session(session, thresholds=self._thresholds, weights=self._weights)
        return tuple(replace(score, reason=redact(score.reason)[0]) if score.reason else score for score in found)

    # --- the end -----------------------------------------------------------------------------------------------------

    def finish(self, shadow: bool) -> tuple[Notice, ...]:
        """Post what is owed, by this run or by one that was killed, and say that it was told."""
        if self._scratch is not None:
            owed, now = self._scratch.owed, self.workspace.now()
            return tuple(self._notice(name, owed[name], now) for name in sorted(owed))
        fold = self.workspace.refresh_sessions()
        if not fold.owed and not fold.owed_sessions:
            return ()
        with self.workspace.transaction() as plan:
            owed = self.workspace.refresh_sessions().owed
            notices = tuple(self._tell(plan, name, owed[name], shadow) for name in sorted(owed))
            plan.sessions.append(ingest_done_to(plan.at))
        return notices

    def _tell(self, plan: Transaction, name: str, owed: Owed, shadow: bool) -> Notice:
        """One notice, posted (in shadow mode only journaled); one that a killed run posted already is taken up."""
        notice = self._notice(name, owed, plan.at)
        if shadow:
            journal_notice(plan, notice, observe_only=True)
            return notice
        ports = self.workspace.ports
        twin = next((waiting for waiting in ports.mailbox.pending() if _same(waiting, notice)), None)
        if twin is not None:
            if twin.id not in self.workspace.refresh_journal().notices:
                journal_notice(plan, twin, observe_only=False)
            return twin
        shown = [self._trails[session] for session in notice.examples if session in self._trails]
        told = next((s for s in shown[0][1] if signature("breach", s.metric) == name), None) if shown else None
        notice = replace(
            notice,
            dump_path=f"traces/{notice.id}.json",
            flagged_traces=told.flagged if told else (),
            signal_breakdown={t: s for t, s in told.signals.items() if t in told.flagged} if told else {},
        )
        write_dump(ports.files, notice, [trail for trail, _ in shown])
        post(self.workspace, plan, notice)
        return notice

    def _notice(self, name: str, owed: Owed, at: str) -> Notice:
        fold = self._scratch or self.workspace.sessions
        return ingest_notice(
            name,
            owed.total / owed.count if owed.count else None,
            owed.threshold,
            owed.count,
            fold.owed_sessions,
            owed.examples,
            notice_id=fresh_notice_id(self.workspace),
            now=at,
        )


def _same(one: Notice, other: Notice) -> bool:
    """Whether they tell the same of the same sessions."""
    return (one.source, one.signatures, one.count, one.examples) == (
        other.source,
        other.signatures,
        other.count,
        other.examples,
    )


class _Rows:
    """Score rows gathered into sessions, whatever their order, as long as no more than `MAX_ROWS` wait.

    Beyond that the session that was touched longest ago is taken for complete; a row of it that comes later is named
    and left out. So files that keep a session's rows together may have any size, files sorted by metric 50,000 rows.
    """

    def __init__(self, complain: Callable[[Problem], None]) -> None:
        self.read = 0
        self._complain = complain
        self._open: OrderedDict[str, Session] = OrderedDict()
        self._waiting = 0
        self._closed: set[str] = set()

    def add(self, row: ScoreRow) -> Iterator[Session]:
        """One more row; sessions that are complete by now."""
        self.read += 1
        if row.session_id in self._closed:
            message = f"its session was taken for complete {MAX_ROWS} rows ago; sort the file by session"
            self._complain(Problem("late-row", message, row.where))
            return
        session = self._open.get(row.session_id) or Session(row.session_id)
        if row.metric in session.scores:
            if session.scores[row.metric] != row.value:
                message = "another value of this metric and session came before; this one was left out"
                self._complain(Problem("repeated-row", message, row.where))
            return
        self._open[row.session_id] = replace(
            session,
            scores={**session.scores, row.metric: row.value},
            task_id=session.task_id if session.task_id is not None else row.task_id,
        )
        self._open.move_to_end(row.session_id)
        self._waiting += 1
        while self._waiting > MAX_ROWS:
            yield self._close()

    def rest(self) -> Iterator[Session]:
        """What still waits when the stream ends."""
        while self._open:
            yield self._close()

    def _close(self) -> Session:
        session_id, session = self._open.popitem(last=False)
        self._waiting -= len(session.scores)
        self._closed.add(session_id)
        return replace(session, scores=dict(sorted(session.scores.items())))
