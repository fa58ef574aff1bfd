"""The registries of commands: complete, documented, and every example in a help page can be read by the parser."""

from __future__ import annotations

import importlib
import pkgutil
import shlex
from typing import Any

import pytest
import typer
from tests.surfaces.cliterminal import Cli, Terminal

import ruleproof.surfaces.cli as package
from ruleproof.surfaces.cli import main
from ruleproof.surfaces.cli.layout import width
from ruleproof.surfaces.cli.output import Output
from ruleproof.surfaces.cli.verb import Verb, examples

VERBS: dict[tuple[str, ...], Verb] = {
    **{(name,): function for name, function in main.COMMANDS},
    **{(name,): bare for name, bare, _ in main.GROUPS},
    **{(name, inner): function for name, _, commands in main.GROUPS for inner, function in commands},
}
PATHS = list(VERBS)
EXAMPLES = [(path, example) for path, function in VERBS.items() for example in examples(function)]


def parse(arguments: list[str]) -> tuple[str, dict[str, Any]]:
    """(command path, parameters) of a command line that is read and not run. Raises what typer raises."""
    command: Any = typer.main.get_command(main.build())
    context = command.make_context("ruleproof", list(arguments), obj=Output(Terminal(), Terminal()))
    while getattr(context, "_protected_args", None):
        _, inner, rest = context.command.resolve_command(context, [*context._protected_args, *context.args])
        context = inner.make_context(inner.name, rest, parent=context)
    return context.command_path, context.params


def words(example: str) -> list[str]:
    """The arguments of a shell line, redirections taken away."""
    found = shlex.split(example)
    assert found.pop(0) == "ruleproof"
    cut = min((found.index(sign) for sign in ("<", ">", "|") if sign in found), default=len(found))
    return found[:cut]


def test_every_module_with_a_command_is_in_a_registry() -> None:
    for found in pkgutil.iter_modules(package.__path__):
        module = importlib.import_module(f"ruleproof.surfaces.cli.{found.name}")
        for name, value in vars(module).items():
            if hasattr(value, "examples") and value.__module__ == module.__name__:
                assert value in VERBS.values(), f"{found.name}.{name} is not registered"


def test_no_command_is_registered_twice() -> None:
    names = [name for name, _ in main.COMMANDS] + [name for name, _, _ in main.GROUPS]
    assert len(names) == len(set(names))


def test_every_command_that_the_issue_names_is_there() -> None:
    wanted = "init trust ingest status notices rules context explain calibrate journal trial pause forget tool doctor"
    assert set(wanted.split()) <= {path[0] for path in PATHS}
    assert {"list", "show", "search", "add", "retire", "status"} <= {
        path[1] for path in PATHS if path[0] == "rules" and len(path) > 1
    }
    assert {("notices", "show"), ("notices", "ack")} <= set(PATHS)


@pytest.mark.parametrize("path", PATHS, ids=" ".join)
def test_every_help_page_has_an_example_and_fits_80_cells(path: tuple[str, ...], bare: Cli) -> None:
    page = bare.ok(*path, "--help").out
    assert examples(VERBS[path]), path
    for example in examples(VERBS[path]):
        assert example in page
        assert example.startswith(f"ruleproof {' '.join(path)}")
    assert "--debug" in page
    assert [line for line in page.split("\n") if width(line) > 80] == []
    assert "\x1b" not in page


@pytest.mark.parametrize(("path", "example"), EXAMPLES, ids=[example for _, example in EXAMPLES])
def test_every_example_can_be_read(path: tuple[str, ...], example: str) -> None:
    assert parse(words(example))[0] == f"ruleproof {' '.join(path)}"


@pytest.mark.parametrize("path", [path for path in PATHS if path != ("tool",)], ids=" ".join)
def test_every_command_takes_json(path: tuple[str, ...]) -> None:
    example = words(examples(VERBS[path])[0])
    assert parse([*example, "--json"])[1]["json"] is True or "--" in example


def test_the_list_of_commands_says_what_each_does_without_being_cut(bare: Cli) -> None:
    for arguments in ([], ["rules"], ["notices"]):
        assert "..." not in bare.ok(*arguments, "--help").out.partition("Commands:")[2]


def test_no_command_at_all_shows_the_help_and_is_a_usage_error(bare: Cli) -> None:
    result = bare()
    assert result.code == 2
    assert "Commands:" in result.out


def test_the_version_is_that_of_the_package(bare: Cli) -> None:
    from importlib.metadata import version

    assert bare.ok("--version").out == f"ruleproof {version('ruleproof')}\n"


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        (("statsu",), "Did you mean 'status'"),
        (("rules", "lst"), "Did you mean 'list'"),
        (("rules", "show"), "ID"),
        (("rules", "list", "--status", "bad"), "--status"),
        (("rules", "--all", "list"), "after `list`"),
        (("status", "--nope"), "--nope"),
        (("init", "--mode", "yolo"), "--mode"),
        (("pause",), "--all"),
        (("pause", "r-0123456789", "--all"), "--all"),
        (("calibrate", "--target-precision", "2"), "--target-precision"),
        (("calibrate", "--labels", "missing.csv"), "missing.csv"),
        (("context", "--at", "yesterday"), "--at"),
        (("context", "--at", "2026-01-01", "--session", "s"), "--session"),
        (("report", "s", "outcome"), "name=value"),
        (("report", "s", "outcome=x"), "no number"),
        (("ingest", "missing.json"), "missing.json"),
        (("ingest", "."), "."),
        (("forget", "r-0123456789"), "--reason"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, tuple) else "",
)
def test_a_wrong_command_line_is_exit_2_and_names_what_is_wrong(
    arguments: tuple[str, ...], said: str, bare: Cli
) -> None:
    result = bare(*arguments)
    assert result.code == 2
    assert said in result.err
    assert "--help" in result.err
    assert result.out == ""
    document = bare(*arguments, "--json")
    assert document.code == 2
    assert document.json["ok"] is False
    assert said in document.json["error"]["message"]
    assert not (bare.folder / ".ruleproof").exists()
