"""Evaluate turns in the background: one queue a session, in order, none lost because the next turn came.

Works with and without a running event loop. An evaluator may be a plain or an async callable; an async one runs on the
host's loop while that lives and is not waiting for us, else on a loop of its own. There are as many workers as may
evaluate at once, and none while nothing waits. Whatever goes wrong becomes a report without scores (an outage), never a
score of 0 and never an exception in the host.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import inspect
import logging
import threading
from collections import OrderedDict, deque
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

from ruleproof.engine.ports import Evaluator

log = logging.getLogger("ruleproof")
_NOTHING: Mapping[str, object] = MappingProxyType({})
_Hosted = tuple[asyncio.AbstractEventLoop, Coroutine[object, object, object]]
"""A host's loop, and what it was given to run."""
LOOK_S = 0.05
"""How often a waiting worker looks whether the host's loop still runs."""
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
        self._sessions: OrderedDict[str, _Session] = OrderedDict()
        self._ready: deque[_Session] = deque()
        """Sessions with a turn that waits and none that runs."""
        self._workers = 0
        self._hosted: dict[concurrent.futures.Future[object], _Hosted] = {}
        self._blocked: list[asyncio.AbstractEventLoop] = []
        """Loops whose own thread waits for us: nothing can run on them meanwhile."""
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
                self._ready.append(session)
                if self._workers < pace.at_once:
                    self._workers += 1
                    threading.Thread(target=self._work, daemon=True, name="ruleproof-eval").start()
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

    def _work(self) -> None:
        """One worker: one turn of one session after the other, so that no session keeps the others waiting."""
        while True:
            with self._mutex:
                if not self._ready:
                    self._workers -= 1
                    return
                session = self._ready.popleft()
                turn, loop = session.waiting.popleft()
            try:
                raw: object = self._evaluate(turn, loop)
            except Exception as error:
                raw = error
            try:
                session.result = self._handle(turn, raw)
            except Exception:
                log.exception("handling the evaluation of session %r failed", turn.session_id)
            with self._mutex:
                if session.waiting:
                    self._ready.append(session)
                else:
                    session.running = False
                    session.idle.set()

    def _evaluate(self, turn: TurnContext, loop: asyncio.AbstractEventLoop | None) -> object:
        """The evaluator's answer within the time limit; raises TimeoutError, or whatever it raised."""
        answer = _bounded(lambda: self._evaluator(turn), self._pace.timeout_s)
        if not inspect.isawaitable(answer):
            return answer
        future = self._on_host(answer, loop)
        if future is not None and loop is not None:
            try:
                return _hosted(future, loop, self._pace.timeout_s)
            except concurrent.futures.CancelledError:
                _discard(answer)
                answer = self._evaluator(turn)  # the host's loop ended under it, or waits: begin again on our own
                if not inspect.isawaitable(answer):
                    return answer
            finally:
                future.cancel()  # where time ran out: whoever runs it must not go on
                with self._mutex:
                    given = self._hosted.pop(future)[1]
                if not loop.is_running():
                    _discard(given)
        return asyncio.run(asyncio.wait_for(_awaited(answer), self._pace.timeout_s))

    def _on_host(
        self, answer: Awaitable[object], loop: asyncio.AbstractEventLoop | None
    ) -> concurrent.futures.Future[object] | None:
        """The answer under way on the host's loop; None where that cannot run it."""
        with self._mutex:
            if loop is None or loop in self._blocked or not loop.is_running():
                return None
            given = _awaited(answer)
            future = asyncio.run_coroutine_threadsafe(given, loop)
            self._hosted[future] = loop, given
            return future

    def wait(self, session_id: str | None, timeout_s: float) -> bool:
        """Wait until the session's queue (every queue without an id) is empty. False when time ran out.

        Called on an event loop, it takes what runs there to a loop of our own: the caller's stands still meanwhile.
        """
        end, loop = self._monotonic() + timeout_s, _running_loop()
        with self._mutex:
            if session_id is None:
                sessions = list(self._sessions.values())
            else:
                found = self._sessions.get(session_id)
                sessions = [found] if found else []
            stranded = [future for future, (host, _) in self._hosted.items() if host is loop]
            if loop is not None:
                self._blocked.append(loop)
        try:
            for future in stranded:
                future.cancel()
            return all(session.idle.wait(max(0.0, end - self._monotonic())) for session in sessions)
        finally:
            if loop is not None:
                with self._mutex:
                    self._blocked.remove(loop)

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


def _discard(answer: Awaitable[object]) -> None:
    """Give up a coroutine that nobody began, without a complaint of the interpreter."""
    if inspect.iscoroutine(answer) and inspect.getcoroutinestate(answer) == inspect.CORO_CREATED:
        answer.close()


def _hosted(future: concurrent.futures.Future[object], loop: asyncio.AbstractEventLoop, timeout_s: float) -> object:
    """The answer of the host's loop. Raises CancelledError where the loop stopped: it may never begin what it was given
    while it was stopping, and would not say so.
    """
    for _ in range(max(1, round(timeout_s / LOOK_S))):
        try:
            return future.result(min(LOOK_S, timeout_s))
        except TimeoutError:
            if future.done():
                raise
        if not loop.is_running():
            raise concurrent.futures.CancelledError
    raise TimeoutError


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
