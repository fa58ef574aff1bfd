"""Every exception that ruleproof raises, on one screen.

An exception says whose fault it is; its message names the thing, the figure and the way out (`hint`). Data that is
merely bad on disk is never an exception: it is a `ruleproof.core.problems.Problem`.
"""

from __future__ import annotations

from collections.abc import Sequence


class RuleproofError(Exception):
    """Base of the family. `hint` says what the reader can do about it; `problems` lists located complaints."""

    def __init__(self, message: str, *, hint: str = "", problems: Sequence[object] = ()) -> None:
        super().__init__(message)
        self.message = message
        self.hint = hint
        self.problems = tuple(problems)

    def __str__(self) -> str:
        return f"{self.message} {self.hint}".strip()


class Refused(RuleproofError, ValueError):
    """The request breaks a rule of the lifecycle, a limit or a check; nothing was written."""


class CapReached(Refused):
    """The store holds as many live rules as `max_active_rules` allows; nothing was evicted."""


class NotFound(RuleproofError, KeyError):
    """No rule, notice, case or session has that id."""

    __str__ = RuleproofError.__str__


class Conflict(RuleproofError):
    """The thing changed since it was read; read it again and decide again."""


class ConfigError(RuleproofError, ValueError):
    """A setting is misspelt, of the wrong type or out of range."""


class StoreError(RuleproofError, OSError):
    """The workspace could not be read or written (full disk, read-only folder, a lock that never came free)."""

    __str__ = RuleproofError.__str__


class SourceError(RuleproofError):
    """An evaluator, a model, a replay function or git misbehaved."""
