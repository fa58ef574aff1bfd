"""From scores to conditions, signatures, notices and recoveries."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import product

import pytest

from ruleproof.core.gate import GatePolicy, Judgement, SessionGate, judge, metric_of, posted, suppressed
from ruleproof.core.score import Report, Score, Source
from ruleproof.core.trend import CONDITIONS, Condition, MetricState

PLAIN = GatePolicy(enable_trend=False)
REL, CON = "agent_reliability", "agent_consistency"


def report(turn: int, at: str = "", /, **values: float | None) -> Report:
    return Report("s", tuple(Score(name, value) for name, value in values.items()), at or f"t{turn}", turn)


def run(
    turns: Sequence[dict[str, float | None]], policy: GatePolicy = PLAIN, hold: Sequence[int] = ()
) -> tuple[list[int], list[int], SessionGate]:
    """Turns (from 1) that posted or would have, turns that recovered, the last state; `hold`: the breaker's doing."""
    state, wants, recoveries = SessionGate(), [], []
    for turn, values in enumerate(turns, 1):
        judgement = judge(report(turn, **values), state, policy)
        state = judgement.state
        if judgement.wants_notice:
            wants.append(turn)
            state = suppressed(state) if turn in hold else posted(state)
        if judgement.recovered:
            recoveries.append(turn)
    return wants, recoveries, state


BAD: dict[str, float | None] = {"a": 0.1}
GOOD: dict[str, float | None] = {"a": 0.9}
OUT: dict[str, float | None] = {"a": None}


def judged_with(wanted: frozenset[Condition]) -> Judgement:
    """One value of 0.5 before a history that makes exactly the wanted conditions apply."""
    fast, slow = {
        (False, False): (0.5, 0.5),
        (True, False): (1.0, 0.8),
        (False, True): (0.4, 0.6),
        (True, True): (0.6, 0.9),
    }["relative" in wanted, "trend" in wanted]
    recent = (0.9 if "percentile" in wanted else 0.1,) * 4
    threshold = 0.6 if "breach" in wanted else 0.4
    state = SessionGate(metrics={REL: MetricState(fast, slow, 4, recent)})
    policy = GatePolicy(adaptive_threshold=True, percentile_window=5)
    return judge(Report("s", (Score(REL, 0.5, threshold),), "now", 5), state, policy)


@pytest.mark.parametrize("bits", list(product([False, True], repeat=4)))
def test_every_combination_of_conditions(bits: tuple[bool, ...]) -> None:
    wanted = [condition for condition, on in zip(CONDITIONS, bits, strict=True) if on]
    judgement = judged_with(frozenset(wanted))
    (finding,) = judgement.findings
    assert finding.conditions == tuple(wanted)
    assert judgement.signatures == tuple(sorted(f"{c}:{REL}" for c in wanted))
    expected = "breach" if bits[0] else "relative" if bits[1] else "trend" if any(bits) else None
    assert judgement.severity == expected
    assert judgement.wants_notice is any(bits)
    assert judgement.alerting == (judgement.findings if any(bits) else ())
    assert not judgement.recovered


def test_a_percentile_alone_has_the_severity_of_a_trend() -> None:
    judgement = judged_with(frozenset({"percentile"}))
    assert judgement.signatures == (f"percentile:{REL}",)
    assert judgement.severity == "trend"


def test_the_worst_condition_of_any_metric_sets_the_severity() -> None:
    scores = (Score("z", 0.1), Score("a", 0.9))
    judgement = judge(Report("s", scores, "now", 1), SessionGate(), PLAIN)
    assert judgement.severity == "breach"
    assert [finding.conditions for finding in judgement.findings] == [("breach",), ()]


@pytest.mark.parametrize(("value", "breaches"), [(0.5, False), (0.4999999, True), (0.0, True), (1.0, False)])
def test_a_score_at_the_threshold_does_not_breach(value: float, breaches: bool) -> None:
    assert judge(report(1, a=value), SessionGate(), PLAIN).wants_notice is breaches


@pytest.mark.parametrize("value", [float("nan"), float("inf"), float("-inf"), None])
def test_a_value_that_is_no_number_is_missing(value: float | None) -> None:
    start = SessionGate()
    judgement = judge(report(1, a=value), start, GatePolicy())
    assert judgement.state is start
    assert judgement.signatures == ()
    assert judgement.findings[0].conditions == ()


