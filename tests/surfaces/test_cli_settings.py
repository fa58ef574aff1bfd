"""Where settings of a command come from: the environment counts, and a wrong value is named with where it came from."""

from __future__ import annotations

from pathlib import Path

import pytest
from tests.surfaces.cliterminal import Cli


def test_harness_root_names_another_workspace(cli: Cli, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_ROOT", str(tmp_path / "elsewhere"))
    assert cli("status").code == 1
    cli.add("Be brief.")
    assert cli.json("status")["workspace"] == str(tmp_path / "elsewhere")
    monkeypatch.delenv("HARNESS_ROOT")
    assert cli.json("rules")["rules"] == []


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("HARNESS_PAUSE", "maybe"),
        ("HARNESS_MODE", "yolo"),
        ("HARNESS_RULE_PROMOTE_MARGIN", "-1"),
        ("HARNESS_PAUSE", ""),
    ],
)
def test_a_wrong_setting_is_exit_2_with_its_name(
    name: str, value: str, cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv(name, value)
    result = cli("status")
    assert (result.code, result.out) == (2, "")
    assert name in result.err
    assert cli("status", "--json").json["error"]["type"] == "ConfigError"
