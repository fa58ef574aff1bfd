"""Evaluate turns in the background: one queue a session, in order, none lost because the next turn came.

Works with and without a running event loop. An evaluator may be a plain or an async callable; an async one runs on the
host's loop while that lives, else on a loop of its own. Whatever goes wrong becomes a report without scores (an
outage), never a score of 0 and never an exception in the host.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ruleproof.engine.ports import Evaluator

log = logging.getLogger("ruleproof")
_NOTHING: Mapping[str, object] = MappingProxyType({})
MAX_SESSIONS = 4096


@dataclass(frozen=True, slots=True)
class TurnContext:
    """One turn that ended. `end_state` is the host's: `messages`, `tools`, whatever its evaluator reads."""

    session_id: str
    turn: int = 0
    end_state: Mapping[str, object] = field(default_factory=lambda: _NOTHING)
    task_id: str | None = None


@dataclass(frozen=True, slots=True)
class Pace:
    """How much is evaluated: every Nth turn, at most so often a session, so many at once, so many in all (0 = any)."""

    sample_every: int = 1
    min_interval_s: float = 0.0
    at_once: int = 4
    budget: int = 0
    timeout_s: float = 120.0


@dataclass(slots=True)
class _Session:
    waiting: deque[tuple[TurnContext, asyncio.AbstractEventLoop | None]] = field(default_factory=deque)
    running: bool = False
    turns: int = 0
    last: float | None = None
    idle: threading.Event = field(default_factory=threading.Event)
    result: object = None


class Evaluations:
    """The queues. `handle(turn, raw)` gets what the evaluator returned, or an exception; it runs in a worker thread."""

    def __init__(
        self,
        evaluator: Evaluator,
        handle: Callable[[TurnContext, object], object],
        pace: Pace,
        monotonic: Callable[[], float],
    ) -> None:
        self._evaluator, self._handle, self._pace, self._monotonic = evaluator, handle, pace, monotonic
        self._mutex = threading.Lock()
        self._slots = threading.Semaphore(pace.at_once)
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._started = 0
        self.skipped = 0
        """Turns that the budget refused."""

    def submit(self, turn: TurnContext) -> bool:
        """Queue a turn. False where sampling, the rate limit or the budget left it out."""
        pace = self._pace
        with self._mutex:
            if pace.budget and self._started >= pace.budget:
                self.skipped += 1
                return False
            session = self._session(turn.session_id)
            session.turns += 1
            if (session.turns - 1) % pace.sample_every:
                return False
            now = self._monotonic()
            if pace.min_interval_s and session.last is not None and now - session.last < pace.min_interval_s:
                return False
            session.last = now
            self._started += 1
            session.waiting.append((turn, _running_loop()))
            session.idle.clear()
            if not session.running:
                session.running = True
                threading.Thread(target=self._drain, args=(session,), daemon=True, name="ruleproof-eval").start()
        return True

    def _session(self, session_id: str) -> _Session:
        session = self._sessions.get(session_id)
        if session is None:
            session = self._sessions[session_id] = _Session()
            session.idle.set()
        self._sessions.move_to_end(session_id)
        while len(self._sessions) > MAX_SESSIONS:
            oldest = next(iter(self._sessions.values()))
            if oldest.running:
                break
            self._sessions.popitem(last=False)
        return session

    def _drain(self, session: _Session) -> None:
        while True:
            with self._mutex:
                if not session.waiting:
                    session.running = False
                    session.idle.set()
                    return
                turn, loop = session.waiting.popleft()
            with self._slots:
                try:
                    raw: object = self._evaluate(turn, loop)
                except Exception as error:
                    raw = error
                try:
                    session.result = self._handle(turn, raw)
                except Exception:
                    log.exception("handling the evaluation of session %r failed", turn.session_id)

    def _evaluate(self, turn: TurnContext, loop: asyncio.AbstractEventLoop | None) -> object:
        """The evaluator's answer within the time limit; raises TimeoutError, or whatever it raised."""
        answer = _bounded(lambda: self._evaluator(turn), self._pace.timeout_s)
        if not inspect.isawaitable(answer):
            return answer
        if loop is not None and loop.is_running():
            future = asyncio.run_coroutine_threadsafe(_awaited(answer), loop)
            try:
                return future.result(self._pace.timeout_s)
            except concurrent.futures.CancelledError:
                answer = self._evaluator(turn)  # the host's loop ended under it: begin again on a loop of our own
                if not inspect.isawaitable(answer):
                    return answer
        return asyncio.run(asyncio.wait_for(_awaited(answer), self._pace.timeout_s))

    def wait(self, session_id: str | None, timeout_s: float) -> bool:
        """Wait until the session's queue (every queue without an id) is empty. False when time ran out."""
        end = self._monotonic() + timeout_s
        with self._mutex:
            if session_id is None:
                sessions = list(self._sessions.values())
            else:
                found = self._sessions.get(session_id)
                sessions = [found] if found else []
        return all(session.idle.wait(max(0.0, end - self._monotonic())) for session in sessions)

    def result(self, session_id: str) -> object:
        """What `handle` returned for the session's last turn; None before the first."""
        with self._mutex:
            session = self._sessions.get(session_id)
            return session.result if session else None


def _running_loop() -> asyncio.AbstractEventLoop | None:
    try:
        return asyncio.get_running_loop()
    except RuntimeError:
        return None


async def _awaited(answer: Awaitable[object]) -> object:
    return await answer


def _bounded(call: Callable[[], object], timeout_s: float) -> object:
    """`call()` in a thread of its own, given up after `timeout_s` seconds."""
    future: concurrent.futures.Future[object] = concurrent.futures.Future()

    def run() -> None:
        try:
            future.set_result(call())
        except BaseException as error:
            future.set_exception(error)

    threading.Thread(target=run, daemon=True, name="ruleproof-evaluator").start()
    return future.result(timeout_s)
