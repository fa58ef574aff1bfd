"""Laws of the gate and the breaker, over any scores in any order."""

from __future__ import annotations

from collections.abc import Sequence

from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.breaker import Breaker, BreakerPolicy, Happening, decide, fold, happened, release
from ruleproof.core.gate import GatePolicy, Judgement, SessionGate, judge, posted, suppressed
from ruleproof.core.notice import in_family
from ruleproof.core.score import Report, Score, Source

METRICS = ("a", "b", "a:b")
unit = st.floats(0.0, 1.0)
sources: st.SearchStrategy[Source] = st.sampled_from(["checker", "trace", "judge", "caller"])
scores = st.builds(
    Score, st.sampled_from(METRICS), st.none() | unit | st.sampled_from([0.1, 0.9, float("nan")]), unit, sources
)
reports = st.builds(
    Report, st.just("s"), st.lists(scores, max_size=4).map(tuple), st.sampled_from(["t1", "t2"]), st.integers(0, 6)
)
policies = st.builds(
    GatePolicy,
    enable_trend=st.booleans(),
    ewma_fast_span=st.integers(1, 9),
    ewma_slow_span=st.integers(1, 30),
    trend_min_samples=st.integers(0, 6),
    adaptive_threshold=st.booleans(),
    percentile_window=st.integers(0, 6),
    percentile_floor=unit,
    alert_cooldown_turns=st.integers(0, 3),
)
histories = st.lists(st.tuples(reports, st.booleans()), max_size=25)


def walk(history: Sequence[tuple[Report, bool]], policy: GatePolicy) -> tuple[list[Judgement], SessionGate]:
    """Judge in order; the boolean says what the breaker did with a wanted notice."""
    state, judgements = SessionGate(), []
    for report, through in history:
        judgement = judge(report, state, policy)
        judgements.append(judgement)
        state = judgement.state
        if judgement.wants_notice:
            state = posted(state) if through else suppressed(state)
    return judgements, state


@given(histories, policies)
def test_folding_the_same_reports_gives_the_same_judgements_and_state(
    history: list[tuple[Report, bool]], policy: GatePolicy
) -> None:
    assert walk(history, policy) == walk(history, policy)


@given(histories, policies)
def test_a_judgement_hangs_together(history: list[tuple[Report, bool]], policy: GatePolicy) -> None:
    for judgement in walk(history, policy)[0]:
        assert list(judgement.signatures) == sorted(set(judgement.signatures))
        assert (judgement.severity is None) == (not judgement.signatures)
        assert not (judgement.wants_notice and not judgement.signatures)
        assert not (judgement.wants_notice and judgement.recovered)
        assert not (judgement.repeated and (judgement.wants_notice or judgement.recovered))
        assert len({finding.score.metric for finding in judgement.findings}) == len(judgement.findings)
        for finding in judgement.findings:
            assert finding.score.value is not None or not finding.conditions
            assert in_family(judgement.signatures, finding.score.metric) is bool(finding.conditions)


@given(histories, reports, policies)
def test_handling_a_report_twice_is_handling_it_once(
    history: list[tuple[Report, bool]], report: Report, policy: GatePolicy
) -> None:
    _, state = walk(history, policy)
    first = judge(report, state, policy)
    after = posted(first.state)
    second = judge(report, after, policy)
    assert second.state is after
    assert not second.wants_notice
    assert not second.recovered


@given(histories, policies)
def test_a_report_without_a_value_leaves_everything_as_it_was(
    history: list[tuple[Report, bool]], policy: GatePolicy
) -> None:
    _, state = walk(history, policy)
    silent = Report("s", tuple(Score(metric, None) for metric in METRICS), "t3", 99)
    judgement = judge(silent, state, policy)
    assert judgement.state is state
    assert not judgement.recovered


@given(histories, policies)
def test_recovery_needs_a_value_of_every_metric_that_alerted(
    history: list[tuple[Report, bool]], policy: GatePolicy
) -> None:
    state = SessionGate()
    for report, through in history:
        judgement = judge(report, state, policy)
        if judgement.recovered:
            valued = {finding.score.metric for finding in judgement.findings if finding.score.value is not None}
            assert state.present
            assert all(any(in_family([s], metric) for metric in valued) for s in state.present)
            assert judgement.state.open == {}
            assert judgement.state.owed == frozenset()
        state = judgement.state
        if judgement.wants_notice:
            state = posted(state) if through else suppressed(state)


@given(histories, policies)
def test_every_alert_is_told_or_owed(history: list[tuple[Report, bool]], policy: GatePolicy) -> None:
    state = SessionGate()
    for report, through in history:
        judgement = judge(report, state, policy)
        state = judgement.state
        if judgement.wants_notice:
            state = posted(state) if through else suppressed(state)
        assert not state.wanted
        assert state.present <= state.open.keys() | state.owed


class OlderGate:
    """The gate of the 0.6 format's system: what it posts where nothing is missing and nothing returns."""

    def __init__(self, cooldown: int) -> None:
        self.cooldown, self.present, self.left = cooldown, frozenset[str](), 0

    def posts(self, now: frozenset[str]) -> bool:
        before, self.present = self.present, now
        if not now:
            return False
        post = bool(now - before) or (now == before and self.cooldown > 0 and self.left <= 0)
        self.left = self.cooldown if post else max(0, self.left - 1)
        return post


@given(st.lists(st.sets(st.sampled_from("abc")), max_size=20), st.integers(0, 4))
def test_where_nothing_returns_it_posts_when_the_older_gate_did(turns: list[set[str]], cooldown: int) -> None:
    policy, older = GatePolicy(enable_trend=False, alert_cooldown_turns=cooldown), OlderGate(cooldown)
    state, told, before = SessionGate(), set[str](), set[str]()
    for turn, bad in enumerate(turns, 1):
        returns = (bad & told) - before
        bad = bad - returns
        told, before = (told | bad if bad else set()), bad
        values = tuple(Score(metric, 0.1 if metric in bad else 0.9) for metric in "abc")
        judgement = judge(Report("s", values, "t", turn), state, policy)
        state = posted(judgement.state) if judgement.wants_notice else judgement.state
        assert judgement.wants_notice is older.posts(frozenset(judgement.signatures))


steps = st.lists(
    st.tuples(st.floats(0.0, 40.0), st.sampled_from(["notice", "notice", "notice", "recovery"])), max_size=40
)


@given(steps, st.integers(1, 4))
def test_no_notice_is_lost_none_is_posted_twice_and_no_window_overflows(
    moves: list[tuple[float, str]], limit: int
) -> None:
    policy = BreakerPolicy(limit, 60.0)
    breaker, now, waiting, out = Breaker(policy), 0.0, list[int](), list[int]()
    events: list[tuple[float, Happening]] = []
    for number, (pause, move) in enumerate(moves):
        now += pause
        if move == "recovery":
            breaker = happened(breaker, "recovery", now)
            events.append((now, "recovery"))
        count, breaker = release(breaker, now)
        out += waiting[:count]
        del waiting[:count]
        events += [(now, "release")] * count
        if move == "notice":
            word, breaker = decide(breaker, now)
            events.append((now, word))
            (waiting if word == "hold" else out).append(number)
        assert breaker.held == len(waiting)
        assert len(breaker.times) <= limit
    assert out == sorted(out)
    while waiting:
        now += policy.window_s + 1.0
        count, breaker = release(breaker, now)
        assert 0 < count <= limit
        out += waiting[:count]
        del waiting[:count]
        events += [(now, "release")] * count
    assert out == [number for number, (_, move) in enumerate(moves) if move == "notice"]
    assert fold(policy, events) == breaker
