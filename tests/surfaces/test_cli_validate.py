"""`validate` on the command line: replays judge a candidate, and the exit code says whether they could."""

from __future__ import annotations

import shlex
import sys

import pytest
from tests.surfaces.cliterminal import Cli

REPLAYS = """
import itertools
count = itertools.count()

def scored(value):
    print("a debugging line of the host")
    return {"session_id": f"n-{next(count)}", "scores": {"outcome": value}}

def helps(case, context):
    return scored(1.0 if case.kind == "win" or "Charge once" in context else next(count) % 9 / 10)

async def harms(case, context):
    return scored(0.0 if "Charge once" in context else 0.9)

def dead(case, context):
    raise RuntimeError("model down")
"""


@pytest.fixture
def shop(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> Cli:
    """A workspace with a candidate, three failures and two wins, and replays in a module beside it."""
    monkeypatch.setattr(sys, "path", list(sys.path))
    monkeypatch.setattr(sys, "modules", {k: v for k, v in sys.modules.items() if k != "shop_judged"})
    (cli.folder / "shop_judged.py").write_text(REPLAYS)
    for name in ("a", "b", "c"):
        cli.ok("evalset", "capture", "--session", name, "outcome=0.1", "--prompt", f"charge {name}")
    for name in ("d", "e"):
        cli.ok("evalset", "capture", "--session", name, "outcome=1", "--kind", "win", "--prompt", f"refund {name}")
    cli.ok("rules", "add", "Charge once.", "--metric", "outcome")
    return cli


def status(cli: Cli) -> str:
    (rule,) = cli.json("rules", "list", "--all")["rules"]
    return str(rule["status"])


def test_replays_promote_a_rule_that_helps_and_that_is_0(shop: Cli) -> None:
    found = shop("validate", "--replay", "shop_judged:helps", "--rounds", "9", "--json")
    assert (found.code, found.json["ok"], found.json["replayed"]) == (0, True, 1), found
    (verdict,) = found.json["verdicts"]
    assert (verdict["outcome"], verdict["validator"], verdict["replayed"]) == ("promote", "replay", True)
    assert status(shop) == "active" and found.json["rounds"] == verdict["details"]["rounds"] < 9
    assert "round 1, replay 1: " in found.err and "a debugging line of the host" in found.err


def test_one_round_that_decides_nothing_is_0_and_the_next_call_goes_on(shop: Cli) -> None:
    settings = shop.folder / "ruleproof.toml"
    settings.write_text(settings.read_text() + "\nreplay_repeats = 1\n")
    for rounds in (1, 2):
        found = shop("validate", "--replay", "shop_judged:helps", "--json")
        assert (found.code, found.json["rounds"]) == (0, 1), found
        assert found.json["verdicts"][0]["details"]["rounds"] == rounds
    assert status(shop) == "candidate"
    assert "pending" in shop.ok("validate", "--replay", "shop_judged:helps").out


def test_trial_shows_the_pairs_with_an_interval_that_no_verdict_rests_on(shop: Cli) -> None:
    (rule,) = shop.json("rules")["rules"]
    assert shop.json("trial", rule["id"])["pairs"] == {}
    shop("validate", "--replay", "shop_judged:helps")
    pairs = shop.json("trial", rule["id"])["pairs"]
    assert (pairs["count"], pairs["method"]) == (15, "bootstrap")
    assert 0.2 < pairs["low"] < pairs["mean"] < pairs["high"] < 1.0
    said = " ".join(shop.ok("trial", rule["id"]).out.split())
    assert f"15, {pairs['mean']:+.3f} on average" in said and "no verdict rests on it" in said


def test_a_rule_that_replays_retire_is_1(shop: Cli) -> None:
    found = shop("validate", "--replay", "shop_judged:harms", "--rounds", "9")
    assert found.code == 1 and "It lowers outcome" in found.out and status(shop) == "retired"


@pytest.mark.parametrize("options", [(), ("--replay", "shop_judged:dead", "--rounds", "3"), ("--command", "/no/such")])
def test_nothing_replayed_is_5_and_an_outage_costs_one_round(shop: Cli, options: tuple[str, ...]) -> None:
    found = shop("validate", *options, "--json")
    assert (found.code, found.json["ok"], found.json["replayed"]) == (5, False, 0), found
    assert found.json["rounds"] <= 1 and status(shop) == "candidate"
    assert "replay" in shop("validate", *options).out


def test_without_a_candidate_or_a_case_nothing_was_replayed_and_that_is_5(cli: Cli) -> None:
    found = cli("validate", "--command", "true")
    assert found.code == 5 and "No candidate" in found.out
    cli.ok("rules", "add", "Charge once.", "--metric", "outcome")
    found = cli("validate", "--command", "true")
    assert found.code == 5 and "Nothing could be replayed" in found.out


def test_a_command_judges_too(shop: Cli) -> None:
    code = (
        "import json, os; text = open(__import__('sys').argv[1]).read(); helped = 'Charge once' in text; "
        "print(json.dumps({'session_id': f'n-{os.getpid()}', 'scores': {'outcome': float(helped)}}))"
    )
    found = shop("validate", "--command", f"{shlex.quote(sys.executable)} -c {shlex.quote(code)} {{context}}", "--json")
    assert found.json["replayed"] == 1 and found.json["verdicts"][0]["details"]["pairs"] == 15, found


@pytest.mark.parametrize(
    "options",
    [
        ("--replay", "shop_judged:dead", "--command", "x"),
        ("--replay", "nowhere:f"),
        ("--command", ""),
        ("--rounds", "0"),
    ],
)
def test_a_wrong_call_is_2(shop: Cli, options: tuple[str, ...]) -> None:
    found = shop("validate", *options)
    assert found.code == 2 and options[0] in found.err


def test_of_a_workspace_that_is_not_trusted_nothing_is_run(bare: Cli) -> None:
    (bare.folder / ".ruleproof/evalset").mkdir(parents=True)
    (bare.folder / ".ruleproof/evalset/c-1.json").write_text('{"id": "c-1", "kind": "win", "replay_input": "x"}')
    found = bare("validate", "--command", f"touch {bare.folder / 'mark'}")
    assert found.code == 5 and "not trusted" in found.out and not (bare.folder / "mark").exists()
