"""Replays run somebody else's code: whatever it does, there is an outcome in words, in time, and no trace elsewhere."""

from __future__ import annotations

import asyncio
import logging
import threading
import time
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from ruleproof.core.context import Context
from ruleproof.core.evalcase import ON_DISK, EvalCase
from ruleproof.core.evidence.replay import Replayed
from ruleproof.core.score import Score
from ruleproof.engine import replay as module
from ruleproof.engine.replay import REPLAYING, Job, Replayer
from ruleproof.engine.scored import as_scores

CONTEXT = Context("the rules", ("r-0000000001",))
SECRET = "sk-proj-Zk39dJq8LmN2pQ7rS4tU"


class Cases:
    """The port `EvalSet` as a dictionary: what is listed carries no input, what is read is fresh."""

    def __init__(self, *cases: EvalCase) -> None:
        self.by_id = {case.id: case for case in cases}

    def read(self, case_id: str) -> EvalCase | None:
        return self.by_id.get(case_id)


def case(number: int = 1) -> EvalCase:
    return EvalCase(f"c-{number}", "2026-01-01", "recorded", baseline_scores={"m": 0.2}, replay_input={"q": number})


def run(
    replay: Any, evaluator: Any = lambda turn: {"m": 0.9}, *, count: int = 1, timeout: float = 10.0, **more: Any
) -> list[Replayed]:
    cases = [case(number) for number in range(1, count + 1)]
    replayer = Replayer(
        replay, evaluator, lambda _metric: 0.5, timeout, more.pop("eval_timeout", 10.0), more.pop("at_once", 1)
    )
    jobs = [Job(replace(one, replay_input=ON_DISK), CONTEXT) for one in cases]
    return asyncio.run(replayer.run(Cases(*cases), jobs, **more))  # type: ignore[arg-type]


def one(replay: Any, *args: Any, **more: Any) -> Replayed:
    return run(replay, *args, **more)[0]


# --- what a replay may be and return ---------------------------------------------------------------------------------


async def async_replay(case: EvalCase, context: str) -> str:
    await asyncio.sleep(0)
    return f"new-{case.id}"


@pytest.mark.parametrize("replay", [lambda case, context: f"new-{case.id}", async_replay], ids=["plain", "async"])
def test_a_plain_or_an_async_function_returns_a_session_that_the_evaluator_scores(replay: Any) -> None:
    turns: list[Any] = []

    def evaluator(turn: Any) -> dict[str, float]:
        turns.append(turn)
        return {"m": 0.7}

    assert one(replay, evaluator) == Replayed("c-1", "failure", {"m": 0.2}, "new-c-1", {"m": 0.7})
    assert [(turn.session_id, turn.turn, dict(turn.end_state), turn.task_id) for turn in turns] == [
        ("new-c-1", 0, {}, None)
    ]


def test_it_gets_the_case_with_its_input_and_the_context_of_the_job() -> None:
    given: list[Any] = []
    one(lambda case, context: given.append((case.replay_input, case.session_id, context)) or "new")
    assert given == [({"q": 1}, "recorded", "the rules")]


def test_a_mapping_may_bring_messages_state_costs_or_the_scores_themselves() -> None:
    seen: list[Any] = []

    def evaluator(turn: Any) -> dict[str, float]:
        seen.append(dict(turn.end_state))
        return {"m": 0.5}

    answer = {"session_id": "n", "messages": [1], "end_state": {"tools": 2}, "costs": {"tokens": 12}}
    found = one(lambda *_: answer, evaluator)
    assert seen == [{"tools": 2, "messages": [1]}]
    assert (dict(found.scores), dict(found.costs)) == ({"m": 0.5}, {"tokens": 12.0})
    found = one(lambda *_: {"session_id": "n", "scores": {"m": 1, "k": None}}, evaluator)
    assert dict(found.scores) == {"m": 1.0} and len(seen) == 1, "the host's word needs no evaluator"


async def async_evaluator(turn: Any) -> list[Score]:
    return [Score("m", 0.25, source="judge")]


def test_an_async_evaluator_scores_too() -> None:
    assert dict(one(async_replay, async_evaluator).scores) == {"m": 0.25}


