"""What starting costs: which modules `import ruleproof`, `ruleproof --help` and a command load. Counted, not timed."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest

HEAVY = (
    *("numpy", "scipy", "pandas", "torch", "quicktok", "dulwich", "starlette", "uvicorn", "jinja2", "mcp", "openai"),
    *(
        "langchain",
        "langchain_core",
        "langgraph",
        "litellm",
        "crewai",
        "opentelemetry",
        "psycopg",
        "dbos",
        "sqlalchemy",
    ),
    *("hypothesis", "pytest", "IPython", "requests", "httpx", "httpx2"),
)
INNER = ("ruleproof.harness", "ruleproof.config", "ruleproof.engine", "ruleproof.edge", "ruleproof.toolset")
NEVER_FOR_HELP = ("rich", "pydantic", "pydantic_core", "platformdirs", "asyncio")


def loaded(code: str, cwd: Path) -> set[str]:
    """The modules that a fresh interpreter holds after running `code`."""
    program = (
        f"import contextlib, io, json, sys\nout = io.StringIO()\nwith contextlib.redirect_stdout(out):\n    {code}\n"
        "sys.__stdout__.write(json.dumps(sorted(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", program], cwd=cwd, capture_output=True, timeout=60, check=False)
    assert done.returncode == 0, done.stderr.decode()
    return set(json.loads(done.stdout))


def command(*arguments: str) -> str:
    """Code that runs one command line."""
    run = "from ruleproof.surfaces.cli import main, output"
    return f"{run}; main.run({list(arguments)!r}, output.Output(out, io.StringIO()))"


def roots(modules: set[str]) -> set[str]:
    return {name.partition(".")[0] for name in modules}


@pytest.fixture(scope="module")
def for_help(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    return loaded(command("--help"), tmp_path_factory.mktemp("empty"))


def test_import_ruleproof_loads_nothing_heavy_and_no_command_line(tmp_path: Path) -> None:
    modules = loaded("import ruleproof", tmp_path)
    assert roots(modules) & {*HEAVY, "rich", "typer", "click"} == set()
    assert not [
        name for name in modules if name.startswith(("ruleproof.surfaces", "ruleproof.demo", "ruleproof.testing"))
    ]


def test_the_help_loads_nothing_heavy(for_help: set[str]) -> None:
    assert roots(for_help) & set(HEAVY) == set()


def test_the_help_loads_no_engine_no_edge_and_no_model_of_settings(for_help: set[str]) -> None:
    assert sorted(name for name in for_help if name.startswith(INNER)) == []
    assert roots(for_help) & set(NEVER_FOR_HELP) == set()


@pytest.mark.parametrize("arguments", [("rules", "--help"), ("ingest", "--help"), ("nonsense",)], ids=" ".join)
def test_the_help_of_a_command_loads_no_more_of_ours(arguments: tuple[str, ...], tmp_path: Path) -> None:
    """Typer itself needs pydantic to read the options of a command."""
    modules = loaded(command(*arguments), tmp_path)
    assert roots(modules) & {*HEAVY, "rich", "platformdirs"} == set()
    assert not [name for name in modules if name.startswith(INNER)]


def test_a_whole_command_loads_nothing_heavy(tmp_path: Path) -> None:
    made = loaded(command("init", "--yes"), tmp_path)
    assert "ruleproof.harness" in made
    for arguments in (("status",), ("context", "--task", "x"), ("rules", "add", "x"), ("report", "s", "outcome=0")):
        assert roots(loaded(command(*arguments), tmp_path)) & {*HEAVY, "rich"} == set(), arguments


def test_this_test_sees_what_is_loaded(tmp_path: Path) -> None:
    assert "decimal" in loaded("import decimal", tmp_path)
    assert "decimal" not in loaded("pass", tmp_path)
