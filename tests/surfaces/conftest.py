"""Folders and command lines for the tests of the surfaces."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from tests.surfaces.cliterminal import Cli


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """An empty folder, and we are in it."""
    place = tmp_path / "project"
    place.mkdir()
    monkeypatch.chdir(place)
    return place


@pytest.fixture
def bare(folder: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A command line in a folder without a workspace."""
    return Cli(monkeypatch, folder)


@pytest.fixture
def cli(bare: Cli) -> Cli:
    """A command line in a folder with a fresh workspace."""
    bare.ok("init", "--yes")
    return bare


@pytest.fixture
def clone(bare: Cli) -> Callable[[str], None]:
    """Make a workspace that somebody else made: `clone(rules_jsonl)`."""

    def made(rules: str) -> None:
        root = bare.folder / ".ruleproof"
        root.mkdir()
        (root / "rules.jsonl").write_text(rules, encoding="utf-8")

    return made
