"""`forecast`, `simulate`, `rules dead`; what `init`, `context`, `trial` and `rules show` say of the anytime policy."""

from __future__ import annotations

import asyncio
import tomllib
from contextlib import closing

import pytest
from tests.surfaces.cliterminal import Cli

from ruleproof import Harness


def test_init_sets_the_anytime_policy_and_says_how_to_have_the_short_gate(bare: Cli) -> None:
    bare.ok("init", "--yes")
    text = (bare.folder / "ruleproof.toml").read_text(encoding="utf-8")
    values = tomllib.loads(text)
    assert values == {"mode": "auto", "rule_trial_policy": "anytime", "rule_holdout": 0.5, "replay_policy": "paired"}
    before, _, _ = text.partition('rule_trial_policy = "anytime"')
    said = before.split("\n\n")[-1].replace("\n# ", " ")
    assert "withholds it" in said and 'rule_trial_policy = "fixed"' in said and "ruleproof forecast" in said
    before, _, _ = text.partition('replay_policy = "paired"')
    assert 'For that gate set replay_policy = "seed"' in before.split("\n\n")[-1].replace("\n# ", " ")


def test_forecast_without_a_workspace_is_a_table_that_falls_with_the_effect(bare: Cli) -> None:
    rows = bare.json("forecast", "--rate", "0.42")["forecasts"]
    alone = [row["median"] for row in rows if row["case"] == "alone"]
    assert alone == sorted(alone, reverse=True) and len(alone) == 6
    later = {row["effect"]: row["median"] for row in rows if row["case"] == "number 20"}
    assert all(later[row["effect"]] > row["median"] for row in rows if row["case"] == "alone")
    assert "half by" in bare.ok("forecast").out


def test_forecast_of_harm_has_a_level_of_its_own(bare: Cli) -> None:
    (row,) = bare.json("forecast", "--effect", "-0.25", "--rate", "0.42")["forecasts"]
    assert row["level"] == 0.05 and 50 < row["median"] < 1000


