"""Shared fixtures: where the recorded data lies, and a home directory that no test can escape from."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")  # how fast a machine is says nothing about the code


@pytest.fixture(scope="session")
def data_dir() -> Path:
    """The folder of recorded sessions, rules and attacks; named by RULEPROOF_DATA."""
    path = os.environ.get("RULEPROOF_DATA")
    if not path:
        pytest.skip("RULEPROOF_DATA is not set: the recorded data is not part of the project")
    return Path(path)


@pytest.fixture(autouse=True)
def _own_home(tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch) -> None:
    home = tmp_path_factory.mktemp("home")
    monkeypatch.setenv("HOME", str(home))
    for name in list(os.environ):
        if name.startswith(("HARNESS_", "XDG_")):
            monkeypatch.delenv(name)
