"""The command line on recorded sessions and on a workspace that another system wrote."""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest
from tests.surfaces.cliterminal import Cli

from ruleproof.surfaces.cli.layout import WIDTH, width


def test_200_recorded_sessions_become_two_notices_and_an_honest_calibration(cli: Cli, data_dir: Path) -> None:
    source = str(data_dir / "tau_bench" / "gpt-4o-airline.json")
    result = cli.ok("ingest", source)
    heads = result.out.split("\n")[0].split()
    assert heads == ["file", "format", "read", "new", "known", "changed", "skipped", "notices"]
    assert result.out.split("\n")[1].split()[0] == "gpt-4o-airline.json"
    again = cli.json("ingest", source)["files"][0]
    assert (again["read"], again["known"], again["new"], again["notices"]) == (200, 200, 0, [])
    notices = cli.json("notices")["notices"]
    assert {notice["signatures"][0]: notice["count"] for notice in notices} == {
        "breach:outcome": 116,
        "breach:agent_reliability": 14,
    }
    assert all(notice["id"] in cli.ok("notices").out for notice in notices)
    said = cli.ok("calibrate").out
    assert "It sees little" in " ".join(said.split())
    assert all(width(line) <= WIDTH for line in said.split("\n"))
    found = cli.json("calibrate")
    assert (found["failed"], found["passed"]) == (116, 84)
    assert cli.ok("doctor").out == "No problem found.\n"


def test_bad_lines_of_a_transcript_are_named_and_the_rest_is_read(cli: Cli, data_dir: Path) -> None:
    result = cli("ingest", str(data_dir / "claude_code" / "edge_cases.jsonl"))
    assert result.code == 1
    assert "line 11: The message is a text, not an object." in " ".join(result.out.split())
    assert cli.json("status")["ingested"] == 2


@pytest.fixture
def old(bare: Cli, data_dir: Path) -> Cli:
    """A workspace of the 0.6 format."""
    shutil.copytree(data_dir / "workspace_0_6_3", bare.folder / ".ruleproof")
    return bare


def test_a_workspace_of_the_0_6_format_is_shown_trusted_and_used(old: Cli) -> None:
    status = old.json("status")
    assert (status["trusted"], status["in_force"]) == (False, 0)
    assert (status["active"], status["candidates"], status["retired"], status["pending"]) == (1, 2, 1, 2)
    old.ok("trust")
    assert old.json("status")["in_force"] == 3
    assert [trial["observed"] for trial in old.json("trial")["trials"]] == [2, 0]
    assert "2/5" in old.ok("trial").out
    assert old.ok("doctor").out == "No problem found.\n"
    assert "注文の状態を確認する" in old.ok("context").out
