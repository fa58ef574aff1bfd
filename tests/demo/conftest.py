"""A command line in an empty folder, with its temporary files in the test's own folder."""

from __future__ import annotations

import tempfile
from pathlib import Path

import pytest
from tests.surfaces.cliterminal import Cli


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    place, temporary = tmp_path / "here", tmp_path / "t"
    place.mkdir()
    temporary.mkdir()
    monkeypatch.chdir(place)
    monkeypatch.setattr(tempfile, "tempdir", str(temporary))
    return Cli(monkeypatch, place)
