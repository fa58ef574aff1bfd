"""What the conformance tests share: a harness on a fresh workspace, and another process's view of the same one."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from tests.conformance.person import Person

from ruleproof.assembly import open_ports
from ruleproof.config import HarnessConfig
from ruleproof.harness import Harness
from ruleproof.testing import FixedSystem


@pytest.fixture
def root(tmp_path: Path) -> Path:
    return tmp_path / "workspace"


@pytest.fixture
def open_harness(root: Path) -> Iterator[Callable[..., Harness]]:
    """Opens the workspace anew each time, as another process would."""
    opened: list[Harness] = []

    def make(
        *, system: FixedSystem | None = None, evaluator: Any = None, replay: Any = None, **settings: Any
    ) -> Harness:
        config = HarnessConfig(harness_root=root, **settings)
        ports, trust = open_ports(config)
        harness = Harness(config, replace(ports, system=system) if system else ports, evaluator, trust, replay)
        opened.append(harness)
        return harness

    yield make
    for harness in opened:
        harness.close()


@pytest.fixture
def harness(open_harness: Callable[..., Harness]) -> Harness:
    return open_harness()


def records(root: Path, name: str) -> list[dict[str, Any]]:
    """Every record of one log, strictly parsed."""
    file = root / name
    return [json.loads(line) for line in file.read_bytes().splitlines()] if file.exists() else []


@pytest.fixture
def log(root: Path) -> Callable[[str], list[dict[str, Any]]]:
    return lambda name: records(root, name)


def see(harness: Harness, session_id: str, value: float | None, metric: str = "agent_reliability") -> Any:
    """A session that saw the context and was scored."""
    harness.system_context(session_id=session_id)
    with harness.turn(session_id):
        pass
    return harness.report(session_id, {metric: value})


@pytest.fixture
def person(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Person:
    """A person at a command line, in an empty folder."""
    place = tmp_path / "project"
    place.mkdir()
    monkeypatch.chdir(place)
    return Person(monkeypatch, place, tmp_path / "state")