def test_a_forecast_beyond_the_limit_says_that_the_limit_comes_first(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def said(*options: str) -> bool:
        return "as inconclusive first; raise rule_trial_most_sessions" in " ".join(
            cli.ok("forecast", *options).out.split()
        )

    assert said("--effect", "0.05") and not said("--effect", "0.3")
    rule = cli.add("One.", "--metric", "outcome")
    assert said(rule, "--effect", "0.05") and not said(rule, "--effect", "0.3")
    monkeypatch.setenv("HARNESS_RULE_TRIAL_MOST_SESSIONS", "20")
    assert said("--effect", "0.3") and cli.json("forecast", "--effect", "0.3")["most_sessions"] == 20


def test_a_fuller_workspace_needs_more_sessions(cli: Cli) -> None:
    def next_here() -> int:
        rows = cli.json("forecast", "--effect", "0.2")["forecasts"]
        return int(next(row["median"] for row in rows if "the next here" in row["case"]))

    before = next_here()
    for number in range(5):
        cli.add(f"Rule {number}.")
    assert next_here() > before


def test_forecast_of_a_running_trial_uses_what_it_saw(cli: Cli) -> None:
    rule = cli.add("One.", "--metric", "outcome")
    fresh = cli.json("forecast", rule, "--effect", "0.4")["forecasts"][0]
    arms = {True: 4, False: 3}
    for number in range(200):
        name = f"s{number}"
        shown = rule in cli.json("context", "--session", name)["rules"]
        if arms[shown]:
            arms[shown] -= 1
            cli.ok("report", name, f"outcome={float(shown)}", "--task", f"t{number % 4}")
        if not sum(arms.values()):
            break
    seen = cli.json("forecast", rule, "--effect", "0.4")["forecasts"][0]
    assert fresh["case"] == "after 0 sessions" and seen["case"] == "after 7 sessions"
    assert seen["median"] < fresh["median"]
    said = cli.json("forecast", rule)
    assert said["status"] == "candidate" and said["more"] > 0
    assert said["evidence"]["shown"]["counted"] + said["evidence"]["withheld"]["counted"] == 7


def test_a_rule_on_paired_replays_is_forecast_in_pairs(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    seen: dict[tuple[str, bool], int] = {}

    def replay(case, context):
        """A case passes three times of five with the rule, and twice without it."""
        arm = (case.id, "One." in context)
        seen[arm] = seen.get(arm, 0) + 1
        passed = case.kind == "win" or seen[arm] % 5 < (3 if arm[1] else 2)
        return {"session_id": f"{arm}{seen[arm]}", "scores": {"outcome": float(passed)}}

    with closing(Harness.create(replay=replay)) as harness:
        for name in ("f1", "f2", "f3"):
            harness.report(name, {"outcome": 0.0})
            harness.evalset.capture_session(name, replay_input={"prompt": name})
        rule = harness.rules.add("One.", metric="outcome").id
        asyncio.run(harness.validate_candidates())
    told = cli.json("forecast", rule)
    assert told["unit"] == "pairs" and told["policy"] == "paired" and told["most_pairs"] == 200
    assert told["more"] == told["evidence"]["pairs_needed"] > 0
    said = " ".join(cli.ok("forecast", rule).out.split())
    assert f"still needed about {told['more']} pairs" in said and "15 of replays" in said and "unknown" not in said
    assert "replay_max_pairs" not in said
    monkeypatch.setenv("HARNESS_REPLAY_MAX_PAIRS", "20")
    limited = " ".join(cli.ok("forecast", rule).out.split())
    assert "above the limit of 20 pairs in all" in limited and "raise replay_max_pairs" in limited


def test_pairs_are_forecast_before_a_trial(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    told = bare.json("forecast", "--pairs", "--effect", "0.26", "--lost", "0.05")
    assert told["unit"] == "pairs" and told["policy"] == "paired"
    alone, _, twentieth = told["forecasts"]
    assert alone["median"] == 26 and alone["level"] == 0.05 and twentieth["median"] > alone["median"]
    table = bare.json("forecast", "--pairs", "--lost", "0.4")["forecasts"]
    assert {row["effect"] for row in table} == {0.05, 0.1, 0.15, 0.2}, "0.25 gained beside 0.4 lost twice is above one"
    graded, narrow = (
        bare.json("forecast", "--pairs", "--effect", "0.1", "--spread", spread)["forecasts"][0]["median"]
        for spread in ("0.5", "0.2")
    )
    assert bare.json("forecast", "--pairs", "--effect", "0.1")["forecasts"][0]["median"] == graded > narrow
    said = " ".join(bare.ok("forecast", "--pairs", "--effect", "0.02").out.split())
    assert "limit of 200 pairs in all" in said and "runs each case once" in said
    monkeypatch.setenv("HARNESS_REPLAY_POLICY", "paired")
    assert "runs each case once" not in " ".join(bare.ok("forecast", "--pairs").out.split())


@pytest.mark.parametrize(
    "options",
    [
        ("--pairs", "--rate", "0.4"),
        ("--pairs", "--effect", "-0.2"),
        ("--lost", "0.1"),
        ("--pairs", "--lost", "0.1", "--spread", "0.2"),
        ("--rate", "0.4", "--spread", "0.2"),
    ],
)
def test_what_does_not_belong_together_is_refused(bare: Cli, options: tuple[str, ...]) -> None:
    assert bare("forecast", *options).code == 2
    assert bare("forecast", "--pairs", "--effect", "0.9", "--lost", "0.2").code == 1


def test_the_forecast_names_its_policy_and_that_yours_is_another(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    def said() -> str:
        return " ".join(bare.ok("forecast", "--effect", "0.2").out.split())

    monkeypatch.setenv("HARNESS_RULE_TRIAL_POLICY", "anytime")
    monkeypatch.setenv("HARNESS_RULE_HOLDOUT", "0.5")
    assert "under the policy anytime" in said() and "setting is fixed" not in said()
    monkeypatch.setenv("HARNESS_RULE_TRIAL_POLICY", "fixed")
    monkeypatch.setenv("HARNESS_RULE_HOLDOUT", "0")
    assert "Your setting is fixed: it withholds nothing and takes 5 sessions" in said()


def test_an_effect_says_nothing_about_a_fixed_trial(cli: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HARNESS_RULE_TRIAL_POLICY", "fixed")
    rule = cli.add("One.")
    assert cli.json("forecast", rule)["more"] == 5
    refused = cli("forecast", rule, "--effect", "0.2")
    assert refused.code == 1 and "withholds" in refused.err


def test_a_running_trial_has_its_rate_and_holdout_already(cli: Cli) -> None:
    rule = cli.add("One.")
    assert cli("forecast", rule, "--rate", "0.4").code == cli("forecast", rule, "--pairs").code == 2


def test_simulate_gives_the_same_table_for_the_same_seed_whatever_the_processes(bare: Cli) -> None:
    given = (
        "simulate",
        "--base-rate",
        "0.42",
        "--effect",
        "0",
        "--effect",
        "0.4",
        "--repeats",
        "60",
        "--horizon",
        "80",
    )
    one, two = bare.json(*given, "--jobs", "1"), bare.json(*given, "--jobs", "2")
    assert one == two and one != bare.json(*given, "--jobs", "1", "--seed", "2")
    rows = {(row["policy"], row["effect"]): row for row in one["rows"]}
    assert rows["fixed", 0.0]["promoted"] > 0.2, "the short gate promotes useless rules"
    assert rows["anytime", 0.0]["promoted"] <= 0.05 < rows["anytime", 0.4]["promoted"]


def test_a_plan_of_pairs_is_the_limit_of_a_forecast_and_what_simulate_looks_at(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("HARNESS_REPLAY_PLANNED_PAIRS", "30")
    assert cli.json("forecast", "--pairs")["most_pairs"] == 30
    assert "Your replay_planned_pairs is 30" in " ".join(cli.ok("forecast", "--pairs").out.split())
    given = ("simulate", "--base-rate", "0.4", "--repeats", "20", "--horizon", "10", "--jobs", "1", "--effect", "0.5")
    (row,) = [row for row in cli.json(*given)["rows"] if row["policy"] == "paired"]
    assert row["promoted"] > 0.5 and row["half_decided_by"] == 30


def test_simulate_has_a_row_for_paired_replays_where_they_are_set(bare: Cli, monkeypatch: pytest.MonkeyPatch) -> None:
    given = ("simulate", "--base-rate", "0.4", "--repeats", "40", "--horizon", "10", "--jobs", "1")
    effects = ("--effect", "0", "--effect", "0.4", "--effect", "-0.3")
    assert "paired" not in {row["policy"] for row in bare.json(*given, *effects)["rows"]}
    monkeypatch.setenv("HARNESS_REPLAY_POLICY", "paired")
    monkeypatch.setenv("HARNESS_REPLAY_MAX_PAIRS", "60")
    rows = {row["effect"]: row for row in bare.json(*given, *effects)["rows"] if row["policy"] == "paired"}
    assert rows[0.0]["promoted"] <= 0.1 < 0.8 < rows[0.4]["promoted"]
    assert rows[-0.3]["promoted"] == 0.0 < rows[-0.3]["retired"]
    assert rows[0.4]["half_decided_by"] in (15, 30, 45), "a round has fifteen pairs of failures"
    assert rows[0.0]["level"] == bare.json(*given, *effects)["rows"][1]["level"]
    assert "after every round" in " ".join(bare.ok(*given, "--effect", "0").out.split())


def test_simulate_draws_from_recorded_outcomes_and_names_lines_that_are_none(bare: Cli) -> None:
    file = bare.folder / "outcomes.csv"
    file.write_text("task,passed\na,1\na,true\nb,0\nb,0.5\nb,seven\n", encoding="utf-8")
    result = bare.ok("simulate", "--outcomes", str(file), "--repeats", "30", "--jobs", "1", "--effect", "0")
    assert "line 6" in result.err and "mean outcome 0.62" in result.out.replace("\n", " ")
    file.write_text("nothing\n", encoding="utf-8")
    assert bare("simulate", "--outcomes", str(file)).code == 1


@pytest.mark.parametrize("options", [(), ("--base-rate", "0.4", "--outcomes", "x.csv"), ("--outcomes", "none.csv")])
def test_simulate_needs_one_source_of_outcomes(bare: Cli, options: tuple[str, ...]) -> None:
    assert bare("simulate", *options).code == 2


def test_an_effect_that_cannot_be_is_refused_and_not_simulated(bare: Cli) -> None:
    for options in (("--effect", "0.9"), ("--effect", "0", "--effect", "-0.5")):
        refused = bare("simulate", "--base-rate", "0.42", *options)
        assert refused.code == 1 and "cannot be" in refused.err and not refused.out
    few = ("--repeats", "5", "--horizon", "5", "--jobs", "1")
    rows = bare.json("simulate", "--base-rate", "0.9", *few)["rows"]
    assert {row["effect"] for row in rows} == {0.0, 0.1, -0.2}
    assert bare.json("simulate", "--base-rate", "0.7", "--effect", "0.3", *few)["rows"]


def test_dead_rules_are_those_that_no_context_held(cli: Cli) -> None:
    shown, paused = cli.add("One."), cli.add("Two.")
    assert cli("rules", "dead").code == 5
    cli.ok("pause", paused)
    for number in range(20):
        cli.ok("context", "--session", f"s{number}")
    found = cli.json("rules", "dead")
    assert found["sessions"] == 20
    assert found["dead"] == [{"rule_id": paused, "why": "never eligible"}]
    assert shown not in str(found)


def test_a_rule_that_was_only_withheld_was_never_shown(cli: Cli) -> None:
    rule = cli.add("One.")
    names = (f"s{number}" for number in range(100))
    withheld = next(name for name in names if rule in cli.json("context", "--session", name)["withheld"])
    assert withheld
    dead = cli.json("rules", "dead")["dead"]
    if withheld == "s0":
        assert dead == [{"rule_id": rule, "why": "never shown"}]
    else:
        assert dead == []


def test_trial_and_show_carry_the_evidence(cli: Cli) -> None:
    rule = cli.add("One.", "--metric", "outcome")
    for number in range(6):
        cli.ok("context", "--session", f"s{number}")
        cli.ok("report", f"s{number}", f"outcome={number % 2}")
    told = cli.json("trial", rule)
    assert told["policy"] == "anytime" and told["holdout"] == 0.5 and told["number"] == 1
    assert told["figures"]["shown"]["counted"] + told["figures"]["withheld"]["counted"] == 6
    assert cli.json("rules", "show", rule)["evidence"]["policy"] == "anytime"
    text = cli.ok("trial", rule).out
    assert "shown against withheld" in text.replace("\n", " ") and "Evidence: " in text
    assert "evidence" in cli.ok("rules", "show", rule).out


def test_a_trial_in_blocks_gets_its_blocks_from_the_command_line(cli: Cli) -> None:
    for number in range(20):
        cli.ok("report", f"before-{number}", "outcome=1", "--task", f"t{number % 2}")
    rule = cli.add("One.", "--metric", "outcome")
    assert cli.json("trial", rule)["blocked"]
    arms: dict[str, list[bool]] = {"t0": [], "t1": []}
    for number in range(8):
        task, session = f"t{number // 2 % 2}", f"s{number}"
        given = ("context", "--session", session, "--task-id", task)
        seen = rule in cli.json(*given)["rules"]
        assert seen is (rule in cli.json(*given)["rules"]), "the same session again"
        assert cli.ok("report", session, "outcome=1", "--task", task)
        arms[task].append(seen)
    for seen_in in arms.values():
        assert len(seen_in) == 4 and sum(seen_in[:2]) == sum(seen_in[2:]) == 1
    assert cli.json("trial", rule)["sessions_observed"] == 8
    assert cli("context", "--task-id", "t0").code == 2


def test_each_arm_has_its_own_count_and_rate_of_alerts(cli: Cli) -> None:
    rule = cli.add("One.", "--metric", "outcome")
    counts = {arm: {"alerted": 0, "sessions": 0} for arm in ("shown", "withheld")}
    for number in range(20):
        arm = "shown" if rule in cli.json("context", "--session", f"s{number}")["rules"] else "withheld"
        counts[arm]["alerted"] += number % 3 == 0
        counts[arm]["sessions"] += 1
        cli.ok("report", f"s{number}", f"outcome={float(number % 3 > 0)}")
    assert cli.json("trial", rule)["alerted"] == counts
    said = ", ".join(
        f"{arm} {of['alerted']} of {of['sessions']} (rate {of['alerted'] / of['sessions']:.2f})"
        for arm, of in counts.items()
    )
    assert f"alerted {said}" in " ".join(cli.ok("trial", rule).out.split())


def test_an_anytime_trial_says_what_is_known_of_its_length_and_nothing_of_the_fixed_gate(
    cli: Cli, monkeypatch: pytest.MonkeyPatch
) -> None:
    rule = cli.add("One.", "--metric", "outcome")
    fresh = " ".join(cli.ok("trial", rule).out.split())
    unknown = (
        "0 sessions; how many more a verdict takes is not known yet; at 2,000 at the latest it ends as inconclusive"
    )
    assert unknown in fresh and "2000" not in fresh
    for number in range(16):
        shown = rule in cli.json("context", "--session", f"s{number}")["rules"]
        cli.ok("report", f"s{number}", f"outcome={float(shown or number % 5 == 0)}")
    seen = " ".join(cli.ok("rules", "status", rule).out.split())
    more = cli.json("trial", rule)["figures"]["units_needed"]
    assert more and f"16 sessions; about {more:,} more at the effect seen so far; at 2,000 at the latest" in seen
    alone = cli.ok("trial").out
    assert "biased high" not in " ".join((fresh + seen + alone).split()) and "16/" not in alone
    assert cli.json("trial", rule)["baseline"]["bias"] == ""
    monkeypatch.setenv("HARNESS_RULE_TRIAL_POLICY", "fixed")
    cli.add("Two.", "--metric", "outcome")
    assert "biased high" in " ".join(cli.ok("trial").out.split())
