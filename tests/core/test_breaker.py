"""When notices are posted, when a person is called, when they are held, and when the held ones come out."""

from __future__ import annotations

import pytest

from ruleproof.core.breaker import Breaker, BreakerPolicy, Happening, decide, fold, happened, release
from ruleproof.core.gate import GatePolicy, SessionGate, judge, posted
from ruleproof.core.score import Report, Score

POLICY = BreakerPolicy(max_notices=3, window_s=60.0)


def storm(times: list[float], breaker: Breaker | None = None) -> tuple[list[str], Breaker]:
    words, breaker = [], breaker or Breaker(POLICY)
    for now in times:
        word, breaker = decide(breaker, now)
        words.append(word)
    return words, breaker


def test_the_defaults_are_five_notices_in_ten_minutes() -> None:
    assert BreakerPolicy() == BreakerPolicy(5, 600.0)
    words, _ = storm([float(i) for i in range(8)], Breaker())
    assert words == ["post"] * 5 + ["needs_human", "hold", "hold"]


@pytest.mark.parametrize(
    ("times", "words"),
    [
        ([0, 1, 2], ["post"] * 3),
        ([0, 1, 2, 3], ["post"] * 3 + ["needs_human"]),
        ([0, 1, 2, 3, 4, 5], ["post"] * 3 + ["needs_human", "hold", "hold"]),
        ([0, 30, 59.9, 60.0], ["post"] * 4),  # the first one just left the window
        ([0, 1, 2, 3, 61.9], ["post"] * 3 + ["needs_human", "hold"]),  # tripped until the window is empty
        ([0, 1, 2, 3, 62.0], ["post"] * 3 + ["needs_human", "post"]),
    ],
)
def test_sequences(times: list[float], words: list[str]) -> None:
    assert storm(times)[0] == words


@pytest.mark.parametrize("limit", [0, -1])
def test_no_limit_is_no_breaker(limit: int) -> None:
    words, breaker = storm([0.0] * 100, Breaker(BreakerPolicy(limit, 60.0), held=4))
    assert words == ["post"] * 100
    assert breaker.times == ()
    assert release(breaker, 1.0)[0] == 4


def test_held_notices_come_out_once_and_no_more_than_the_window_takes() -> None:
    _, breaker = storm([0.0, 1.0, 2.0, 3.0] + [4.0] * 7)
    assert breaker.held == 7
    assert release(breaker, 61.0)[0] == 0
    counts = []
    for now in (62.0, 63.0, 121.9, 122.0, 182.0, 242.0):
        count, breaker = release(breaker, now)
        counts.append(count)
    assert counts == [3, 0, 0, 3, 1, 0]
    assert breaker.held == 0


def test_a_new_notice_never_overtakes_a_held_one() -> None:
    _, breaker = storm([0.0, 1.0, 2.0, 3.0, 4.0])
    assert decide(breaker, 100.0) == ("hold", Breaker(POLICY, (), False, 2))
    count, breaker = release(breaker, 100.0)
    assert count == 1
    assert decide(breaker, 100.0)[0] == "post"


def test_releasing_trips_nothing_by_itself() -> None:
    _, breaker = storm([0.0, 1.0, 2.0, 3.0] + [4.0] * 3)
    count, breaker = release(breaker, 70.0)
    assert (count, breaker.tripped) == (3, False)
    assert decide(breaker, 71.0)[0] == "needs_human"


def test_recovery_opens_the_breaker_and_keeps_what_is_held() -> None:
    _, breaker = storm([0.0, 1.0, 2.0, 3.0, 4.0])
    breaker = happened(breaker, "recovery", 5.0)
    assert breaker == Breaker(POLICY, (), False, 1)
    assert release(breaker, 5.0)[0] == 1


def test_an_outage_opens_nothing() -> None:
    gate = GatePolicy(enable_trend=False)
    state = posted(judge(Report("s", (Score("a", 0.1),), "t", 1), SessionGate(), gate).state)
    assert not judge(Report("s", (Score("a", None),), "t", 2), state, gate).recovered
    assert not judge(Report("s", (), "t", 3), state, gate).recovered
    assert judge(Report("s", (Score("a", 0.9),), "t", 4), state, gate).recovered


def test_folding_what_happened_gives_the_breaker_that_decided() -> None:
    events: list[tuple[float, Happening]] = []
    breaker = Breaker(POLICY)
    for now in (0.0, 1.0, 2.0, 3.0, 4.0, 5.0, 70.0, 71.0, 140.0):
        count, breaker = release(breaker, now)
        events += [(now, "release")] * count
        word, breaker = decide(breaker, now)
        events.append((now, word))
    assert fold(POLICY, events) == breaker
    assert [what for _, what in events].count("release") == 2


def test_a_clock_that_was_set_back_does_not_hold_the_breaker_shut() -> None:
    _, breaker = storm([1000.0, 1001.0, 1002.0, 1003.0])
    assert decide(breaker, 1001.5)[0] == "hold"  # a process whose clock lags a little
    assert decide(breaker, 10.0)[0] == "post"


def test_a_release_that_nobody_owed_is_no_debt() -> None:
    assert happened(Breaker(POLICY), "release", 0.0).held == 0
