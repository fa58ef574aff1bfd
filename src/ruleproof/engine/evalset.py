"""The eval-set of one workspace: capture, attach, remove, forget by age. Credentials are redacted before the disk.

An input and a baseline are written once. An agent may add an input to a failure that has none, and nothing else; wins
are a person's, or come from sessions that a checker passed. Whatever is too large is refused with its figures.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import timedelta

from ruleproof.codec.evalcases import MAX_DEPTH, encode
from ruleproof.codec.jsonl import decode_line
from ruleproof.codec.sessionlog import seconds_of, session_record_from
from ruleproof.core import ids
from ruleproof.core.evalcase import KINDS, By, CaseKind, CaseLimits, EvalCase, to_evict
from ruleproof.core.evidence.replay import best_scores
from ruleproof.core.gate import signature as signature_of
from ruleproof.core.score import Score, checked_value
from ruleproof.core.secrets import redact, redact_json
from ruleproof.core.sessions import Ingested, Reported
from ruleproof.core.text import one_line
from ruleproof.engine.workspace import Transaction, Workspace, iso
from ruleproof.errors import NotFound, Refused

MAX_NOTES = 500


@dataclass(frozen=True, slots=True)
class Captured:
    """`created` is false where the case was there; `case` is None where only wins could have given way."""

    case: EvalCase | None
    created: bool


class EvalCases:
    """`harness.evalset`."""

    def __init__(self, workspace: Workspace, limits: CaseLimits | None = None) -> None:
        self._workspace, self.limits = workspace, limits or CaseLimits()
        self._port = workspace.ports.evalset

    # --- reading ---------------------------------------------------------------------------------------------------

    def listed(self, *, kind: CaseKind | None = None) -> list[EvalCase]:
        """Every case, oldest first, without its input (`ON_DISK` where it has one)."""
        return [case for case in self._port.listed() if kind in (None, case.kind)]

    def cases(self, *, kind: CaseKind | None = None) -> list[EvalCase]:
        """Every case, oldest first, with its input."""
        found = (self._port.read(case.id) for case in self.listed(kind=kind))
        return [case for case in found if case is not None]

    def matching(self, signature: Iterable[str], *, kind: CaseKind = "failure") -> list[EvalCase]:
        """Cases that carry one of these signatures, newest first, without their inputs."""
        wanted = frozenset(signature)
        return [case for case in reversed(self.listed(kind=kind)) if wanted & {*case.signature}]

    def get(self, case_id: str) -> EvalCase:
        """One case with its input. Raises Refused for a bad id, NotFound."""
        case = self._port.read(case_id)
        if case is None:
            raise NotFound(f"There is no eval case {case_id}.", hint="`ruleproof evalset` lists them.")
        return case

    # --- writing ---------------------------------------------------------------------------------------------------

    def capture(
        self,
        *,
        session_id: str,
        kind: CaseKind = "failure",
        signature: Sequence[str] = (),
        baseline_scores: Mapping[str, float] | None = None,
        replay_input: object = None,
        notes: str = "",
    ) -> EvalCase:
        """Keep a session as a case, or return the case of the same session, signature and kind: it stays as it is.

        Raises Refused (a bad id or value, no JSON, too large, only wins left to evict), StoreError.
        """
        case = self.draft(session_id, kind, signature, baseline_scores or {}, replay_input, notes, "person")
        size = len(encode(case))
        if size > self.limits.max_bytes:
            raise Refused(f"The case would take {size} bytes.", hint=self._most())
        with self._workspace.transaction() as plan:
            kept = self.keep(plan, case).case
            if kept is None:
                raise Refused(
                    f"The eval-set holds {self.limits.max_cases} cases (eval_case_max), all of them wins.",
                    hint="Remove one first: wins are never evicted.",
                )
        return kept

    def capture_session(
        self, session_id: str, kind: CaseKind = "failure", *, replay_input: object = None, notes: str = ""
    ) -> EvalCase:
        """`capture` with the latest scores that the workspace has of the session; what breaches is its signature.

        Raises NotFound where it knows no score of the session, Refused for a win that breaches.
        """
        scores = _recorded(self._workspace, ids.opaque(session_id))
        values, _ = best_scores(scores)
        if not values:
            raise NotFound(f"No score of session {ids.shown(session_id)} is recorded.", hint="Give its scores by hand.")
        below = sorted({score.metric for score in scores if score.breached and values[score.metric] == score.value})
        if kind == "win" and below:
            raise Refused(
                f"Session {ids.shown(session_id)} is no win: {', '.join(below)} lies below its threshold.",
                hint="Capture it as a failure, or give the scores by hand.",
            )
        signature = [signature_of("breach", metric) for metric in below] if kind == "failure" else []
        return self.capture(
            session_id=session_id,
            kind=kind,
            signature=signature,
            baseline_scores=values,
            replay_input=replay_input,
            notes=notes,
        )

    def attach_input(self, case_id: str, replay_input: object, *, by: By = "person") -> EvalCase:
        """Give a case the input that it lacks. Raises NotFound, Refused where it has one, or for an agent and a win."""
        if replay_input is None:
            raise Refused("null is no replay input.", hint="Give the JSON value that your replay function runs again.")
        clean = self._clean(replay_input)
        with self._workspace.transaction() as plan:
            case = self.get(case_id)
            if case.replayable:
                raise Refused(
                    f"Case {case.id} has a replay input, which is written once: evidence may rest on it.",
                    hint="A person may remove the case and capture it anew.",
                )
            if by == "agent" and case.kind == "win":
                raise Refused(f"Case {case.id} is a win, and wins are protected.", hint="A person may attach an input.")
            made = replace(case, replay_input=clean, input_by=by)
            size = len(encode(made))
            if size > self.limits.max_bytes:
                raise Refused(f"Case {case.id} would take {size} bytes.", hint=self._most())
            self._port.put(made)
            plan.event("evalset_attach", case_id=case.id, session_id=case.session_id, by=by, bytes=size)
        return made

    def remove(self, case_id: str) -> bool:
        """Remove a case, a win too; journaled. False where there is none. Raises Refused for a bad id."""
        ids.component(case_id, "case")
        with self._workspace.transaction() as plan:
            gone = self._port.remove(case_id)
            if gone:
                plan.event("evalset_remove", case_id=case_id, why="asked")
        return gone

    # --- for captures inside a transaction -------------------------------------------------------------------------

    def draft(
        self,
        session_id: str,
        kind: CaseKind,
        signature: Iterable[str],
        baseline: Mapping[str, float],
        replay_input: object,
        notes: str,
        by: By,
    ) -> EvalCase:
        """A case that is fit to be kept, under a fresh id. Raises Refused."""
        if kind not in KINDS:
            raise Refused(f"{ids.shown(kind)} is no kind of case.", hint=f"Say {' or '.join(KINDS)}.")
        if isinstance(signature, str):
            raise Refused("A signature is a list of texts.", hint='For example ["breach:agent_reliability"].')
        scores = {ids.opaque(name, "metric"): checked_value(name, value) for name, value in baseline.items()}
        clean = None if replay_input is None else self._clean(replay_input)
        case = EvalCase(
            id=self._workspace.new_id("c-", 10),
            created_at=self._workspace.now(),
            session_id=ids.opaque(session_id),
            kind=kind,
            signature=tuple(sorted({ids.opaque(said, "metric") for said in signature})),
            baseline_scores={name: value for name, value in scores.items() if value is not None},
            replay_input=clean,
            notes=one_line(redact(notes)[0], MAX_NOTES),
            input_by=by if clean is not None else "",
        )
        encode(case)
        return case

    def keep(self, plan: Transaction, case: EvalCase) -> Captured:
        """Write the case, evict what must go and journal both; nothing where its twin is there."""
        self.expire(plan)
        listed = self._port.listed()
        twin = next((one for one in listed if one.key == case.key), None)
        if twin is not None:
            return Captured(twin, False)
        evicted = to_evict(listed, self.limits.max_cases)
        if evicted is None:
            _captured(plan, case, skipped="cap")
            return Captured(None, False)
        self._port.add(case)
        _captured(plan, case, case_id=case.id, signatures=list(case.signature), replayable=case.replayable)
        for old in evicted:
            self._port.remove(old.id)
            plan.event("evalset_remove", case_id=old.id, why="cap")
        return Captured(case, True)

    def expire(self, plan: Transaction) -> None:
        """Remove failures that are older than `retention_days`; a case without a readable time stays."""
        if not self.limits.retention_days:
            return
        oldest = self._workspace.ports.system.now() - timedelta(days=self.limits.retention_days)
        for case in self._port.listed():
            captured = seconds_of(case.created_at)
            if case.kind == "failure" and captured and captured < oldest.timestamp():
                self._port.remove(case.id)
                plan.event("evalset_remove", case_id=case.id, why="age", before=iso(oldest))

    def _clean(self, value: object) -> object:
        """The input without credentials. Raises Refused where it is larger than a file may be, before it is copied."""
        if not fits(value, self.limits.max_bytes):
            raise Refused(f"The replay input is too large, or deeper than {MAX_DEPTH} levels.", hint=self._most())
        return redact_json(value)

    def _most(self) -> str:
        return f"At most {self.limits.max_bytes} bytes are kept of a case (eval_case_max_bytes)."


def _captured(plan: Transaction, case: EvalCase, **details: object) -> None:
    said = {"type": "evalset_capture", "ts": plan.at, "session_id": case.session_id, "kind": case.kind}
    plan.events.append({**said, **details})


def fits(value: object, most: int) -> bool:
    """Whether `value` has at most `most` characters and nodes and 64 levels, counted without a copy.

    What holds itself does not.
    """
    left, waiting = most, [(value, 1)]
    while waiting:
        item, level = waiting.pop()
        left -= 1 + (len(item) if isinstance(item, (str, bytes)) else 0)
        if isinstance(item, (Mapping, list, tuple)):
            if level > MAX_DEPTH or len(item) > left:
                return False
            inner = [*item.keys(), *item.values()] if isinstance(item, Mapping) else item
            waiting += [(one, level + 1) for one in inner]
        if left < len(waiting):
            return False
    return True


def _recorded(workspace: Workspace, session_id: str) -> list[Score]:
    """The latest scores with a value that the session log has of a session, one a metric and source."""
    found: dict[tuple[str, str], Score] = {}
    for raw in workspace.ports.sessions.content().split(b"\n"):
        value = decode_line(raw, "sessions.jsonl")
        record = session_record_from(value) if isinstance(value, dict) and value.get("session") == session_id else None
        if isinstance(record, (Reported, Ingested)):
            scores = record.report.scores if isinstance(record, Reported) else record.scores
            found |= {(score.metric, score.source): score for score in scores if score.value is not None}
    return list(found.values())
