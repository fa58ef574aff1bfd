"""Turns are evaluated in the background: in order, none lost, with a loop or without one."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from ruleproof.config import HarnessConfig
from ruleproof.core.score import Score
from ruleproof.engine import evaluate
from ruleproof.harness import Harness


@pytest.fixture
def make(tmp_path: Path) -> Iterator[Callable[..., Harness]]:
    opened: list[Harness] = []

    def harness(evaluator: Any, **settings: Any) -> Harness:
        config = HarnessConfig(harness_root=tmp_path / "workspace", **settings)
        opened.append(Harness.create(config, evaluator=evaluator))
        return opened[-1]

    yield harness
    for one in opened:
        one.close()


def pending(harness: Harness) -> int:
    return harness.workspace.ports.mailbox.status().pending_count


def test_no_evaluation_is_lost_because_the_next_turn_came(make: Callable[..., Harness]) -> None:
    seen: list[int] = []

    def slow(turn: Any) -> dict[str, float]:
        time.sleep(0.01)
        seen.append(turn.turn)
        return {"m": 0.1}

    harness = make(slow)
    for number in range(1, 21):
        harness.on_turn_end({"session_id": "a", "turn_index": number})
    handled = harness.wait("a")
    assert seen == list(range(1, 21))
    assert handled is not None and handled.report.turn == 20
    assert pending(harness) == 1


def test_a_synchronous_host_without_a_loop_works(make: Callable[..., Harness]) -> None:
    harness = make(lambda turn: {"m": 0.1})
    with harness.turn("a"):
        pass
    harness.wait("a")
    assert pending(harness) == 1


def test_an_asyncio_run_per_turn_loses_nothing(make: Callable[..., Harness]) -> None:
    async def slow(turn: Any) -> dict[str, float]:
        await asyncio.sleep(0.05)
        return {"m": 0.1}

    harness = make(slow)

    async def turn(session: str) -> None:
        async with harness.turn(session):
            pass

    for number in range(3):
        asyncio.run(turn(f"s{number}"))  # the loop is closed while the evaluation still runs
    harness.wait()
    assert pending(harness) == 3


def test_a_loop_that_stops_before_it_begins_an_evaluation_loses_nothing(
    make: Callable[..., Harness], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A loop on its way out still says that it runs, takes what it is given and never begins it."""

    class Stopping:
        looks = 0

        def is_running(self) -> bool:
            self.looks += 1
            return self.looks == 1

        def call_soon_threadsafe(self, *given: Any, **more: Any) -> None:
            """Taken, and never begun."""

    async def evaluator(turn: Any) -> dict[str, float]:
        return {"m": 0.1}

    harness, loop = make(evaluator), Stopping()
    with monkeypatch.context() as patched:
        patched.setattr(evaluate, "_running_loop", lambda: loop)
        harness.on_turn_end({"session_id": "s"})
    harness.wait()
    assert pending(harness) == 1


def test_an_async_evaluator_runs_on_the_hosts_loop(make: Callable[..., Harness]) -> None:
    loops: list[object] = []

    async def evaluator(turn: Any) -> dict[str, float]:
        loops.append(asyncio.get_running_loop())
        return {"m": 0.9}

    harness = make(evaluator)

    async def host() -> object:
        result = await harness.run_turn("a", lambda x: x + 1, 1)
        assert result == 2
        await harness.refresh("a")
        return asyncio.get_running_loop()

    assert loops == [asyncio.run(host())] or len(loops) == 1


def test_a_turn_ends_when_its_block_raises(make: Callable[..., Harness]) -> None:
    harness = make(lambda turn: {"m": 0.1})
    with pytest.raises(RuntimeError), harness.turn("a"):
        raise RuntimeError("the agent fell over")
    harness.wait("a")
    assert pending(harness) == 1


def test_turns_are_numbered_and_a_decorated_function_is_a_turn_a_call(make: Callable[..., Harness]) -> None:
    numbers: list[tuple[str, int]] = []

    def evaluator(turn: Any) -> dict[str, float]:
        numbers.append((turn.session_id, turn.turn))
        return {"m": 0.9}

    harness = make(evaluator)

    @harness.turn("a")
    def step() -> int:
        return 1

    assert step() + step() == 2
    with harness.turn("b"):
        pass
    harness.wait()
    assert sorted(numbers) == [("a", 1), ("a", 2), ("b", 1)]


@pytest.mark.parametrize("kind", ["raises", "hangs", "nonsense", "a seven", "async raises"])
def test_a_failing_evaluator_is_an_outage_never_a_zero_and_never_health(
    make: Callable[..., Harness], kind: str
) -> None:
    gate = threading.Event()

    async def later(turn: Any) -> Any:
        raise RuntimeError("down")

    def evaluator(turn: Any) -> Any:
        if kind == "raises":
            raise RuntimeError("down")
        if kind == "hangs":
            gate.wait(5)
        return {"nonsense": 7, "a seven": {"m": 7.0}}.get(kind)

    harness = make(later if kind == "async raises" else evaluator, eval_timeout_s=0.1)
    rule = harness.rules.add("One.", metric="m")
    harness.system_context(session_id="a")
    with harness.turn("a"):
        pass
    handled = harness.wait("a")
    gate.set()
    assert handled is not None and not handled.report.scored and handled.did == "nothing"
    trial = harness.rules.trial(rule.id)
    assert trial.observed == () and trial.uncounted == {"a": "no score"}


def test_health_is_probed_again_with_every_turn(make: Callable[..., Harness]) -> None:
    answers: list[Any] = [RuntimeError("down"), RuntimeError("down"), {"m": 0.1}]

    def evaluator(turn: Any) -> Any:
        answer = answers.pop(0)
        if isinstance(answer, Exception):
            raise answer
        return answer

    harness = make(evaluator)
    for _ in range(3):
        with harness.turn("a"):
            pass
        harness.wait("a")
    content = harness.workspace.ports.journal.content()
    assert content.count(b'"type": "health"') == 2
    assert pending(harness) == 1


