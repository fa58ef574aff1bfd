"""What `regress` and `validate` share: the options that name a replay, and a harness that runs it.

Both options stand on the command line alone: a settings file, which may come with a clone, cannot name code to run.
"""

from __future__ import annotations

import contextlib
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING, Annotated, Any

import typer

from ruleproof.errors import RuleproofError
from ruleproof.surfaces.cli.opening import opened

if TYPE_CHECKING:
    from ruleproof.config import HarnessConfig
    from ruleproof.edge.replaycommand import CommandReplay
    from ruleproof.engine.ports import Replay
    from ruleproof.harness import Harness

Function = Annotated[
    str | None, typer.Option("--replay", metavar="MODULE:FUNCTION", help="Runs a case: called with case and context.")
]
Template = Annotated[
    str | None,
    typer.Option("--command", metavar="TEMPLATE", help="The same as a command; {case} and {context} become files."),
]
Scoring = Annotated[
    str | None,
    typer.Option("--evaluator", metavar="MODULE:FUNCTION", help="Scores a replay; without it, its messages are."),
]


@contextlib.contextmanager
def replaying(
    replay: str | None,
    command: str | None,
    evaluator: str | None,
    told: Callable[[Replay], Replay] = lambda replay: replay,
) -> Iterator[Harness]:
    """The harness of this folder with the replay that the options name; without one it has none.

    `told` wraps it. What the host's functions print goes to standard error. Raises BadParameter for a wrong option.
    """
    if replay is not None and command is not None:
        raise typer.BadParameter("give --replay or --command, not both", param_hint="--replay")
    commands: list[CommandReplay] = []

    def made(config: HarnessConfig) -> Replay:
        from ruleproof.edge.replaycommand import CommandReplay

        if replay is not None:
            return told(_loaded(replay, "--replay"))
        try:
            commands.append(CommandReplay(command or "", timeout_s=config.replay_timeout_s))
        except RuleproofError as error:
            raise typer.BadParameter(str(error), param_hint="--command") from None
        return told(commands[0])

    def close() -> None:
        for one in commands:
            one.close()

    try:
        with (
            _ending(close),
            contextlib.redirect_stdout(sys.stderr),
        ):  # what the host's functions print is no part of our document
            scoring = _loaded(evaluator, "--evaluator") if evaluator is not None else None
            with opened(evaluator=scoring, replay=None if replay is None and command is None else made) as harness:
                yield harness
    finally:
        close()


@contextlib.contextmanager
def _ending(close: Callable[[], None]) -> Iterator[None]:
    """A signal that ends the program ends what it started, and the program at once: a round may take hours."""

    def end(number: int, _frame: object) -> None:
        close()
        os.write(2, b"interrupted\n")
        os._exit(128 + number)

    names = ("SIGINT", "SIGTERM", "SIGHUP") if threading.current_thread() is threading.main_thread() else ()
    before = {number: signal.signal(number, end) for name in names if (number := getattr(signal, name, None))}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def _loaded(name: str, option: str) -> Callable[..., Any]:
    from ruleproof.edge.replaycommand import load_function

    try:
        return load_function(name)
    except RuleproofError as error:
        raise typer.BadParameter(str(error), param_hint=option) from None
