"""Cases captured unasked, where `capture_eval_cases` is on: failures that breach, and wins that a checker passed.

What a session would be run again with is the `end_state` of its turn, kept as it was when the turn ended. A capture is
part of the transaction that handles the report, and whatever goes wrong in it is a log line: the report counts all the
same.
"""

from __future__ import annotations

import json
import logging
import threading
from collections import OrderedDict
from collections.abc import Callable

from ruleproof.codec.evalcases import encode
from ruleproof.core.evalcase import CaseKind
from ruleproof.core.evidence.replay import best_scores
from ruleproof.core.gate import Judgement
from ruleproof.core.score import Report
from ruleproof.core.sessions import Did
from ruleproof.engine.evalset import EvalCases, fits
from ruleproof.engine.evaluate import TurnContext
from ruleproof.engine.workspace import Transaction
from ruleproof.errors import Refused

log = logging.getLogger("ruleproof")
MOST_TURNS, MOST_BYTES = 512, 16 << 20
"""Of inputs that are remembered until a report comes."""
EXPIRE_EVERY_S = 3600.0


class Inputs:
    """The last end states, as JSON, by session and turn; the oldest go first."""

    def __init__(self, max_bytes: int) -> None:
        self._max_bytes = max_bytes
        self._mutex = threading.Lock()
        self._kept: OrderedDict[tuple[str, int], str] = OrderedDict()
        self._last: dict[str, int] = {}
        self._size = 0

    def remember(self, turn: TurnContext) -> None:
        """Keep the turn's end state, if it has one, in place of an earlier one of the same turn."""
        if not turn.end_state:
            return
        text = self._text(turn.end_state)
        key = turn.session_id, turn.turn
        with self._mutex:
            self._size += len(text) - len(self._kept.pop(key, ""))
            self._kept[key] = text
            self._last[turn.session_id] = turn.turn
            while len(self._kept) > MOST_TURNS or self._size > MOST_BYTES:
                (session, number), dropped = self._kept.popitem(last=False)
                self._size -= len(dropped)
                if self._last.get(session) == number:
                    del self._last[session]

    def of(self, session_id: str, turn: int) -> tuple[object, str]:
        """(the input of that turn, else of the session's last one; why there is none, or empty)."""
        with self._mutex:
            text = self._kept.get((session_id, turn)) or self._kept.get((session_id, self._last.get(session_id, -1)))
        if text is None:
            return None, "no end state was given"
        return (None, text[1:]) if text.startswith("!") else (json.loads(text), "")

    def _text(self, state: object) -> str:
        """JSON, or `!` and why it cannot be kept."""
        if not fits(state, self._max_bytes):
            return f"!its end state is larger than {self._max_bytes} bytes (eval_case_max_bytes), or nests too deep"
        try:
            return json.dumps(state, allow_nan=False)
        except (TypeError, ValueError, RecursionError, RuntimeError) as error:
            return f"!its end state is no JSON value: {str(error)[:200]}"


class Capture:
    """The hook of `handle_report`. `on` off: it only lets old cases go."""

    def __init__(self, cases: EvalCases, monotonic: Callable[[], float], *, on: bool) -> None:
        self._cases, self._monotonic, self._on = cases, monotonic, on
        self._inputs = Inputs(cases.limits.max_bytes)
        self._expired = float("-inf")

    def remember(self, turn: TurnContext) -> None:
        """A turn ended."""
        if self._on:
            self._inputs.remember(turn)

    def __call__(self, plan: Transaction, report: Report, judgement: Judgement, did: Did) -> None:
        """A report was judged."""
        try:
            now = self._monotonic()
            if now - self._expired >= EXPIRE_EVERY_S:
                self._cases.expire(plan)
                self._expired = now
            kind = self._kind(report, judgement, did) if self._on else None
            if kind is not None:
                self._capture(plan, report, judgement, kind)
        except Exception:
            log.exception("capturing session %r as an eval case failed; its report counts", report.session_id)

    def _kind(self, report: Report, judgement: Judgement, did: Did) -> CaseKind | None:
        """A failure where a notice of a breach was posted; a win where a checker passed it and nothing ever alerted."""
        if judgement.repeated:
            return None
        if did == "post" and judgement.severity == "breach":
            return "failure"
        passed = any(score.source == "checker" and score.value is not None for score in report.scores)
        quiet = not judgement.signatures and not judgement.state.present and not judgement.recovered
        return "win" if passed and quiet and did == "nothing" else None

    def _capture(self, plan: Transaction, report: Report, judgement: Judgement, kind: CaseKind) -> None:
        replay_input, missing = self._inputs.of(report.session_id, report.turn)
        if kind == "win" and (replay_input is None or not self._room_for_a_win(report.session_id)):
            return
        signature = judgement.signatures if kind == "failure" else ()
        baseline, _ = best_scores(report.scores)
        notes = f"not replayable: {missing}" if missing else ""
        case = self._cases.draft(report.session_id, kind, signature, baseline, replay_input, notes, "harness")
        size, most = len(encode(case)), self._cases.limits.max_bytes
        if size > most:
            notes = f"not replayable: the case would take {size} bytes, and eval_case_max_bytes is {most}"
            case = self._cases.draft(report.session_id, kind, signature, baseline, None, notes, "harness")
            if kind == "win" or len(encode(case)) > most:
                raise Refused(notes)
        if self._cases.keep(plan, case).case is None:
            log.warning("the eval-set is full of wins (eval_case_max): session %r was not captured", report.session_id)

    def _room_for_a_win(self, session_id: str) -> bool:
        listed = self._cases.listed()
        unasked = sum(case.kind == "win" and case.input_by == "harness" for case in listed)
        return unasked < self._cases.limits.auto_wins and all(case.session_id != session_id for case in listed)
