"""Run a case again and score what came of it: bounded in time, and outside of the live pipeline.

A replay is the host's code and may do anything: raise, hang, answer garbage, call the harness. It runs in a thread of
its own (an async one on a loop of its own), which is given up when its time is over; whatever goes wrong is a replay
without scores, never an exception here and never a score of 0. While it runs, `system_context()` gives it the context
of the replay, and its turns and reports leave no trace in trials, mailbox and journal.
"""

from __future__ import annotations

import asyncio
import concurrent.futures
import contextlib
import contextvars
import inspect
import logging
import threading
from collections.abc import Awaitable, Callable, Iterable, Mapping
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Generic, TypeVar

from ruleproof.core import ids
from ruleproof.core.context import Context
from ruleproof.core.evalcase import EvalCase
from ruleproof.core.evidence.replay import Replayed, best_scores
from ruleproof.core.score import checked_cost
from ruleproof.core.secrets import redact
from ruleproof.core.text import one_line
from ruleproof.engine.evaluate import TurnContext
from ruleproof.engine.ports import EvalSet, Evaluator, Replay
from ruleproof.engine.scored import as_scores
from ruleproof.errors import Refused, RuleproofError

log = logging.getLogger("ruleproof")
T = TypeVar("T")
REPLAYING: ContextVar[Context | None] = ContextVar("ruleproof_replaying", default=None)
"""The context of the replay that the running code belongs to; None in live code."""
MAX_HANGING = 16
"""Calls that never came back, at which no further one is started."""
MAX_SAID = 300


@dataclass(frozen=True, slots=True)
class Job:
    """One replay to run: a listed case, and the context that its agent is to have."""

    case: EvalCase
    context: Context


@dataclass(frozen=True, slots=True)
class _Answer:
    """What a replay returned, checked: the new session and what is known of it."""

    session_id: str
    end_state: Mapping[str, object]
    scores: object
    costs: Mapping[str, float]


class Replayer:
    """Runs replays, at most `at_once` at a time, and scores each by the host's word or by the evaluator."""

    def __init__(
        self,
        replay: Replay,
        evaluator: Evaluator,
        threshold: Callable[[str], float],
        timeout_s: float = 300.0,
        eval_timeout_s: float = 120.0,
        at_once: int = 1,
    ) -> None:
        self._replay, self._evaluator, self._threshold = replay, evaluator, threshold
        self._timeout_s, self._eval_timeout_s, self._at_once = timeout_s, eval_timeout_s, at_once
        self._calls = _Calls()

    async def run(
        self, evalset: EvalSet, jobs: Iterable[Job], done: Callable[[int, Replayed], None] | None = None
    ) -> list[Replayed]:
        """Every job's outcome, in the order of the jobs. `done(place, outcome)` is called as each one ends."""
        slots = asyncio.Semaphore(self._at_once)

        async def one(place: int, job: Job) -> Replayed:
            async with slots:
                found = await self._one(evalset, job)
            if done is not None:
                done(place, found)
            return found

        return list(await asyncio.gather(*(one(place, job) for place, job in enumerate(jobs))))

    async def _one(self, evalset: EvalSet, job: Job) -> Replayed:
        listed, session_id = job.case, ""
        try:
            case = evalset.read(listed.id)
            if case is None or not case.replayable:
                raise Refused("The case is gone, or has no input.")
            answer = await self._calls.bounded(
                lambda: self._replay(case, job.context.text),
                lambda raw: _checked(raw, case),
                self._timeout_s,
                job.context,
            )
            session_id = answer.session_id
            scores, conflicts = await self._calls.bounded(
                lambda: self._evaluate(answer), self._best, self._eval_timeout_s, job.context
            )
        except Exception as error:
            return Replayed(listed.id, listed.kind, listed.baseline_scores, session_id, failure=described(error))
        for conflict in conflicts:
            log.warning("replay of case %s, %s", listed.id, conflict)
        return Replayed(listed.id, listed.kind, listed.baseline_scores, session_id, scores, answer.costs)

    def _evaluate(self, answer: _Answer) -> object:
        if answer.scores is not None:
            return answer.scores
        return self._evaluator(TurnContext(answer.session_id, 0, answer.end_state))

    def _best(self, raw: object) -> tuple[dict[str, float], tuple[str, ...]]:
        scores, failure = as_scores(raw, self._threshold)
        if failure:
            raise Refused(f"Scoring it failed: {failure}")
        return best_scores(scores)


