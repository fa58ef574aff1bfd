"""What a reviewer found and nobody may break again; each test names the requirement that it is about."""

from __future__ import annotations

import asyncio
import contextvars
import json
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ruleproof.config import HarnessConfig
from ruleproof.core.score import Score
from ruleproof.core.verdict import Verdict
from ruleproof.errors import ConfigError, Refused
from ruleproof.harness import Harness

Open = Callable[..., Harness]
Log = Callable[[str], list[dict[str, Any]]]


@pytest.mark.parametrize("value", ['""', '"  "'])
def test_v10_an_empty_root_in_the_file_is_refused(tmp_path: Path, value: str) -> None:
    (tmp_path / "ruleproof.toml").write_text(f"harness_root = {value}\n")
    with pytest.raises(ConfigError, match="harness_root"):
        HarnessConfig.load(folder=tmp_path, environ={})


def test_v10_a_checkout_cannot_be_the_workspace(tmp_path: Path) -> None:
    (tmp_path / ".git").mkdir()
    with pytest.raises(ConfigError, match="git checkout"):
        HarnessConfig(harness_root=tmp_path)


def test_v10_a_root_in_the_file_may_begin_at_home(tmp_path: Path) -> None:
    (tmp_path / "ruleproof.toml").write_text('harness_root = "~/rules"\n')
    assert HarnessConfig.load(folder=tmp_path, environ={}).root == Path.home() / "rules"


def test_v10_the_root_belongs_to_the_folder_of_the_settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "a").mkdir()
    (tmp_path / "b").mkdir()
    monkeypatch.chdir(tmp_path / "b")
    assert HarnessConfig.load(folder=tmp_path / "a", environ={}).root == tmp_path / "a" / ".ruleproof"


@pytest.mark.parametrize("table", [{"outcome": True}, {"": 0.5}, {"a\nb": 0.5}])
def test_v10_a_table_of_settings_is_checked_inside(table: dict[str, Any]) -> None:
    with pytest.raises((ConfigError, Refused)):
        HarnessConfig(thresholds=table)


def test_v10_a_misspelt_variable_is_refused_with_the_nearest_name(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="HARNESS_RULE_VALIDATION"):
        HarnessConfig.load(folder=tmp_path, environ={"HARNESS_RULE_VALIDATON": "false"})


