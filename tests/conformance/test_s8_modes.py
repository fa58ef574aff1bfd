"""S8: what the rules of agents may do: nothing (observe_only), wait for a person (suggest), be tried at once (auto)."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from tests.surfaces.cliterminal import Cli

from ruleproof.config import HarnessConfig

TEXT = "Ask before you book."


@pytest.fixture
def cli(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A command line in an empty folder."""
    monkeypatch.chdir(tmp_path)
    return Cli(monkeypatch, tmp_path)


def by_agent(cli: Cli) -> dict[str, Any]:
    """A rule that an agent adds through its toolset."""
    arguments = json.dumps({"rule": TEXT, "rationale": "It was booked twice."})
    answer = cli.ok("tool", "harness_rule_add", "--json", arguments).json
    rule = answer["rule"]
    assert isinstance(rule, dict)
    return rule


def files(cli: Cli, *names: str) -> list[str]:
    root = cli.folder / ".ruleproof"
    return [name for name in names if (root / name).exists() and any((root / name).iterdir())]


@pytest.mark.parametrize("mode", ["observe_only", "suggest", "auto"])
def test_s8_init_takes_the_mode_and_keeps_it(mode: str, cli: Cli) -> None:
    assert cli.json("init", "--mode", mode)["mode"] == mode
    assert cli.json("status")["mode"] == mode
    assert HarnessConfig.load().mode == mode


def test_s8_init_asks_for_the_mode_and_says_what_each_means(cli: Cli) -> None:
    asked = cli("init", tty=True, stdin="suggest\n")
    assert asked.code == 0
    for word in ("observe_only", "suggest", "auto"):
        assert f"{word}: " in asked.err
    assert cli.json("status")["mode"] == "suggest"


def test_s8_auto_is_the_default_of_the_code_and_of_yes(cli: Cli) -> None:
    assert HarnessConfig().mode == "auto"
    assert cli.json("init", "--yes")["mode"] == "auto"


def test_s8_auto_puts_a_rule_of_an_agent_in_force_at_once_marked_provisional(cli: Cli) -> None:
    cli.ok("init", "--mode", "auto")
    assert by_agent(cli)["in_force"] is True
    context = cli.ok("context").out
    assert TEXT in context.partition("### Provisional rules")[2]


def test_s8_suggest_lets_a_rule_of_an_agent_wait_until_a_person_accepts_it(cli: Cli) -> None:
    cli.ok("init", "--mode", "suggest")
    rule = by_agent(cli)
    assert rule["in_force"] is False
    assert TEXT not in cli.ok("context").out
    assert cli.json("status")["held"] == 1
    assert "waits for a person" in " ".join(cli.ok("rules").out.split())
    assert cli.json("explain", rule["id"])["why"] == "held"
    cli.ok("report", "s", "outcome=1")
    assert cli.json("trial", rule["id"])["sessions_observed"] == 0
    assert cli.json("rules", "accept", rule["id"])["rule"]["in_force"] is True
    assert TEXT in cli.ok("context").out
    again = cli("rules", "accept", rule["id"])
    assert again.code == 1
    event = cli.json("journal", "--type", "rule_accept")["events"][-1]
    assert (event["id"], event["by"]) == (rule["id"], "person")


def test_s8_suggest_does_not_make_a_person_wait(cli: Cli) -> None:
    cli.ok("init", "--mode", "suggest")
    assert cli.json("rules", "add", TEXT)["rule"]["in_force"] is True


def test_s8_no_tool_of_an_agent_accepts_a_rule(cli: Cli) -> None:
    cli.ok("init", "--mode", "suggest")
    by_agent(cli)
    names = [tool["name"] for tool in cli.ok("tool").json["tools"]]
    assert not [name for name in names if "accept" in name or "approve" in name or "resume" in name or "trust" in name]
    by_agent(cli)  # saying it again does not help either
    assert TEXT not in cli.ok("context").out


def test_s8_a_held_rule_can_be_retired_instead(cli: Cli) -> None:
    cli.ok("init", "--mode", "suggest")
    rule = by_agent(cli)
    assert cli.json("rules", "retire", rule["id"], "--reason", "no")["rule"]["status"] == "retired"
    assert cli("rules", "accept", rule["id"]).code == 1


def test_s8_observe_only_evaluates_and_journals_and_posts_nothing(cli: Cli) -> None:
    cli.ok("init", "--mode", "observe_only")
    said = cli.json("report", "s", "outcome=0.1")
    assert (said["did"], said["signatures"]) == ("shadow", ["breach:outcome"])
    assert cli.json("notices")["notices"] == []
    event = cli.json("journal", "--type", "notice")["events"][-1]
    assert event["observe_only"] is True
    assert files(cli, "mailbox/pending", "traces") == []
    assert "observe_only" in cli.ok("report", "t", "outcome=0.1").out


def test_s8_observe_only_posts_nothing_about_recorded_history_either(cli: Cli) -> None:
    cli.ok("init", "--mode", "observe_only")
    rows = [{"session": f"s{n}", "metric": "outcome", "value": 0} for n in range(3)]
    cli.ok("ingest", "-", stdin="".join(json.dumps(row) + "\n" for row in rows))
    assert cli.json("status")["ingested"] == 3
    assert cli.json("notices")["notices"] == []
    assert files(cli, "mailbox/pending") == []


def test_s8_the_mode_can_be_changed_in_the_settings_file_and_for_one_process(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    cli.ok("init", "--mode", "suggest")
    file = cli.folder / "ruleproof.toml"
    file.write_text(file.read_text(encoding="utf-8").replace('mode = "suggest"', 'mode = "auto"'), encoding="utf-8")
    assert cli.json("status")["mode"] == "auto"
    monkeypatch.setenv("HARNESS_MODE", "observe_only")
    assert cli.json("status")["mode"] == "observe_only"
    monkeypatch.setenv("HARNESS_MODE", "observe-only")
    assert cli("status").code == 2


def test_s8_a_person_who_says_the_same_as_a_held_rule_hears_how_to_put_it_in_force(cli: Cli) -> None:
    cli.ok("init", "--mode", "suggest")
    rule_id = by_agent(cli)["id"]
    said = " ".join(cli.ok("rules", "add", TEXT).out.split())
    assert f"{rule_id} says the same and waits for a person" in said and f"ruleproof rules accept {rule_id}" in said
    assert cli.json("rules", "show", rule_id)["rule"]["in_force"] is False