def test_sampling_the_rate_limit_and_the_budget_leave_turns_out(make: Callable[..., Harness]) -> None:
    seen: list[int] = []

    def evaluator(turn: Any) -> dict[str, float]:
        seen.append(turn.turn)
        return {"m": 0.9}

    harness = make(evaluator, eval_sample_every=2, max_evals_per_run=3)
    for _ in range(10):
        with harness.turn("a"):
            pass
    harness.wait()
    assert seen == [1, 3, 5]
    harness.close()
    assert harness.workspace.ports.journal.content().count(b'"type": "skip"') == 1
    limited = make(evaluator, session_min_eval_interval_s=100)
    for _ in range(3):
        with limited.turn("b"):
            pass
    limited.wait()
    assert seen == [1, 3, 5, 1]


@pytest.mark.parametrize(
    "payload",
    [None, [], {}, {"session_id": ""}, {"session_id": "a\nb"}, {"session_id": 7}, {"session_id": "a", "turn_index": -1},
     {"session_id": "a", "turn_index": True}, {"session_id": "a", "end_state": []}],
)  # fmt: skip
def test_a_bad_payload_never_breaks_the_host(make: Callable[..., Harness], payload: Any) -> None:
    harness = make(lambda turn: {"m": 0.1})
    harness.on_turn_end(payload)
    harness.wait()
    assert pending(harness) == 0


def test_the_trace_evaluator_scores_the_messages_of_a_turn(make: Callable[..., Harness]) -> None:
    harness = make(None)
    call = {"id": "1", "type": "function", "function": {"name": "charge", "arguments": '{"order": 1}'}}
    looping = [{"role": "user", "content": "charge it"}]
    for number in range(4):
        looping.append({"role": "assistant", "tool_calls": [{**call, "id": str(number)}]})  # type: ignore[dict-item]
        looping.append({"role": "tool", "tool_call_id": str(number), "content": "Error: timeout"})
    with harness.turn("a") as turn:
        turn.messages = looping
    handled = harness.wait("a")
    assert handled is not None
    values = {score.metric: score.value for score in handled.report.scores}
    assert values["agent_reliability"] is not None and values["agent_reliability"] < 0.5
    assert pending(harness) == 1


def test_an_evaluator_may_return_scores_with_reasons(make: Callable[..., Harness]) -> None:
    harness = make(lambda turn: [Score("outcome", 0.0, 0.5, "checker", "two charges for order 7")])
    with harness.turn("a"):
        pass
    harness.wait()
    (notice,) = harness.workspace.ports.mailbox.pending()
    assert notice.metrics[0].reason == "two charges for order 7"


def test_a_context_that_cannot_be_composed_is_empty_and_the_host_goes_on(
    make: Callable[..., Harness], monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = make(None)

    def broken(*_: object) -> None:
        raise RuntimeError("broken")

    monkeypatch.setattr(harness.composer, "context", broken)
    assert harness.system_context("x") == ""


def test_there_are_never_more_workers_than_may_evaluate_at_once(make: Callable[..., Harness]) -> None:
    gate, names = threading.Event(), set[str]()
    seen: dict[str, list[int]] = {}

    def evaluator(turn: Any) -> dict[str, float]:
        gate.wait(10)
        names.add(threading.current_thread().name)
        seen.setdefault(turn.session_id, []).append(turn.turn)
        return {"m": 0.9}

    harness = make(evaluator, max_concurrent_evals=3, durability="os")
    for number in range(1, 4):
        for session in range(100):
            harness.on_turn_end({"session_id": f"s{session}", "turn_index": number})
    workers = [one for one in threading.enumerate() if one.name == "ruleproof-eval" and one.is_alive()]
    gate.set()
    harness.wait()
    assert len(workers) == 3
    assert seen == {f"s{session}": [1, 2, 3] for session in range(100)}


def test_an_async_evaluation_that_ran_out_of_time_is_cancelled(make: Callable[..., Harness]) -> None:
    ended: list[str] = []

    async def slow(turn: Any) -> dict[str, float]:
        try:
            await asyncio.sleep(30)
        except asyncio.CancelledError:
            ended.append("cancelled")
            raise
        return {"m": 0.9}

    harness = make(slow, eval_timeout_s=0.05)

    async def host() -> list[str]:
        async with harness.turn("a"):
            pass
        handled = await harness.refresh("a")
        assert handled is not None and not handled.report.scored
        await asyncio.sleep(0.05)
        return list(ended)

    assert asyncio.run(host()) == ["cancelled"]


@pytest.mark.filterwarnings("error")
@pytest.mark.parametrize("begun_there", [True, False])
def test_closing_on_the_loop_that_the_evaluator_needs_ends_at_once(
    make: Callable[..., Harness], begun_there: bool
) -> None:
    begun: list[int] = []
    done: list[int] = []

    async def evaluator(turn: Any) -> dict[str, float]:
        begun.append(turn.turn)
        await asyncio.sleep(0.1)
        done.append(turn.turn)
        return {"m": 0.1}

    harness = make(evaluator, drain_timeout_s=20)

    async def host() -> bool:
        for _ in range(3):
            async with harness.turn("a"):
                await asyncio.sleep(0)
        while begun_there and not begun:
            await asyncio.sleep(0.001)
        started = time.monotonic()
        harness.close()
        return time.monotonic() - started < 10

    assert asyncio.run(host()), "it waited until its patience ended"
    assert done == [1, 2, 3] and pending(harness) == 1