def test_a_checker_outranks_a_judge_and_the_conflict_is_logged(caplog: pytest.LogCaptureFixture) -> None:
    scores = [Score("m", 0.1, source="judge"), Score("m", 1.0, source="checker")]
    with caplog.at_level(logging.WARNING, "ruleproof"):
        assert dict(one(lambda *_: {"session_id": "n", "scores": scores}).scores) == {"m": 1.0}
    assert "the checker says 1.00, the judge 0.10" in caplog.text


# --- hostile ---------------------------------------------------------------------------------------------------------


class Unspeakable(Exception):
    def __str__(self) -> str:
        raise RuntimeError("no words")


class EvilMapping(Mapping[str, object]):
    def __getitem__(self, key: str) -> object:
        raise RuntimeError(f"do not touch {key}")

    def __iter__(self) -> Iterator[str]:
        return iter(["session_id"])

    def __len__(self) -> int:
        return 1


def raising(error: BaseException) -> Any:
    def replay(case: EvalCase, context: str) -> str:
        raise error

    return replay


async def async_raising(case: EvalCase, context: str) -> str:
    raise asyncio.CancelledError


@pytest.mark.parametrize(
    ("replay", "said"),
    [
        (raising(RuntimeError("model down")), "RuntimeError: model down"),
        (raising(RuntimeError(f"key {SECRET}")), "RuntimeError: key [redacted:openai-key]"),
        (raising(RuntimeError("a\n## SYSTEM\x1b[31m")), "RuntimeError: a"),
        (raising(RuntimeError("x" * 10**6)), "RuntimeError: xxx"),
        (raising(SystemExit(3)), "SystemExit"),
        (raising(KeyboardInterrupt()), "KeyboardInterrupt"),
        (raising(StopIteration(1)), "StopIteration"),
        (raising(Unspeakable()), "It failed with an error that cannot be told"),
        (async_raising, "CancelledError"),
        (lambda *_: None, "None is not a session id"),
        (lambda *_: 7, "7 is not a session id"),
        (lambda *_: "", "is not a session id"),
        (lambda *_: "a\nb", "is not a session id"),
        (lambda *_: "x" * 10**6, "is not a session id"),
        (lambda *_: ["n"], "is not a session id"),
        (lambda *_: {}, "None is not a session id"),
        (lambda *_: EvilMapping(), "do not touch"),
        (lambda *_: "recorded", "the recorded session itself"),
        (lambda *_: {"session_id": "n", "costs": {"tokens": -1}}, "cost 'tokens' is"),
        (lambda *_: {"session_id": "n", "costs": {"tokens": 10**400}}, "cost 'tokens' is"),
        (lambda *_: {"session_id": "n", "scores": {"m": 10**400}}, "m"),
        (lambda *_: {"session_id": "n", "costs": [1]}, "Its costs are list"),
        (lambda *_: {"session_id": "n", "scores": {"m": 7}}, "outside 0 to 1"),
        (lambda *_: {"session_id": "n", "scores": {"m": float("nan")}}, "outside 0 to 1"),
        (lambda *_: {"session_id": "n", "scores": {"m": True}}, "not a number"),
        (lambda *_: {"session_id": "n", "scores": EvilMapping()}, "do not touch"),
        (lambda *_: {"session_id": "n", "scores": 3}, "Scoring it failed"),
        (lambda: "no arguments", "TypeError"),
        ("not callable", "TypeError"),
    ],
)  # fmt: skip
def test_whatever_a_replay_does_the_outcome_is_a_short_harmless_line(replay: Any, said: str) -> None:
    found = one(replay)
    assert said in found.failure and dict(found.scores) == {}
    assert len(found.failure) <= 300 and found.failure.isprintable() and SECRET not in found.failure


@pytest.mark.parametrize(
    "evaluator",
    [
        raising(RuntimeError("judge down")),
        lambda turn: {"m": 7},
        lambda turn: 3,
        lambda turn: [object()],
        async_raising,
    ],
)
def test_an_evaluator_that_fails_gives_a_replay_without_scores(evaluator: Any) -> None:
    found = one(async_replay, evaluator)
    assert found.failure and dict(found.scores) == {}


@pytest.mark.parametrize("scores", [None, {}, {"m": None}])
def test_an_evaluation_that_found_nothing_is_a_missing_score(scores: Any) -> None:
    found = one(async_replay, lambda turn: scores)
    assert found.why_not == "the replay has no score"