# --- notices and recoveries over turns -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("turns", "posts", "recoveries"),
    [
        ([GOOD, GOOD], [], []),
        ([BAD, BAD, BAD], [1], []),
        ([BAD, GOOD, BAD], [1, 3], [2]),
        ([BAD, OUT, BAD], [1], []),
        ([OUT, OUT], [], []),
        ([BAD, OUT, GOOD, OUT, BAD], [1, 5], [3]),
        ([{}, BAD, {}, BAD], [2], []),
        ([{"a": 0.1, "b": 0.1}, {"b": 0.1}, {"b": 0.9}, {"a": 0.9}], [1], [4]),
        ([{"a": 0.1}, {"b": 0.9}, {"b": 0.9, "a": None}, {"a": 0.2}], [1], []),
        ([{"a": 0.1}, {"b": 0.1}, {"a": 0.1, "b": 0.1}], [1, 2], []),
    ],
)
def test_an_incident_is_told_once_and_recovery_needs_values(
    turns: list[dict[str, float | None]], posts: list[int], recoveries: list[int]
) -> None:
    assert run(turns)[:2] == (posts, recoveries)


def test_a_breach_an_outage_and_a_breach_are_one_notice_and_no_recovery() -> None:
    posts, recoveries, _ = run([BAD, OUT, OUT, OUT, BAD])
    assert (len(posts), len(recoveries)) == (1, 0)


def test_a_flapping_metric_is_told_once_while_the_other_stays() -> None:
    flapping: list[dict[str, float | None]] = [{"a": 0.1 if i % 2 == 0 else 0.9, "b": 0.1} for i in range(6)]
    assert run(flapping)[:2] == ([1], [])


def test_a_flapping_metric_on_its_own_recovers_and_alerts_each_time() -> None:
    assert run([BAD, GOOD] * 3)[:2] == ([1, 3, 5], [2, 4, 6])


BOTH: dict[str, float | None] = {"a": 0.1, "b": 0.1}
ONE: dict[str, float | None] = {"a": 0.9, "b": 0.1}


@pytest.mark.parametrize(
    ("cooldown", "turns", "posts"),
    [
        (0, [BAD] * 8, [1]),
        (1, [BAD] * 6, [1, 3, 5]),
        (2, [BAD] * 8, [1, 4, 7]),
        (-1, [BAD] * 4, [1]),
        (2, [BAD, OUT, BAD, BAD, BAD, BAD], [1, 5]),  # an outage is no turn
        (2, [BAD, BAD, GOOD, BAD, BAD, BAD, BAD], [1, 4, 7]),  # recovery ends the cooldown
        (1, [BOTH, BOTH, ONE, ONE], [1, 4]),  # a set that shrank stays silent on that turn
        (1, [BAD, {"a": 0.1, "b": 0.1}, BOTH, BOTH], [1, 2, 4]),  # a set that grew does not wait
        (3, [BOTH, ONE, BOTH, ONE, BOTH, ONE], [1, 5]),  # returned within the cooldown: not new; after it: told
    ],
)
def test_cooldowns(cooldown: int, turns: list[dict[str, float | None]], posts: list[int]) -> None:
    assert run(turns, GatePolicy(enable_trend=False, alert_cooldown_turns=cooldown))[0] == posts


def test_an_outage_leaves_the_state_untouched() -> None:
    _, _, state = run([BAD, GOOD, BAD], GatePolicy())
    for silent in (report(4, a=None), report(5), Report("s", (), "t")):
        judgement = judge(silent, state, GatePolicy())
        assert judgement.state is state
        assert not judgement.recovered
        assert not judgement.wants_notice
        assert judgement.severity is None


def test_only_signatures_that_the_report_itself_carries_are_its_signatures() -> None:
    _, _, state = run([BAD])
    judgement = judge(report(2, a=None, b=0.9), state, PLAIN)
    assert judgement.signatures == ()
    assert judgement.state.present == {"breach:a"}


# --- held back -------------------------------------------------------------------------------------------------------


def test_a_suppressed_notice_is_not_wanted_again_while_it_is_held() -> None:
    wants, _, state = run([BAD, BAD, BAD], hold=[1])
    assert wants == [1]
    assert state.owed == {"breach:a"}
    assert state.open == {}
    told = posted(state)
    assert (set(told.open), told.owed) == ({"breach:a"}, frozenset())
    assert not judge(report(4, **BAD), told, PLAIN).wants_notice


def test_a_new_signature_is_wanted_beside_one_that_is_held() -> None:
    wants, _, state = run([BAD, BOTH, BOTH], hold=[1, 2])
    assert wants == [1, 2]
    assert state.owed == {"breach:a", "breach:b"}


def test_a_held_signature_is_not_reminded_of() -> None:
    assert run([BAD] * 6, GatePolicy(enable_trend=False, alert_cooldown_turns=1), hold=[1])[0] == [1]


def test_recovery_settles_what_was_owed_and_the_late_post_changes_nothing() -> None:
    _, recoveries, state = run([BAD, GOOD], hold=[1])
    assert recoveries == [2]
    assert posted(state) is state
    assert judge(report(3, **BAD), state, PLAIN).wants_notice


def test_a_judgement_that_nobody_followed_up_is_wanted_again_by_the_next_report() -> None:
    first = judge(report(1, **BAD), SessionGate(), PLAIN)
    assert judge(report(2, **BAD), first.state, PLAIN).wants_notice