def test_s6_replacing_a_setting_is_no_word_of_trust(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    evil = tmp_path / "evil"
    evil.mkdir()
    record = {"id": "r-0123456789", "created_at": "t", "rule": "EVIL", "status": "active", "tags": []}
    (evil / "rules.jsonl").write_text(json.dumps(record) + "\n")
    (tmp_path / "ruleproof.toml").write_text('harness_root = "evil"\n')
    monkeypatch.chdir(tmp_path)
    for harness in (
        Harness.create(HarnessConfig.load(), state_dir=tmp_path / "state"),
        Harness.create(HarnessConfig.load(), state_dir=tmp_path / "state", max_active_rules=10),
    ):
        assert not harness.trust.trusted
        assert "EVIL" not in harness.system_context()


def test_s6_several_processes_that_start_at_once_all_trust_what_one_of_them_made(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for number in range(10):
        folder = tmp_path / str(number)
        folder.mkdir()
        monkeypatch.chdir(folder)
        config, together, got = HarnessConfig.load(environ={}), threading.Barrier(4), []

        def start(config: HarnessConfig = config, together: Any = together, got: list[bool] = got) -> None:
            together.wait(10)
            got.append(Harness.create(config, state_dir=tmp_path / "state").trust.trusted)

        threads = [threading.Thread(target=start) for _ in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert got == [True] * 4


def test_e7_a_turn_after_a_restart_is_another_turn(open_harness: Open) -> None:
    def failing(turn: Any) -> dict[str, float]:
        return {"outcome": 0.0}

    first = open_harness(evaluator=failing)
    with first.turn("user"):
        pass
    first.close()
    second = open_harness(evaluator=failing)
    rule = second.rules.add("One.", metric="outcome")
    with second.turn("user"):
        second.system_context()
    handled = second.wait("user")
    assert handled is not None and handled.report.turn == 2 and not handled.judgement.repeated
    assert second.rules.trial(rule.id).breached == ("user",)


@pytest.mark.parametrize("field", ['"zz":1e999', '"zz":' + "9" * 400 + ".0", '"event":""'])
def test_s2_a_foreign_line_blocks_no_writer(open_harness: Open, root: Path, log: Log, field: str) -> None:
    open_harness().rules.add("Ours.")
    line = (
        '{"id":"r-0123456789","created_at":"2026-01-01T00:00:00+00:00","rule":"foreign","status":"active",'
        f'"tags":[],"event":"e-x",{field}}}\n'
    )
    with (root / "rules.jsonl").open("a") as file:
        file.write(line)
    harness = open_harness()
    harness.rules.add("Another.")
    size = (root / "journal.jsonl").stat().st_size
    harness.rules.retire(harness.rules.add("A third.").id)
    assert (root / "journal.jsonl").stat().st_size < size + 3000
    assert len([event for event in log("journal.jsonl") if event.get("id") == "r-0123456789"]) <= 1


def test_s5_a_record_without_effect_is_not_journaled_as_if_it_had_one(open_harness: Open, root: Path, log: Log) -> None:
    harness = open_harness()
    rule = harness.rules.add("Ours.")
    harness.rules.retire(rule.id)
    stale = {**log("rules.jsonl")[0], "status": "active", "event": "e-stale"}
    with (root / "rules.jsonl").open("a") as file:
        file.write(json.dumps(stale) + "\n")
    again = open_harness()
    again.rules.add("Another.")
    assert [event["type"] for event in log("journal.jsonl")] == ["rule_add", "rule_retire", "rule_add"]


def test_r6_a_long_rule_is_rendered_whole_and_never_clipped(open_harness: Open) -> None:
    harness = open_harness(sanitize_max_len=5000)
    harness.rules.add("Always check. " * 210 + "EXCEPT on Sundays.")
    assert "EXCEPT on Sundays." in harness.system_context()
    tight = open_harness(sanitize_max_len=100)
    with pytest.raises(Refused, match=r"at most 100"):
        tight.rules.add(("<!-- " * 20)[:96] + "EXC.")


@pytest.mark.parametrize(
    "score",
    [
        Score("m", 0.1, float("nan")),
        Score("m", 0.1, 0.5, "judge", 5),
        Score("m", 0.1, flagged=None),
        Score("m\n- **r-0123456789**: x", 0.1),
        Score(5, 0.1),
        "m",
        Score("m", 0.1, signals={"t": {"loop": float("nan")}}),
    ],
)
def test_e7_a_bad_score_of_an_evaluator_is_an_outage(open_harness: Open, log: Log, score: Any) -> None:
    harness = open_harness(evaluator=lambda turn: [score])
    with harness.turn("a"):
        pass
    handled = harness.wait("a")
    assert handled is not None and not handled.report.scored
    assert log("sessions.jsonl")[0]["scores"] == {}


def test_v8_a_turn_may_end_in_another_context_than_it_began(open_harness: Open) -> None:
    harness = open_harness(evaluator=lambda turn: {"m": 0.9})
    turn = harness.turn("a")
    contextvars.copy_context().run(turn.__enter__)
    turn.__exit__(None, None, None)
    assert harness.wait("a") is not None


def test_v8_draining_joins_a_round_that_somebody_asked_for(harness: Harness, monkeypatch: pytest.MonkeyPatch) -> None:
    begun, go_on = threading.Event(), threading.Event()

    async def slow(*_: object) -> list[Verdict]:
        begun.set()
        await asyncio.to_thread(go_on.wait, 20)
        return []

    monkeypatch.setattr("ruleproof.engine.rounds.validate_candidates", slow)

    async def trip() -> None:
        running = asyncio.create_task(harness.validate_candidates())
        await asyncio.to_thread(begun.wait, 20)
        assert not harness._rounds.drain(0.05)
        go_on.set()
        assert await harness.drain_validation()
        await running

    asyncio.run(trip())


def test_v7_a_fixed_trial_enrols_no_more_sessions_than_it_needs(
    harness: Harness, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(harness._rounds, "kick", lambda: None)
    rule = harness.rules.add("One.", metric="m")
    for number in range(9):
        harness.system_context(session_id=f"s{number}")
        harness.report(f"s{number}", {"m": 0.9})
    trial = harness.rules.trial(rule.id)
    assert len(trial.observed) == 5
    assert set(trial.uncounted.values()) == {"after the window"}


def test_s8_nothing_moves_in_observe_only(open_harness: Open) -> None:
    harness = open_harness(mode="observe_only")
    rule = harness.rules.add("One.", metric="m")
    for number in range(6):
        harness.system_context(session_id=f"s{number}")
        harness.report(f"s{number}", {"m": 0.9})
    assert asyncio.run(harness.validate_candidates()) == []
    assert harness.rules.get(rule.id).status == "candidate"


def test_s2_an_edit_in_place_of_the_same_length_is_seen(harness: Harness, root: Path) -> None:
    rule = harness.rules.add("Try 5 times.")
    data = (root / "rules.jsonl").read_bytes()
    with (root / "rules.jsonl").open("r+b") as file:
        file.write(data.replace(b'"candidate"', b'"cand1date"'))
    assert harness.rules.get(rule.id).status == "unknown"
    assert "Try 5 times." not in harness.system_context()


def test_e1_a_rule_that_is_written_inside_a_turn_is_born_in_its_session(harness: Harness) -> None:
    with harness.turn("s1"):
        harness.toolset.call_sync("harness_rule_add", {"rule": "Ask first.", "rationale": "Why."})
    (rule,) = harness.rules.candidates()
    assert rule.trial is not None and rule.trial.birth_session == "s1"


@pytest.mark.parametrize(
    "arguments",
    [
        {"scores": None}, {"scores": [0.5]}, {"scores": {"m": 10**400}}, {"scores": {}, "turn_index": "3"},
        {"scores": {}, "turn_index": -1}, {"scores": {}, "turn_index": True}, {"scores": {}, "costs": 7},
    ],
)  # fmt: skip
def test_e7_a_report_that_makes_no_sense_is_refused_by_name(
    harness: Harness, log: Log, arguments: dict[str, Any]
) -> None:
    with pytest.raises(Refused):
        harness.report("s", **arguments)
    assert log("sessions.jsonl") == []
