"""What every command has in common: an example in its help, `--json`, `--debug`, and a `Reply` that `main` prints."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable, Mapping
from typing import Annotated, Any

import typer

from ruleproof.surfaces.cli.output import Output, Reply

Json = Annotated[bool, typer.Option("--json", help="Print one JSON document.")]
Debug = Annotated[bool, typer.Option("--debug", help="On an error, print where it happened.")]
_COMMON = (("json", Json), ("debug", Debug))

Verb = Callable[..., Reply | None]


def verb(*examples: str, json: bool = True, lenient: bool = False) -> Callable[[Verb], Verb]:
    """Make a command of a function that returns a Reply; arguments named `out` and `ctx` are given to it.

    `json=False` leaves `--json` to the function; `lenient` takes an unknown option for an argument (an id may be `-x`).
    """

    def decorate(function: Verb) -> Verb:
        given = inspect.signature(function, eval_str=True).parameters
        common = _COMMON if json else _COMMON[1:]

        @functools.wraps(function)
        def command(ctx: typer.Context, **values: Any) -> Reply | None:
            out = ctx.find_object(Output)
            assert out is not None
            for name, _ in common:
                setattr(out, name, values.pop(name) or getattr(out, name))
            own = {"out": out, "ctx": ctx}
            return function(**values, **{name: own[name] for name in own.keys() & given.keys()})

        parameters = [
            inspect.Parameter("ctx", inspect.Parameter.POSITIONAL_OR_KEYWORD, annotation=typer.Context),
            *(parameter for name, parameter in given.items() if name not in ("out", "ctx")),
            *(_flag(name, kind) for name, kind in common),
        ]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        command.settings = {"ignore_unknown_options": lenient}  # type: ignore[attr-defined]
        command.examples = examples  # type: ignore[attr-defined]
        return command

    return decorate


def _flag(name: str, kind: object) -> inspect.Parameter:
    return inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=False, annotation=kind)


def examples(function: Verb) -> tuple[str, ...]:
    """The examples of a command, as they stand in its help."""
    return tuple(getattr(function, "examples", ()))


def settings(function: Verb) -> Mapping[str, Any]:
    """How typer is to read the arguments of a command."""
    return dict(getattr(function, "settings", {}))


def epilog(function: Verb) -> str:
    """The examples as the end of a help page, each on a line of its own."""
    lines = examples(function)
    return "\n".join(["\b", "Examples:" if len(lines) > 1 else "Example:", *(f"  {line}" for line in lines)])