def test_posting_restarts_the_cooldown_when_it_happens() -> None:
    policy = GatePolicy(enable_trend=False, alert_cooldown_turns=2)
    _, _, state = run([BAD, BAD, BAD], policy, hold=[1])
    state = posted(state)
    wants = []
    for turn in range(4, 8):
        judgement = judge(report(turn, **BAD), state, policy)
        state = judgement.state
        if judgement.wants_notice:
            wants.append(turn)
            state = posted(state)
    assert wants == [6]


# --- the same report again, and reports out of order ---------------------------------------------------------------


@pytest.mark.parametrize("values", [BAD, GOOD, BOTH, ONE])
def test_the_same_report_handled_twice_changes_nothing_the_second_time(values: dict[str, float | None]) -> None:
    policy = GatePolicy(alert_cooldown_turns=1, adaptive_threshold=True, percentile_window=4)
    _, _, state = run([BAD, BOTH, GOOD], policy)
    first = judge(report(4, **values), state, policy)
    for after in (first.state, posted(first.state), suppressed(first.state)):
        again = judge(report(4, "later", **values), after, policy)
        assert again.repeated
        assert again.state is after
        assert not again.wants_notice
        assert not again.recovered
        assert again.signatures == first.signatures


def test_a_repeated_value_is_not_averaged_in_twice() -> None:
    policy = GatePolicy(adaptive_threshold=True)
    _, _, state = run([{"a": 1.0}] * 3, policy)
    first = judge(report(4, a=0.78), state, policy)
    assert "relative:a" in first.signatures  # 0.78 < 0.96 - 0.15; averaged in again it would be 0.78 > 0.93 - 0.15
    assert judge(report(4, a=0.78), first.state, policy).signatures == first.signatures


def test_without_turn_numbers_two_reports_are_the_same_only_at_the_same_time() -> None:
    state = posted(judge(report(0, "t1", **BAD), SessionGate(), PLAIN).state)
    assert judge(report(0, "t1", **BAD), state, PLAIN).repeated
    assert not judge(report(0, "t2", **BAD), state, PLAIN).repeated


def test_another_metric_of_the_same_turn_is_another_report() -> None:
    state = judge(report(1, a=0.9), SessionGate(), PLAIN).state
    assert judge(report(1, b=0.1), state, PLAIN).wants_notice
    assert judge(report(1, a=0.1), state, PLAIN).wants_notice


def test_a_report_that_comes_again_after_others_is_still_recognised() -> None:
    _, _, state = run([BAD, GOOD, GOOD])
    assert judge(report(1, **BAD), state, PLAIN).repeated


def test_a_late_report_alerts_but_never_recovers() -> None:
    state = posted(judge(report(2, **BAD), SessionGate(), PLAIN).state)
    late = judge(report(1, **GOOD), state, PLAIN)
    assert not late.recovered
    assert late.state.present == {"breach:a"}
    healthy = judge(report(2, **GOOD), SessionGate(), PLAIN).state
    assert judge(report(1, **BAD), healthy, PLAIN).wants_notice


# --- several sources, names ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("first", "second", "value"),
    [
        (("judge", 0.1), ("checker", 0.9), 0.9),
        (("checker", 0.9), ("judge", 0.1), 0.9),
        (("checker", None), ("judge", 0.1), 0.1),
        (("judge", 0.1), ("checker", None), 0.1),
        (("caller", 0.3), ("judge", 0.7), 0.3),
        (("caller", float("nan")), ("judge", 0.7), 0.7),
    ],
)
def test_a_checker_outranks_and_a_value_outranks_a_missing_one(
    first: tuple[Source, float | None], second: tuple[Source, float | None], value: float
) -> None:
    scores = tuple(Score("a", number, source=source) for source, number in (first, second))
    judgement = judge(Report("s", scores, "now", 1), SessionGate(), GatePolicy())
    assert [finding.score.value for finding in judgement.findings] == [value]
    assert judgement.state.metrics["a"].count == 1


def test_a_metric_may_hold_a_colon() -> None:
    judgement = judge(Report("s", (Score("a::b", 0.1),), "now", 1), SessionGate(), PLAIN)
    assert judgement.signatures == ("breach:a::b",)
    state = posted(judgement.state)
    assert judge(Report("s", (Score("b", 0.9),), "now", 2), state, PLAIN).recovered is False
    assert judge(Report("s", (Score("a::b", 0.9),), "now", 2), state, PLAIN).recovered is True


@pytest.mark.parametrize(
    ("text", "metric"),
    [("breach:a", "a"), ("trend:a:b", "a:b"), ("percentile:", ""), ("stall:a", None), ("a", None), ("a:breach", None)],
)
def test_the_metric_of_a_signature(text: str, metric: str | None) -> None:
    assert metric_of(text) == metric


def test_trend_off_keeps_no_history() -> None:
    assert judge(report(1, **BAD), SessionGate(), PLAIN).state.metrics == {}
