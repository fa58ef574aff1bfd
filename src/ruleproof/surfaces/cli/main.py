"""The console entry point: the registries of commands, and the one place where an error becomes an exit code."""

from __future__ import annotations

import os
import sys
from collections.abc import Sequence
from typing import Annotated

import typer

from ruleproof.errors import Refused, RuleproofError
from ruleproof.surfaces.cli import (
    approvals,
    approve,
    calibrate,
    command,
    context,
    demo,
    doctor,
    evalset,
    explain,
    export,
    forecast,
    forget,
    hook,
    import_,
    ingest,
    init,
    install,
    journal,
    lintloaders,
    notice,
    notices,
    pause,
    pool,
    propose,
    regress,
    report,
    review,
    revoke,
    rules,
    search,
    simulate,
    status,
    tool,
    trial,
    trust,
    validate,
)
from ruleproof.surfaces.cli.exits import Exit
from ruleproof.surfaces.cli.opening import words
from ruleproof.surfaces.cli.output import Output, Reply
from ruleproof.surfaces.cli.verb import Verb, epilog, settings

COMMANDS: tuple[tuple[str, Verb], ...] = (
    ("init", init.init),
    ("trust", trust.trust),
    ("ingest", ingest.ingest),
    ("report", report.report),
    ("status", status.status),
    ("context", context.context),
    ("explain", explain.explain),
    ("trial", trial.trial),
    ("forecast", forecast.forecast),
    ("simulate", simulate.simulate),
    ("calibrate", calibrate.calibrate),
    ("validate", validate.validate),
    ("regress", regress.regress),
    ("journal", journal.journal),
    ("pause", pause.pause),
    ("forget", forget.forget),
    ("propose", propose.propose),
    ("review", review.review),
    ("approve", approve.approve),
    ("revoke", revoke.revoke),
    ("notice", notice.notice),
    ("search", search.search),
    ("command", command.command),
    ("import", import_.import_),
    ("export", export.export),
    ("lint-loaders", lintloaders.lintloaders),
    ("install", install.install),
    ("hook", hook.hook),
    ("doctor", doctor.doctor),
    ("tool", tool.tool),
    ("demo", demo.demo),
)
GROUPS: tuple[tuple[str, Verb, tuple[tuple[str, Verb], ...]], ...] = (
    ("notices", notices.notices, notices.COMMANDS),
    ("rules", rules.rules, rules.COMMANDS),
    ("evalset", evalset.evalset, evalset.COMMANDS),
    ("pool", pool.pool, pool.COMMANDS),
    ("approvals", approvals.approvals, approvals.COMMANDS),
)
"""Name, what the bare name does, and the commands below it."""

HELP = """Rules that an agent learned from its own failures: kept, shown, tried and judged.

A command works on the workspace that belongs to the folder where it is called, or on that of HARNESS_ROOT."""

_UsageError: type[Exception] = typer.BadParameter.__mro__[1]
"""What typer raises for a wrong command line; the module that defines it differs between versions."""


def build() -> typer.Typer:
    """The application, made of the two registries."""
    app = typer.Typer(name="ruleproof", help=HELP, rich_markup_mode=None)
    app.callback(invoke_without_command=True)(_top)
    for name, function in COMMANDS:
        app.command(name, epilog=epilog(function), context_settings=dict(settings(function)))(function)
    for name, bare, commands in GROUPS:
        group = typer.Typer(name=name, rich_markup_mode=None)
        group.callback(invoke_without_command=True, epilog=epilog(bare))(bare)
        for inner, function in commands:
            group.command(inner, epilog=epilog(function), context_settings=dict(settings(function)))(function)
        app.add_typer(group)
    return app


def _top(
    ctx: typer.Context,
    version: Annotated[bool, typer.Option("--version", help="Print the version.")] = False,
) -> Reply | None:
    if ctx.invoked_subcommand is not None:
        return None
    if not version:
        return Reply({}, ctx.get_help(), Exit.USAGE)
    from importlib.metadata import version as version_of

    found = version_of("ruleproof")
    return Reply({"version": found}, f"ruleproof {found}")


def run(arguments: Sequence[str], out: Output) -> int:
    """Run one command line and print what it says. Returns the exit code; never raises."""
    command = typer.main.get_command(build())
    try:
        with out.log():
            said = command.main(list(arguments), prog_name="ruleproof", standalone_mode=False, obj=out)
        return int(out.reply(said) if isinstance(said, Reply) else said or Exit.DONE)
    except typer.Abort:
        return int(out.failure(KeyboardInterrupt()))
    except _UsageError as error:
        out.json = "--json" in arguments[: _options_end(arguments)]  # it was not read as far as that
        return int(_usage(error, out))
    except SystemExit as error:
        return error.code if isinstance(error.code, int) else Exit.BUG
    except BaseException as error:
        return int(out.failure(_nowhere() if isinstance(error, FileNotFoundError) and _is_nowhere() else error))


def _is_nowhere() -> bool:
    try:
        os.getcwd()
    except FileNotFoundError:
        return True
    return False


def _nowhere() -> RuleproofError:
    return Refused("The folder in which this was called does not exist any more.", hint="Change into one that does.")


def _options_end(arguments: Sequence[str]) -> int:
    return arguments.index("--") if "--" in arguments else len(arguments)


def _usage(error: BaseException, out: Output) -> Exit:
    context = getattr(error, "ctx", None)
    path = context.command_path if context is not None else "ruleproof"
    said = getattr(error, "format_message", lambda: str(error))()
    return out.usage(said, f"`{path} --help` shows how it is called.")


def main() -> None:
    """`ruleproof` on the command line."""
    sys.exit(run(words(sys.argv[1:]), Output(sys.stdout, sys.stderr)))