def _checked(raw: object, case: EvalCase) -> _Answer:
    """The answer of a replay. Raises Refused for anything but a new session's id, or a mapping that names one."""
    given = raw if isinstance(raw, Mapping) else {"session_id": raw}
    session_id = ids.opaque(given.get("session_id"))
    if session_id == case.session_id:
        raise Refused("It returned the recorded session itself, not a new one.")
    state, messages, costs = given.get("end_state"), given.get("messages"), given.get("costs")
    if not isinstance(costs, (Mapping, type(None))):
        raise Refused(f"Its costs are {type(costs).__name__}, not a mapping of names to numbers.")
    return _Answer(
        session_id,
        {
            **(state if isinstance(state, Mapping) else {}),
            **({"messages": messages} if messages is not None else {}),
        },
        given.get("scores"),
        {ids.opaque(name, "metric"): checked_cost(name, cost) for name, cost in (costs or {}).items()},
    )


def described(error: Exception) -> str:
    """What went wrong, in one short harmless line without credentials."""
    said = error.message if isinstance(error, RuleproofError) else f"{type(error).__name__}: {error}"
    return one_line(redact(said[:4000])[0], MAX_SAID)


# --- bounded calls ---------------------------------------------------------------------------------------------------


@dataclass(slots=True)
class _Call(Generic[T]):
    """One call in its thread. What it raised is told as text: an exception of somebody else's may do anything."""

    future: concurrent.futures.Future[tuple[T | None, str]] = field(default_factory=concurrent.futures.Future)
    task: list[tuple[asyncio.AbstractEventLoop, asyncio.Task[object]]] = field(default_factory=list)
    given_up: bool = False
    over: bool = False

    async def awaited(self, answer: Awaitable[object]) -> object:
        task = asyncio.current_task()
        assert task is not None
        self.task.append((asyncio.get_running_loop(), task))
        return await answer

    def cancel(self) -> None:
        for loop, task in self.task:
            with contextlib.suppress(RuntimeError):
                loop.call_soon_threadsafe(task.cancel)


class _Calls:
    """Calls of foreign code, each in a daemon thread, and how many of them hang."""

    def __init__(self) -> None:
        self._mutex = threading.Lock()
        self._hanging = 0

    async def bounded(
        self, call: Callable[[], object], then: Callable[[object], T], timeout_s: float, context: Context
    ) -> T:
        """`then(call())`, awaited where it is awaitable, all in a thread. Raises Refused with what went wrong."""
        if self._hanging >= MAX_HANGING:
            raise Refused(f"{self._hanging} earlier calls still hang.")
        made: _Call[T] = _Call()
        inside = contextvars.copy_context()
        inside.run(REPLAYING.set, context)
        threading.Thread(
            target=inside.run, args=(self._run, made, call, then), daemon=True, name="ruleproof-replay"
        ).start()
        try:
            value, failure = await asyncio.wait_for(asyncio.wrap_future(made.future), timeout_s)
        except TimeoutError:
            self._give_up(made)
            raise Refused(f"It timed out after {timeout_s:g} s.") from None
        except asyncio.CancelledError:
            self._give_up(made)
            raise
        if failure:
            raise Refused(failure)
        return value  # type: ignore[return-value]

    def _run(self, made: _Call[T], call: Callable[[], object], then: Callable[[object], T]) -> None:
        value, failure = None, ""
        try:
            answer = call()
            if inspect.isawaitable(answer):
                answer = asyncio.run(made.awaited(answer))
            value = then(answer)
        except BaseException as error:
            failure = self._told(error)
        with self._mutex:
            made.over = True
            self._hanging -= made.given_up
        with contextlib.suppress(concurrent.futures.InvalidStateError):
            made.future.set_result((value, failure))

    @staticmethod
    def _told(error: BaseException) -> str:
        try:
            return described(error if isinstance(error, Exception) else Refused(type(error).__name__)) or "It failed."
        except BaseException:
            return "It failed with an error that cannot be told."

    def _give_up(self, made: _Call[T]) -> None:
        with self._mutex:
            made.given_up = not made.over
            self._hanging += made.given_up
        made.cancel()
