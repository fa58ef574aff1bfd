"""Every exit code of the command line, and which error leads to which. Nothing else in the CLI knows a number."""

from __future__ import annotations

from enum import IntEnum

from ruleproof.errors import ConfigError, RuleproofError, StoreError


class Exit(IntEnum):
    """What the shell is told."""

    DONE = 0
    PROBLEMS = 1
    """The request was refused, or what was looked at has problems."""
    USAGE = 2
    """The command line or a setting is wrong."""
    BUG = 3
    """Our fault."""
    STORE = 4
    """The workspace, or the place where the output goes, could not be read or written."""
    UNCHECKED = 5
    """There was nothing to check, so nothing is claimed."""
    INTERRUPTED = 130


def of_error(error: BaseException) -> Exit:
    """The exit code of an exception that ended a command."""
    if isinstance(error, KeyboardInterrupt):
        return Exit.INTERRUPTED
    if isinstance(error, ConfigError):
        return Exit.USAGE
    if isinstance(error, (StoreError, OSError)):
        return Exit.STORE
    return Exit.PROBLEMS if isinstance(error, RuleproofError) else Exit.BUG
