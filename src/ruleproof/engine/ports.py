"""What the engine needs of the world, as protocols; `edge` implements them, tests may too."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from datetime import datetime
from typing import Protocol

from ruleproof.core.evalcase import EvalCase
from ruleproof.core.notice import Notice
from ruleproof.core.problems import Problem
from ruleproof.core.score import Score


class Batch(Protocol):
    """New lines of a log; `fresh` means that the reader must forget what it folded before."""

    @property
    def lines(self) -> Sequence[tuple[int, bytes]]: ...
    @property
    def fresh(self) -> bool: ...


class Log(Protocol):
    """An append-only file of lines."""

    @property
    def torn(self) -> bool: ...
    def read(self) -> Batch: ...
    def append(self, data: bytes, *, sync: bool = True) -> None: ...
    def sync(self) -> None: ...
    def replace(self, data: bytes) -> None: ...
    def content(self) -> bytes: ...
    def tail(self, before: int | None, count: int) -> tuple[bytes, int]: ...


class MailboxStatus(Protocol):
    """What waits in the mailbox."""

    @property
    def pending_count(self) -> int: ...
    @property
    def max_severity(self) -> str | None: ...
    @property
    def latest_id(self) -> str | None: ...


class Mailbox(Protocol):
    """Notices: pending until somebody acknowledges them."""

    def post(self, notice: Notice) -> None: ...
    def pending(self) -> list[Notice]: ...
    def read(self, notice_id: str) -> Notice | None: ...
    def acknowledge(self, notice_id: str, *, rule_id: str | None, note: str | None, at: str) -> Notice: ...
    def status(self) -> MailboxStatus: ...
    def problems(self) -> list[Problem]: ...


class EvalSet(Protocol):
    """Eval cases, one file each. A listing carries no inputs; `read` does."""

    def listed(self) -> list[EvalCase]: ...
    def read(self, case_id: str) -> EvalCase | None: ...
    def add(self, case: EvalCase) -> None: ...
    def put(self, case: EvalCase) -> None: ...
    def remove(self, case_id: str) -> bool: ...
    def problems(self) -> list[Problem]: ...


class System(Protocol):
    """The clock and chance."""

    def now(self) -> datetime: ...
    def monotonic(self) -> float: ...
    def hex(self, digits: int) -> str: ...


class Files(Protocol):
    """Whole files of the workspace, by their path below its root."""

    def write(self, name: str, data: bytes, *, sync: bool = True) -> None: ...
    def read(self, name: str) -> bytes | None: ...
    def names(self, folder: str) -> list[str]: ...
    def remove(self, name: str) -> None: ...


@dataclass(frozen=True, slots=True)
class Ports:
    """One workspace's edges."""

    rules: Log
    trials: Log
    journal: Log
    sessions: Log
    mailbox: Mailbox
    evalset: EvalSet
    files: Files
    system: System
    lock: Callable[[], AbstractContextManager[None]]
    trusted: bool = True
    """False: the workspace came from somewhere else, and nothing in it is in force."""


class Turn(Protocol):
    """What an evaluator is given: one turn of one session that has just ended."""

    @property
    def session_id(self) -> str: ...
    @property
    def turn(self) -> int: ...
    @property
    def end_state(self) -> Mapping[str, object]: ...


class Evaluator(Protocol):
    """Scores a turn. It may return plain values (metric -> number or None), Scores, or an awaitable of either."""

    def __call__(self, turn: Turn, /) -> object: ...


class Replay(Protocol):
    """Runs a case again with `context` in the agent's prompt, in a new session.

    It returns the id of that session, or a mapping with `session_id` and what is known of it: `messages` or `end_state`
    for the evaluator, `scores` (then no evaluator is asked), `costs`; or an awaitable of either.
    """

    def __call__(self, case: EvalCase, context: str, /) -> object: ...


Scores = Mapping[str, float | None] | Sequence[Score]