def test_a_hang_ends_in_time_and_the_next_case_runs() -> None:
    gate = threading.Event()

    def replay(case: EvalCase, context: str) -> str:
        if case.id == "c-1":
            gate.wait(60)
        return f"new-{case.id}"

    first, second = run(replay, count=2, timeout=0.05)
    gate.set()
    assert first.failure == "It timed out after 0.05 s." and dict(second.scores) == {"m": 0.9}


def test_an_async_hang_is_cancelled_and_one_that_blocks_its_loop_is_given_up() -> None:
    cancelled, gate = threading.Event(), threading.Event()

    async def waits(case: EvalCase, context: str) -> str:
        try:
            await asyncio.sleep(60)
        except asyncio.CancelledError:
            cancelled.set()
            raise
        return "never"

    async def blocks(case: EvalCase, context: str) -> str:
        gate.wait(60)
        return "never"

    for replay in (waits, blocks):
        assert "timed out" in one(replay, timeout=0.05).failure
    assert cancelled.wait(10)
    gate.set()


def test_an_evaluator_that_hangs_ends_in_time_too() -> None:
    gate = threading.Event()
    found = one(async_replay, lambda turn: gate.wait(60), eval_timeout=0.05)
    gate.set()
    assert found.failure == "It timed out after 0.05 s." and found.session_id == "new-c-1"


def test_too_many_that_hang_stop_the_next_and_come_back_when_they_end(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_HANGING", 2)
    gate, ran = threading.Event(), []

    def replay(case: EvalCase, context: str) -> str:
        ran.append(case.id)
        if not gate.is_set():
            gate.wait(60)
        return f"new-{case.id}"

    replayer = Replayer(replay, lambda turn: {"m": 0.9}, lambda _: 0.5, 0.05)
    cases = [case(number) for number in range(1, 4)]
    jobs = [Job(one, CONTEXT) for one in cases]
    found = asyncio.run(replayer.run(Cases(*cases), jobs))  # type: ignore[arg-type]
    assert ran == ["c-1", "c-2"] and found[2].failure == "2 earlier calls still hang."
    gate.set()
    deadline = time.monotonic() + 10
    while replayer._calls._hanging and time.monotonic() < deadline:
        time.sleep(0.01)
    assert replayer._calls._hanging == 0
    assert [dict(one.scores) for one in asyncio.run(replayer.run(Cases(*cases), jobs))] == [{"m": 0.9}] * 3  # type: ignore[arg-type]


def test_a_case_that_went_meanwhile_is_an_outcome() -> None:
    replayer = Replayer(async_replay, lambda turn: {}, lambda _: 0.5)
    (found,) = asyncio.run(replayer.run(Cases(), [Job(case(), CONTEXT)]))  # type: ignore[arg-type]
    assert found.failure == "The case is gone, or has no input."


# --- order -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("at_once", [1, 3])
def test_no_more_run_at_once_than_is_allowed_and_outcomes_keep_the_order_of_the_jobs(at_once: int) -> None:
    running, most, mutex, together = [0], [0], threading.Lock(), threading.Barrier(at_once)

    def replay(case: EvalCase, context: str) -> str:
        with mutex:
            running[0] += 1
            most[0] = max(most[0], running[0])
        together.wait(20)
        with mutex:
            running[0] -= 1
        return f"new-{case.id}"

    ended: list[int] = []
    found = run(replay, count=6, at_once=at_once, done=lambda place, one: ended.append(place))
    assert [one.case_id for one in found] == [f"c-{number}" for number in range(1, 7)]
    assert most[0] == at_once and sorted(ended) == list(range(6))
    assert at_once > 1 or ended == sorted(ended)


def test_the_context_of_a_replay_is_known_inside_it_its_tasks_and_its_evaluator_and_nowhere_else() -> None:
    seen: list[Context | None] = []

    async def replay(case: EvalCase, context: str) -> str:
        seen.append(REPLAYING.get())
        seen.append(await asyncio.to_thread(REPLAYING.get))
        return "new"

    one(replay, lambda turn: seen.append(REPLAYING.get()))
    assert seen == [CONTEXT] * 3 and REPLAYING.get() is None


def test_what_an_evaluator_returns_is_scores_or_a_failure() -> None:
    assert as_scores(None, lambda _: 0.5) == ((), "")
    assert as_scores(TimeoutError(), lambda _: 0.5) == ((), "timed out")
    assert as_scores({"m": 0.5}, lambda _: 0.7) == ((Score("m", 0.5, 0.7),), "")
    assert as_scores({"": 0.5}, lambda _: 0.7)[0] == ()
