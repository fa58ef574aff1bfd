"""V3: which cases are replayed, with which context, how they are scored, and that the live loop hears nothing of it."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from ruleproof.core.context import FOOTER, HEADER, PROTOCOL
from ruleproof.core.evalcase import EvalCase
from ruleproof.core.rule import Rule
from ruleproof.core.verdict import Verdict
from ruleproof.harness import Harness

Open = Callable[..., Harness]
Log = Callable[[str], list[dict[str, Any]]]


def failure(harness: Harness, session: str, *signature: str, score: float = 0.2, **more: Any) -> EvalCase:
    made = {"replay_input": {"prompt": session}, "baseline_scores": {"m": score}, **more}
    return harness.evalset.capture(session_id=session, signature=signature or ("breach:m",), **made)


def win(harness: Harness, session: str, score: float = 0.9, **more: Any) -> EvalCase:
    made = {"replay_input": {"prompt": session}, "baseline_scores": {"m": score}, **more}
    return harness.evalset.capture(session_id=session, kind="win", **made)


class Recorder:
    """A replay that notes what it was given, and answers with a session of its own."""

    def __init__(self) -> None:
        self.cases: list[str] = []
        self.inputs: list[object] = []
        self.contexts: list[str] = []
        self.running = self.most = 0

    def __call__(self, case: EvalCase, context: str) -> str:
        self.running += 1
        self.most = max(self.most, self.running)
        self.cases.append(case.session_id)
        self.inputs.append(case.replay_input)
        self.contexts.append(context)
        time.sleep(0.002)
        self.running -= 1
        return f"replay-of-{case.session_id}"


def candidate(harness: Harness, **more: Any) -> Rule:
    return harness.rules.add("Verify before you retry.", "It paid twice.", **{"metric": "m", **more})


def round_of(harness: Harness) -> list[Verdict]:
    return asyncio.run(harness.validate_candidates())


def test_v3_the_newest_three_matching_failures_and_two_wins_are_replayed_in_sequence(open_harness: Open) -> None:
    replay = Recorder()
    harness = open_harness(replay=replay, evaluator=lambda turn: {"m": 0.9})
    for number in range(5):
        failure(harness, f"f{number}")
    failure(harness, "other", "breach:k")
    failure(harness, "bare", replay_input=None)
    for number in range(3):
        win(harness, f"w{number}")
    candidate(harness)
    (verdict,) = round_of(harness)
    assert replay.cases == ["f4", "f3", "f2", "w2", "w1"]
    assert replay.inputs[0] == {"prompt": "f4"}
    assert replay.most == 1
    assert verdict.validator == "replay" and verdict.decided


def test_v3_the_context_is_what_a_live_turn_would_get_candidate_included(open_harness: Open) -> None:
    replay = Recorder()
    harness = open_harness(replay=replay, evaluator=lambda turn: {"m": 0.2})
    failure(harness, "f0")
    rule, other = candidate(harness), harness.rules.add("Another candidate.", metric="k")
    live = harness.system_context()
    round_of(harness)
    assert replay.contexts == [live]
    assert all(part in live for part in (HEADER, PROTOCOL, FOOTER, f"**{rule.id}** (candidate)", other.id))


def test_v3_a_replayed_session_is_scored_by_the_evaluator_as_a_fresh_turn(open_harness: Open) -> None:
    turns: list[Any] = []

    def evaluator(turn: Any) -> dict[str, float]:
        turns.append((turn.session_id, turn.turn, dict(turn.end_state)))
        return {"m": 0.9}

    harness = open_harness(replay=lambda case, context: {"session_id": "new", "messages": [1]}, evaluator=evaluator)
    failure(harness, "f0")
    rule = candidate(harness)
    round_of(harness)
    assert turns == [("new", 0, {"messages": [1]})]
    assert harness.rules.get(rule.id).status == "active"


def test_v3_without_an_evaluator_of_the_host_messages_are_scored_from_the_trace(open_harness: Open) -> None:
    call = {"id": "1", "function": {"name": "pay", "arguments": "{}"}}
    calls = [
        {"role": "user", "content": "pay"},
        {"role": "assistant", "content": "", "tool_calls": [call]},
        {"role": "tool", "tool_call_id": "1", "content": "ok"},
        {"role": "assistant", "content": "Paid."},
    ]
    harness = open_harness(replay=lambda case, context: {"session_id": "new", "messages": calls})
    failure(harness, "f0", "breach:agent_reliability", baseline_scores={"agent_reliability": 0.2})
    rule = candidate(harness, metric="agent_reliability")
    round_of(harness)
    assert harness.rules.get(rule.id).status == "active"


def busy_agent(harness: Harness) -> Any:
    """A replay that runs the agent as it runs live: it composes contexts, takes turns, reports, and calls tools."""

    async def replay(case: EvalCase, context: str) -> str:
        session = f"replay-of-{case.session_id}"
        assert harness.system_context(session_id=session) == context
        async with harness.turn(session) as turn:
            assert harness.system_context("a hint") == context
            turn.messages = [{"role": "user", "content": "hello"}]
            assert (await harness.toolset.call("harness_rule_add", {"rule": "x", "rationale": "y"}))["ok"] is False
        harness.on_turn_end({"session_id": session, "end_state": {"messages": []}})
        assert harness.report(session, {"m": 0.0}).notice is None
        return session

    return replay


def test_v3_a_replay_that_uses_the_harness_leaves_no_trace_in_trials_mailbox_and_journal(
    open_harness: Open, root: Path, log: Log
) -> None:
    holder: list[Harness] = []
    harness = open_harness(
        replay=lambda case, context: busy_agent(holder[0])(case, context),
        evaluator=lambda turn: {"m": 0.9},
        capture_eval_cases=True,
    )
    holder.append(harness)
    failure(harness, "f0")
    rule = candidate(harness)
    before = {name: log(name) for name in ("sessions.jsonl", "trials.jsonl", "journal.jsonl")}
    (verdict,) = round_of(harness)
    harness.wait()
    assert verdict.outcome == "promote", verdict.reason
    assert log("sessions.jsonl") == before["sessions.jsonl"] and log("trials.jsonl") == before["trials.jsonl"]
    assert [event["type"] for event in log("journal.jsonl")[len(before["journal.jsonl"]) :]] == ["rule_promote"]
    assert harness.workspace.ports.mailbox.pending() == [] and len(harness.evalset.listed()) == 1
    assert harness.rules.get(rule.id).status == "active"
    assert not harness._turns._numbers


def test_v3_each_replay_is_bounded_and_a_hung_one_wedges_nothing(open_harness: Open) -> None:
    gate = threading.Event()

    def replay(case: EvalCase, context: str) -> str:
        if case.session_id == "f1":
            gate.wait(60)
        return f"replay-of-{case.session_id}"

    harness = open_harness(replay=replay, evaluator=lambda turn: {"m": 0.9}, replay_timeout_s=0.05)
    failure(harness, "f0"), failure(harness, "f1")
    candidate(harness)
    (verdict,) = round_of(harness)
    gate.set()
    assert verdict.outcome == "promote" and "1 of 2 failures" in verdict.reason
    first, second = verdict.details["cases"]  # type: ignore[misc]
    assert first["why_not"] == "It timed out after 0.05 s." and second["deltas"] == {"m": pytest.approx(0.7)}


def test_v3_a_report_returns_while_a_replay_hangs_and_the_round_is_joined_with_a_bound(open_harness: Open) -> None:
    gate, began = threading.Event(), threading.Event()

    def replay(case: EvalCase, context: str) -> str:
        began.set()
        gate.wait(60)
        return "new"

    harness = open_harness(replay=replay, evaluator=lambda turn: {"m": 0.9}, drain_timeout_s=0.05)
    failure(harness, "f0")
    rule = candidate(harness)
    harness.report("live", {"m": 0.9})
    assert began.wait(10)
    assert harness.report("live-2", {"m": 0.9}).did == "nothing"
    assert not asyncio.run(harness.drain_validation())
    gate.set()
    assert harness._rounds.drain(10)
    assert harness.rules.get(rule.id).status == "active"


def test_v3_a_rule_that_stands_in_no_context_is_not_replayed(open_harness: Open, log: Log) -> None:
    replay = Recorder()
    harness = open_harness(replay=replay, evaluator=lambda turn: {"m": 0.9})
    failure(harness, "f0")
    candidate(harness)
    harness.rules.pause_all()
    (verdict,) = round_of(harness)
    assert (verdict.outcome, replay.cases) == ("pending", [])
    assert not [record for record in log("trials.jsonl") if record["kind"] == "attempt"]


def test_v3_several_replays_run_at_once_where_a_setting_allows_it(open_harness: Open) -> None:
    together = threading.Barrier(3)

    def replay(case: EvalCase, context: str) -> str:
        together.wait(20)
        return f"replay-of-{case.session_id}"

    harness = open_harness(replay=replay, evaluator=lambda turn: {"m": 0.9}, replay_concurrency=3)
    for number in range(3):
        failure(harness, f"f{number}")
    candidate(harness)
    (verdict,) = round_of(harness)
    assert verdict.outcome == "promote" and "3 of 3 failures" in verdict.reason


def test_v3_cases_of_the_0_6_format_are_replayed_as_they_are(open_harness: Open, data_dir: Path, root: Path) -> None:
    import shutil

    shutil.copytree(data_dir / "workspace_0_6_3", root)
    replay = Recorder()
    harness = open_harness(replay=replay, evaluator=lambda turn: {"agent_reliability": 0.9})
    files = {file: file.read_bytes() for file in (root / "evalset").iterdir()}
    round_of(harness)
    assert replay.cases[:2] == ["sess-a", "sess-w"]
    assert replay.inputs[:2] == [{"prompt": "charge the customer again"}, "refund order 12"]
    assert {file: file.read_bytes() for file in (root / "evalset").iterdir()} == files
