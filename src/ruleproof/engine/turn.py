"""One turn of the host's: a context manager, plain or async, or a decorator; and the payload that says a turn ended."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from contextvars import Token
from types import TracebackType
from typing import Any

from ruleproof.core import ids
from ruleproof.engine.evaluate import TurnContext
from ruleproof.errors import Refused


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
