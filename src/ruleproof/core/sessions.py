"""What `sessions.jsonl` says, folded: each session's gate, the breaker, notices held back, what ingestion owes.

A record is a report of a live session, a held notice that was released, or a recorded session that was ingested. The
fold runs the reports through the gate again, so its state needs no file of its own and cannot disagree with them.
"""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

from ruleproof.core.breaker import Breaker, BreakerPolicy, happened
from ruleproof.core.gate import GatePolicy, Judgement, SessionGate, judge, posted, suppressed
from ruleproof.core.notice import Notice
from ruleproof.core.score import Report, Score

MAX_GATES = 4096
EXAMPLES = 3

Did = Literal["nothing", "post", "needs_human", "hold", "shadow"]
"""What became of a report's notice."""


@dataclass(frozen=True, slots=True)
class Reported:
    """One report that was handled, at `seconds` on the wall clock; `held` is its notice where the breaker kept it."""

    report: Report
    did: Did
    seconds: float
    held: Notice | None = None


@dataclass(frozen=True, slots=True)
class Released:
    """A held notice was posted."""

    notice_id: str
    seconds: float


@dataclass(frozen=True, slots=True)
class Ingested:
    """A recorded session: its scores and the signatures that they carry. Never trial evidence."""

    session_id: str
    digest: str
    at: str
    scores: tuple[Score, ...] = ()
    signatures: tuple[str, ...] = ()
    task_id: str | None = None
    costs: Mapping[str, float] = field(default_factory=dict)
    traces: int = 0


@dataclass(frozen=True, slots=True)
class IngestDone:
    """An ingestion posted its notices: what came before it is no longer owed."""

    at: str


SessionRecord = Reported | Released | Ingested | IngestDone


@dataclass(slots=True)
class Owed:
    """Recorded sessions with one signature that no notice speaks of yet."""

    count: int = 0
    total: float = 0.0
    threshold: float = 0.0
    examples: list[str] = field(default_factory=list)

    def add(self, session_id: str, score: Score | None) -> None:
        """One more session."""
        self.count += 1
        if score is not None and score.value is not None:
            self.total += score.value
            self.threshold = score.threshold
        if len(self.examples) < EXAMPLES:
            self.examples.append(session_id)


class SessionFold:
    """Feed it every record in file order."""

    def __init__(self, gate: GatePolicy | None = None, breaker: BreakerPolicy | None = None) -> None:
        self.policy = gate or GatePolicy()
        self.breaker = Breaker(breaker or BreakerPolicy())
        self.held: dict[str, Notice] = {}
        self.reports = 0
        self.unscored = 0
        """Reports without any score: outages, neither breach nor health."""
        self.ingested: dict[str, str] = {}
        """Recorded session -> digest of what was read."""
        self.owed: dict[str, Owed] = {}
        self.owed_sessions = 0
        self._gates: OrderedDict[str, SessionGate] = OrderedDict()

    def gate(self, session_id: str) -> SessionGate:
        """The state of one session's gate."""
        return self._gates.get(session_id) or SessionGate()

    def judge(self, report: Report) -> Judgement:
        """What the report would mean now; changes nothing."""
        return judge(report, self.gate(report.session_id), self.policy)

    def feed(self, record: SessionRecord) -> None:
        """Fold one record."""
        if isinstance(record, Reported):
            self._reported(record)
        elif isinstance(record, Released):
            self._released(record)
        elif isinstance(record, Ingested):
            self._ingested(record)
        else:
            self.owed, self.owed_sessions = {}, 0

    def _reported(self, record: Reported) -> None:
        self.reports += 1
        self.unscored += not record.report.scored
        judgement = self.judge(record.report)
        state = judgement.state
        if record.did in ("post", "needs_human", "shadow"):
            state = posted(state)
        elif record.did == "hold":
            state = suppressed(state)
        self._keep(record.report.session_id, state)
        if judgement.recovered:
            self.breaker = happened(self.breaker, "recovery", record.seconds)
        if record.did in ("post", "needs_human", "hold"):
            self.breaker = happened(self.breaker, record.did, record.seconds)
        if record.held is not None:
            self.held[record.held.id] = record.held

    def _released(self, record: Released) -> None:
        notice = self.held.pop(record.notice_id, None)
        if notice is None:
            return
        self.breaker = happened(self.breaker, "release", record.seconds)
        self._keep(notice.session_id, posted(self.gate(notice.session_id)))

    def _ingested(self, record: Ingested) -> None:
        self.ingested[record.session_id] = record.digest
        self.owed_sessions += any(score.value is not None for score in record.scores)
        values = {score.metric: score for score in record.scores}
        for signature in record.signatures:
            self.owed.setdefault(signature, Owed()).add(record.session_id, values.get(signature.partition(":")[2]))

    def _keep(self, session_id: str, state: SessionGate) -> None:
        self._gates[session_id] = state
        self._gates.move_to_end(session_id)
        if len(self._gates) > MAX_GATES:
            self._gates.popitem(last=False)
