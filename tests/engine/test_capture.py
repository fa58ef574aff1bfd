"""Cases captured unasked: which sessions, with which input, and that a report never suffers for it."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ruleproof.config import HarnessConfig
from ruleproof.core.evalcase import EvalCase
from ruleproof.core.score import Score
from ruleproof.edge.evalsetdir import EvalSetDir
from ruleproof.engine.capture import MOST_TURNS, Inputs
from ruleproof.engine.evaluate import TurnContext
from ruleproof.errors import StoreError
from ruleproof.harness import Harness

Open = Callable[..., Harness]
MESSAGES = [{"role": "user", "content": "charge it"}, {"role": "assistant", "content": "done"}]


@pytest.fixture
def open_harness(tmp_path: Path) -> Iterator[Open]:
    opened: list[Harness] = []

    def make(*, evaluator: Any = None, **settings: Any) -> Harness:
        given = {"harness_root": tmp_path / "w", "capture_eval_cases": True, **settings}
        opened.append(Harness.create(HarnessConfig(**given), evaluator=evaluator, state_dir=tmp_path / "state"))
        return opened[-1]

    yield make
    for harness in opened:
        harness.close()


@pytest.fixture
def harness(open_harness: Open) -> Harness:
    return open_harness()


def live(harness: Harness, session: str, messages: Any = MESSAGES, **scores: float | None) -> None:
    """One turn that left messages, then its scores."""
    with harness.turn(session) as turn:
        turn.messages = messages
    harness.wait(session)
    harness.report(session, scores)


def checked(value: float, other: float | None = None, source: str = "checker") -> Any:
    """An evaluator whose checker says `value`."""
    scores = [Score("outcome", value, source=source)] + ([] if other is None else [Score("tone", other)])  # type: ignore[arg-type]
    return lambda turn: scores


def only(harness: Harness) -> EvalCase:
    (case,) = harness.evalset.cases()
    return case


def test_a_breaching_session_becomes_a_replayable_failure(harness: Harness) -> None:
    live(harness, "s", m=0.2, k=0.9, missing=None)
    case = only(harness)
    assert (case.session_id, case.kind, case.signature) == ("s", "failure", ("breach:m",))
    assert dict(case.baseline_scores) == {"m": 0.2, "k": 0.9}
    assert case.replay_input == {"messages": MESSAGES} and case.input_by == "harness"


def test_the_evaluator_of_the_harness_leads_to_the_same(open_harness: Open) -> None:
    harness = open_harness(evaluator=lambda turn: {"m": 0.1})
    with harness.turn("s") as turn:
        turn.messages = MESSAGES
    harness.wait("s")
    assert only(harness).replay_input == {"messages": MESSAGES}


def test_by_default_nothing_is_captured(open_harness: Open, tmp_path: Path) -> None:
    harness = open_harness(capture_eval_cases=False)
    live(harness, "s", m=0.1)
    assert harness.evalset.listed() == [] and list((tmp_path / "w/evalset").iterdir()) == []


@pytest.mark.parametrize("scores", [{"m": 0.9}, {"m": None}])
def test_a_session_that_does_not_breach_is_no_failure(harness: Harness, scores: dict[str, float | None]) -> None:
    live(harness, "s", **scores)
    assert harness.evalset.listed() == []


def test_shadow_mode_and_a_held_notice_capture_nothing(open_harness: Open) -> None:
    live(open_harness(mode="observe_only"), "s", m=0.1)
    harness = open_harness(circuit_breaker_max_notices=1)
    for number in range(4):
        live(harness, f"t{number}", m=0.1)
    assert [case.session_id for case in harness.evalset.listed()] == ["t0"]


def test_a_decline_without_a_breach_is_no_case(open_harness: Open) -> None:
    harness = open_harness(adaptive_threshold=True, trend_min_samples=1)
    for turn, value in enumerate([1.0, 1.0, 1.0, 0.6], 1):
        handled = harness.report("s", {"m": value}, turn_index=turn)
    assert handled.notice is not None and handled.notice.severity != "breach"
    assert harness.evalset.listed() == []


def test_a_session_that_keeps_breaching_is_one_case_with_its_first_input_and_scores(harness: Harness) -> None:
    live(harness, "s", m=0.2)
    live(harness, "s", [{"role": "user", "content": "later"}], m=0.1)
    live(harness, "s", m=0.9)
    live(harness, "s", m=0.05)
    case = only(harness)
    assert dict(case.baseline_scores) == {"m": 0.2} and case.replay_input == {"messages": MESSAGES}


def test_the_input_is_that_of_the_turn_that_was_scored_and_as_it_was_when_it_ended(open_harness: Open) -> None:
    import threading

    gate = threading.Event()

    def slow(turn: Any) -> dict[str, float]:
        assert gate.wait(10)
        return {"m": 0.1 if turn.turn == 1 else 0.9}

    harness = open_harness(evaluator=slow)
    first: list[Any] = [{"role": "user", "content": "first"}]
    with harness.turn("s") as turn:
        turn.messages = first
    first.append({"role": "assistant", "content": "the host goes on with the same list"})
    with harness.turn("s") as turn:
        turn.messages = [{"role": "user", "content": "second"}]
    gate.set()
    harness.wait("s")
    assert only(harness).replay_input == {"messages": [{"role": "user", "content": "first"}]}


@pytest.mark.parametrize(
    ("state", "said"),
    [
        ({}, "no end state was given"),
        ({"tools": [object()]}, "is no JSON value"),
        ({"x": float("nan")}, "is no JSON value"),
        ({"x": "y" * 300_000}, "larger than 262144 bytes"),
    ],
)
def test_a_failure_without_a_usable_input_is_kept_all_the_same_and_says_why(
    harness: Harness, state: dict[str, object], said: str
) -> None:
    harness.on_turn_end({"session_id": "s", "end_state": state})
    harness.wait("s")
    harness.report("s", {"m": 0.1})
    case = only(harness)
    assert not case.replayable and case.input_by == "" and said in case.notes


def test_an_input_that_grows_when_it_is_written_is_left_out_with_its_figure(open_harness: Open) -> None:
    harness = open_harness(eval_case_max_bytes=2000)
    live(harness, "s", [{"role": "user", "content": "é" * 600}], m=0.1)
    case = only(harness)
    assert not case.replayable and "would take" in case.notes and "eval_case_max_bytes is 2000" in case.notes


def test_credentials_in_a_turn_never_reach_the_disk(harness: Harness, tmp_path: Path) -> None:
    secret = "ghp_" + "9fK2mQx7Lw0ZrV5cHt8YbN3dGs6PjE1uAoX4"
    live(harness, "s", [{"role": "user", "content": f"use {secret}"}], m=0.1)
    assert only(harness).replayable
    assert not [file for file in tmp_path.rglob("*") if file.is_file() and secret.encode() in file.read_bytes()]


# --- wins ------------------------------------------------------------------------------------------------------------


def turn_of(harness: Harness, session: str, messages: Any = MESSAGES) -> None:
    with harness.turn(session) as turn:
        turn.messages = messages
    harness.wait(session)


def test_a_session_that_a_checker_passed_becomes_a_protected_win(open_harness: Open) -> None:
    harness = open_harness(evaluator=checked(1.0, 0.8))
    turn_of(harness, "s")
    case = only(harness)
    assert (case.kind, case.signature, case.input_by) == ("win", (), "harness")
    assert dict(case.baseline_scores) == {"outcome": 1.0, "tone": 0.8}
    turn_of(harness, "s")
    assert only(harness).id == case.id


@pytest.mark.parametrize(
    "evaluator", [checked(1.0, source="judge"), checked(1.0, source="caller"), checked(1.0, 0.1), checked(0.0)]
)
def test_what_no_checker_passed_or_what_alerts_is_no_win(open_harness: Open, evaluator: Any) -> None:
    harness = open_harness(evaluator=evaluator)
    turn_of(harness, "s")
    assert harness.evalset.listed(kind="win") == []


def test_a_win_without_an_input_and_a_session_that_failed_before_are_no_wins(open_harness: Open) -> None:
    values = iter([0.0, 1.0, 1.0])
    harness = open_harness(evaluator=lambda turn: [Score("outcome", next(values), source="checker")])
    turn_of(harness, "s"), turn_of(harness, "s")
    assert [case.kind for case in harness.evalset.listed()] == ["failure"]
    harness.on_turn_end({"session_id": "t"})
    harness.wait("t")
    assert [case.kind for case in harness.evalset.listed()] == ["failure"]


def test_unasked_wins_stop_at_their_limit_and_leave_room_for_failures(open_harness: Open) -> None:
    harness = open_harness(evaluator=checked(1.0), eval_case_auto_wins=2)
    for number in range(4):
        turn_of(harness, f"s{number}")
    assert [case.session_id for case in harness.evalset.listed()] == ["s0", "s1"]


def test_a_set_full_of_wins_is_said_and_journaled_and_the_report_counts(
    open_harness: Open, tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    harness = open_harness(eval_case_max=1)
    harness.evalset.capture(session_id="w", kind="win", replay_input="x")
    with caplog.at_level(logging.WARNING, "ruleproof"):
        live(harness, "s", m=0.1)
    assert [case.session_id for case in harness.evalset.listed()] == ["w"]
    assert "full of wins" in caplog.text
    events = [json.loads(line) for line in (tmp_path / "w/journal.jsonl").read_text().splitlines()]
    assert [event["session_id"] for event in events if event.get("skipped") == "cap"] == ["s"]
    assert [event["type"] for event in events].count("notice") == 1


# --- nothing breaks --------------------------------------------------------------------------------------------------


def test_a_capture_that_fails_is_a_log_line_and_the_report_is_handled(
    harness: Harness, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def broken(self: EvalSetDir, case: EvalCase) -> None:
        raise StoreError("disk full.")

    monkeypatch.setattr(EvalSetDir, "add", broken)
    handled = harness.report("s", {"m": 0.1})
    assert handled.notice is not None and handled.did == "post"
    assert len(harness.workspace.ports.mailbox.pending()) == 1
    assert "disk full" in caplog.text


def test_an_evaluator_that_names_a_metric_badly_costs_the_case_and_not_the_report(open_harness: Open) -> None:
    harness = open_harness(evaluator=lambda turn: [Score("bad\nname", 0.1)])
    turn_of(harness, "s")
    assert harness.evalset.listed() == []
    assert harness.workspace.refresh_sessions().reports == 1


def test_retention_works_without_any_capture(open_harness: Open, monkeypatch: pytest.MonkeyPatch) -> None:
    harness = open_harness(capture_eval_cases=False, eval_case_retention_days=1)
    harness.workspace.ports.evalset.add(EvalCase("c-0000000001", "2020-01-01T00:00:00+00:00", "old"))
    harness.report("s", {"m": 0.9})
    assert harness.evalset.listed() == []


def test_inputs_are_bounded_in_number_and_size_and_the_oldest_go() -> None:
    inputs = Inputs(max_bytes=1000)
    for number in range(MOST_TURNS + 10):
        inputs.remember(TurnContext(f"s{number}", 1, {"n": number}))
    assert inputs.of("s0", 1)[0] is None and inputs.of("s10", 1)[0] == {"n": 10}
    assert len(inputs._kept) == len(inputs._last) == MOST_TURNS
    big = Inputs(max_bytes=1 << 20)
    for number in range(40):
        big.remember(TurnContext("s", number, {"x": "y" * 900_000}))
    assert big._size <= 16 << 20 and 15 <= len(big._kept) <= 18
    big.remember(TurnContext("s", 39, {"x": 1}))
    assert big.of("s", 39)[0] == {"x": 1} and big._size < 16 << 20


def test_a_state_that_cannot_even_be_looked_at_is_no_reason_to_fail(harness: Harness) -> None:
    class Evil(dict[str, object]):
        def values(self) -> Any:
            raise RuntimeError("no")

    harness.on_turn_end({"session_id": "s", "end_state": {"x": Evil(a=1)}})
    harness.wait("s")
    assert harness.report("s", {"m": 0.1}).did == "post"
