"""The one module that prints. Results go to standard output, everything else to standard error.

Output is UTF-8 whatever the locale says. No control character, escape sequence or invisible mark of a stored text
reaches the terminal: what got through every check before is shown as its code point here. A reader that went away is
no error; a full disk is one.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import sys
import traceback
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from typing import TextIO

from ruleproof.errors import RuleproofError
from ruleproof.surfaces.cli.exits import Exit, of_error

_HARMFUL = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)
"""Control characters but tab and newline, line and paragraph separators, bidi controls, invisible marks, surrogates."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a command has to say: `data` for programs, `text` for people, `notes` for standard error, the exit code.

    `then` is done once it was printed, and not where the reader went away or the disk is full.
    """

    data: Mapping[str, object]
    text: str
    code: Exit = Exit.DONE
    notes: tuple[str, ...] = field(default=())
    then: Callable[[], None] | None = None


def harmless(text: str) -> str:
    """`text` with every harmful character shown as its escape, such as `\\x1b` or `\\u202e`."""
    return _HARMFUL.sub(lambda found: found[0].encode("unicode_escape").decode(), text)


def as_json(document: Mapping[str, object]) -> str:
    """One JSON document; characters that could harm a terminal are escaped, all others stand as they are."""
    text = json.dumps(document, ensure_ascii=False, allow_nan=False, indent=2, default=str)
    return _HARMFUL.sub(lambda found: json.dumps(found[0])[1:-1], text)


class Output:
    """Standard output and standard error of one run. `json` and `debug` are set by the command that runs."""

    def __init__(self, out: TextIO, err: TextIO) -> None:
        self.json = False
        self.debug = False
        self._gone = False
        self._out, self._err = out, err
        for stream in (out, err):
            with contextlib.suppress(AttributeError, ValueError):
                reconfigure = stream.reconfigure  # type: ignore[attr-defined]
                reconfigure(encoding="utf-8", errors="backslashreplace", newline="\n")

    def reply(self, reply: Reply) -> Exit:
        """Print a reply; returns its exit code."""
        for note in reply.notes:
            self.note(note)
        if self.json:
            self._print(as_json({"ok": reply.code == Exit.DONE, **reply.data}))
        elif reply.text:
            self._print(harmless(reply.text))
        if reply.then is not None and not self._gone:
            reply.then()
        return reply.code

    def failure(self, error: BaseException) -> Exit:
        """Say what ended the command; returns the exit code."""
        code = of_error(error)
        if code == Exit.INTERRUPTED:
            self.note("interrupted")
            return code
        message = error.message if isinstance(error, RuleproofError) else f"{type(error).__name__}: {error}"
        hint = error.hint if isinstance(error, RuleproofError) else ""
        if code == Exit.BUG:
            hint = "This is a fault of ruleproof. Please report it with what `--debug` prints."
        problems = error.problems if isinstance(error, RuleproofError) else ()
        self._failed(type(error).__name__, message, hint, problems)
        if self.debug:
            self.note("".join(traceback.format_exception(error)).rstrip())
        return code

    def usage(self, message: str, hint: str) -> Exit:
        """Say what is wrong with the command line."""
        self._failed("UsageError", message, hint, ())
        return Exit.USAGE

    def _failed(self, kind: str, message: str, hint: str, problems: tuple[object, ...]) -> None:
        if self.json and not self._gone:
            listed = [as_value(problem) for problem in problems]
            error = {"type": kind, "message": message, "hint": hint, "problems": listed}
            self._print(as_json({"ok": False, "error": error}))
            return
        self.note(f"Error: {message}")
        for problem in problems:
            self.note(f"  {problem}")
        if hint:
            self.note(hint)

    def note(self, text: str) -> None:
        """A line on standard error."""
        with contextlib.suppress(OSError, ValueError):
            print(harmless(text), file=self._err, flush=True)

    def _print(self, text: str) -> None:
        try:
            print(text, file=self._out, end="" if text.endswith("\n") else "\n", flush=True)
        except BrokenPipeError:
            self._let_go()
        except OSError as error:
            self._let_go()
            raise OSError(error.errno, f"standard output could not be written: {error.strerror}") from None

    def _let_go(self) -> None:
        """Nobody reads any more: what is still buffered goes nowhere, so that closing the stream says nothing."""
        self._gone = True
        with contextlib.suppress(OSError, ValueError):
            nowhere = os.open(os.devnull, os.O_WRONLY)
            os.dup2(nowhere, self._out.fileno())
            os.close(nowhere)

    # --- while a command runs --------------------------------------------------------------------------------------

    @property
    def interactive(self) -> bool:
        """Whether a person can be asked."""
        return sys.stdin is not None and sys.stdin.isatty() and self._err.isatty() and not self.json

    @contextlib.contextmanager
    def progress(self, total: int | None, things: str = "sessions") -> Iterator[Callable[[int, int], None]]:
        """A bar over `total` steps on a terminal, else nothing. The function takes steps and `things` so far."""
        if self.json or not self._err.isatty():
            yield lambda _bytes, _sessions: None
            return
        from rich.console import Console
        from rich.progress import BarColumn, Progress, TextColumn, TimeRemainingColumn

        console = Console(file=self._err, width=80)
        columns = (
            BarColumn(),
            TextColumn("{task.percentage:>3.0f} %"),
            TextColumn("{task.fields[sessions]} " + things),
        )
        with Progress(*columns, TimeRemainingColumn(), console=console, transient=True) as bar:
            task = bar.add_task("", total=total, sessions=0)
            yield lambda done, sessions: bar.update(task, completed=done, sessions=sessions)

    @contextlib.contextmanager
    def log(self) -> Iterator[None]:
        """Send the log of the package to standard error, made harmless; tracebacks only with `--debug`."""
        handler = _Handler(self)
        logger = logging.getLogger("ruleproof")
        logger.addHandler(handler)
        try:
            yield
        finally:
            logger.removeHandler(handler)


class _Handler(logging.Handler):
    def __init__(self, out: Output) -> None:
        super().__init__(logging.WARNING)
        self._out = out

    def emit(self, record: logging.LogRecord) -> None:
        """One log record as one line."""
        self._out.note(f"{record.levelname.lower()}: {record.getMessage()}")
        if record.exc_info and self._out.debug:
            self._out.note("".join(traceback.format_exception(*record.exc_info)).rstrip())


def as_value(problem: object) -> object:
    """A problem as JSON."""
    shape = getattr(problem, "as_json", None)
    return shape() if callable(shape) else str(problem)
