"""Turns of the host's: a context manager, plain or async, or a decorator; or a payload that says one ended.

The turn that the calling code is in says whose session a context, a rule or a tool call belongs to. The host never
breaks because of us: what fails around a turn is a log line.
"""

from __future__ import annotations

import contextlib
import functools
import inspect
import logging
import threading
from collections.abc import Callable, Mapping
from contextvars import ContextVar, Token
from types import TracebackType
from typing import Any

from ruleproof.core import ids
from ruleproof.engine.evaluate import TurnContext
from ruleproof.engine.exposure import Exposures
from ruleproof.engine.replay import REPLAYING
from ruleproof.engine.workspace import Workspace
from ruleproof.errors import Refused

log = logging.getLogger("ruleproof")
MANY = 4096
"""Sessions whose turns are counted."""


class Turn:
    """Set `messages` (or anything else in `end_state`) inside the block if an evaluator should read it."""

    def __init__(
        self, session_id: str, task_id: str | None, begin: Callable[[Turn], None], end: Callable[[Turn], None]
    ) -> None:
        self.session_id = session_id
        self.task_id = task_id
        self.number = 0
        self.end_state: dict[str, object] = {}
        self.token: Token[Turn | None] | None = None
        self._begin, self._end = begin, end

    @property
    def messages(self) -> object:
        """The turn's messages, as chat dictionaries."""
        return self.end_state.get("messages")

    @messages.setter
    def messages(self, value: object) -> None:
        self.end_state["messages"] = value

    def __enter__(self) -> Turn:
        self._begin(self)
        return self

    def __exit__(self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None) -> None:
        self._end(self)

    async def __aenter__(self) -> Turn:
        return self.__enter__()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, at: TracebackType | None
    ) -> None:
        self.__exit__(kind, error, at)

    def __call__(self, function: Callable[..., Any]) -> Callable[..., Any]:
        """Decorate: each call of the function is a turn of its own."""

        def fresh() -> Turn:
            return Turn(self.session_id, self.task_id, self._begin, self._end)

        @functools.wraps(function)
        async def awaited(*args: Any, **kwargs: Any) -> Any:
            async with fresh():
                return await function(*args, **kwargs)

        @functools.wraps(function)
        def called(*args: Any, **kwargs: Any) -> Any:
            with fresh():
                return function(*args, **kwargs)

        return awaited if inspect.iscoroutinefunction(function) else called


_now: ContextVar[Turn | None] = ContextVar("ruleproof_turn", default=None)


def current() -> Turn | None:
    """The turn that the calling code is in."""
    return _now.get()


def session_now() -> str | None:
    """The session of that turn."""
    turn = _now.get()
    return None if turn is None else turn.session_id


def quietly(call: Callable[..., object], *args: object, **details: object) -> None:
    """Call it; a failure is a log line."""
    try:
        call(*args, **details)
    except Exception:
        log.exception("%s failed; the host goes on", getattr(call, "__name__", "a step"))


class Turns:
    """The turns of one process. `submit` gets each that ended; nothing of a turn inside a replay is recorded."""

    def __init__(self, workspace: Workspace, exposures: Exposures, submit: Callable[[TurnContext], None]) -> None:
        self._workspace, self._exposures, self._submit = workspace, exposures, submit
        self._mutex = threading.Lock()
        self._numbers: dict[str, int] = {}

    def turn(self, session_id: str, task_id: str | None) -> Turn:
        """One turn, not begun. Raises Refused for a bad id."""
        return Turn(ids.opaque(session_id), task_id, self._begin, self._end)

    def ended(self, payload: Mapping[str, object]) -> None:
        """A turn ended that nobody began here."""
        turn = parse_turn(payload)
        if REPLAYING.get() is not None:
            return
        if isinstance(turn, TurnContext):
            quietly(self._exposures.record, turn.session_id, turn.task_id)
            self._submit(turn)
        else:
            log.warning("turn ignored: %s", turn)

    def _begin(self, turn: Turn) -> None:
        if REPLAYING.get() is not None:
            return
        with self._mutex:
            number = self._numbers[turn.session_id] = self._numbers.pop(turn.session_id, 0) + 1
            if number == 1:  # another process may have had turns of the session before
                number = self._numbers[turn.session_id] = self._last(turn.session_id) + 1
            while len(self._numbers) > MANY:
                self._numbers.pop(next(iter(self._numbers)))
        turn.number = number
        turn.token = _now.set(turn)
        quietly(self._exposures.record, turn.session_id, turn.task_id)

    def _last(self, session_id: str) -> int:
        try:
            return self._workspace.refresh_sessions().gate(session_id).turn
        except Exception:
            log.exception("reading the sessions failed; turns of %r are numbered from 1", session_id)
            return 0

    def _end(self, turn: Turn) -> None:
        if REPLAYING.get() is not None:
            return
        if turn.token is not None:
            with contextlib.suppress(ValueError):  # a framework may leave the block in another context
                _now.reset(turn.token)
        if self._exposures.waits(turn.session_id):
            quietly(self._exposures.record, turn.session_id, turn.task_id)
        self._submit(TurnContext(turn.session_id, turn.number, turn.end_state, turn.task_id))


def parse_turn(payload: object) -> TurnContext | str:
    """The turn of a payload, or what is wrong with it."""
    if not isinstance(payload, Mapping):
        return f"the payload is {type(payload).__name__}, not a mapping"
    number, state, task = payload.get("turn_index", 0), payload.get("end_state"), payload.get("task_id")
    try:
        session_id = ids.opaque(payload.get("session_id"))
        task_id = ids.opaque(task, "task") if task is not None else None
    except Refused as refused:
        return str(refused)
    if isinstance(number, bool) or not isinstance(number, int) or number < 0:
        return f"turn_index is {ids.shown(number)}, not a whole number >= 0"
    if state is not None and not isinstance(state, Mapping):
        return f"end_state is {type(state).__name__}, not a mapping"
    return TurnContext(session_id, number, dict(state) if state else {}, task_id)
