"""The project about itself: sizes, the public API, which requirement is proven where, what must not stand in it."""

from __future__ import annotations

import ast
import importlib
import re
import subprocess
import sys
from pathlib import Path

import pytest

import ruleproof

HERE = Path(__file__).resolve().parents[2]
SOURCES = sorted((HERE / "src").rglob("*.py"))
MAX_MODULE = 400
MAX_FUNCTION = 60
PROVEN = [
    *(f"r{n}" for n in range(1, 16)),
    *(f"s{n}" for n in range(1, 9)),
    *(f"v{n}" for n in range(1, 11)),
    *(f"e{n}" for n in range(1, 9)),
    *(f"g{n}" for n in range(1, 11)),
]
FOREIGN = re.compile(
    r"\b(?:case \d+|W\d{1,2}|gap D\d{1,2})\b|/(?:work|farm)/|/root/(?!\.local)|\.pyenv/|/tmp/(?:venv|peer|brief|shim)",
)


@pytest.mark.parametrize("file", SOURCES, ids=lambda file: str(file.relative_to(HERE / "src")))
def test_no_module_and_no_function_outgrows_its_noun(file: Path) -> None:
    text = file.read_text(encoding="utf-8")
    assert text.count("\n") <= MAX_MODULE
    tree = ast.parse(text)
    assert ast.get_docstring(tree), "a module opens with its rules"
    for node in ast.walk(tree):
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef)):
            assert node.end_lineno is not None
            assert node.end_lineno - node.lineno < MAX_FUNCTION, node.name


def test_every_public_name_is_there_and_documented() -> None:
    assert sorted(ruleproof._HOMES) == sorted(ruleproof.__all__)
    for name in ruleproof.__all__:
        value = getattr(ruleproof, name)
        assert value.__doc__, name
        assert value is getattr(importlib.import_module(f"ruleproof.{ruleproof._HOMES[name]}"), name)
    with pytest.raises(AttributeError):
        _ = ruleproof.nothing_of_the_kind


def test_every_requirement_is_worded_and_proven() -> None:
    worded = set(re.findall(r"^\* \*\*([A-Z]\d+)\*\*", (HERE / "docs/requirements.md").read_text(), re.MULTILINE))
    tests = "\n".join(file.read_text(encoding="utf-8") for file in (HERE / "tests/conformance").glob("test_*.py"))
    named = {number.upper() for number in re.findall(r"def test_([rvegs]\d+)_", tests)}
    assert {number.upper() for number in PROVEN} <= named
    assert named <= worded, f"tests name what docs/requirements.md does not word: {sorted(named - worded)}"


def texts() -> list[Path]:
    kinds = {".py", ".md", ".toml", ".txt", ".jsonl", ".json"}
    folders = ("src", "tests", "docs", "benchmarks", "examples")
    inner = [file for folder in folders for file in (HERE / folder).rglob("*") if file.suffix in kinds]
    return [file for file in [*HERE.glob("*.md"), HERE / "pyproject.toml", *inner] if file != Path(__file__).resolve()]


def test_the_project_speaks_of_itself_alone() -> None:
    found = [
        f"{file.relative_to(HERE)}:{number}: {line.strip()[:80]}"
        for file in texts()
        for number, line in enumerate(file.read_text(encoding="utf-8", errors="replace").splitlines(), 1)
        if FOREIGN.search(line)
    ]
    assert not found, "\n".join(found)


def test_the_readme_names_only_files_that_exist() -> None:
    text = (HERE / "README.md").read_text(encoding="utf-8")
    for target in re.findall(r"\]\(([\w./-]+)\)", text):
        assert (HERE / target).exists(), target
    assert "<!-- test command -->" in text


@pytest.mark.skipif(sys.platform == "win32", reason="the script is for bash")
def test_ci_finds_the_test_command_of_the_readme() -> None:
    script = (HERE / ".ci/run").read_text(encoding="utf-8")
    line = next(line for line in script.splitlines() if line.startswith("command=$("))
    found = subprocess.run(
        ["bash", "-c", f'{line}; echo "$command"'], cwd=HERE, capture_output=True, text=True, check=True
    )
    assert found.stdout.startswith("pip install ") and "&& pytest" in found.stdout
    assert found.stdout.strip() in (HERE / "README.md").read_text(encoding="utf-8").splitlines()


def test_no_pattern_is_possessive_over_a_group() -> None:
    """Python 3.11.2 matches `(...)*+` wrongly where the group can go back: a private key slipped through."""
    possessive = re.compile(r"\)(?:[*+?]|\{[0-9,]+\})\+")
    assert [path.name for path in SOURCES if possessive.search(path.read_text(encoding="utf-8"))] == []
