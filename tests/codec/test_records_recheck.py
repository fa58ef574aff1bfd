"""Records of watches and rechecks: round trips, what anybody may have written instead, and who reads them."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from ruleproof.codec.records import checks_to, observations_from, reported_from, told_from, trial_from, trial_to
from ruleproof.core.recheck import Comparison
from ruleproof.core.rule import Rule
from ruleproof.core.rulebook import Rulebook
from ruleproof.core.trial import Told, TrialFold, TrialState

RULE = "r-0123456789"
WATCH = Comparison("t1", "00ff" * 4, "d", 0.1, effect=0.25)
RECHECK = Comparison("t2", "ff00" * 4, "d", 0.5, 2, "by hand", ended="t3", verdict="kept:It helps.")
TRIAL = TrialState(started_at="t", watch=WATCH, recheck=RECHECK, fingerprints=("a", "b"))
TOLD = Told(RULE, "s", "s", "withheld", True, 0.25, "task", {"m": 0.25}, {"tokens": 7.0}, WATCH.name)


def test_what_came_after_a_promotion_comes_back_as_it_was_and_costs_nobody_else_a_byte() -> None:
    assert trial_from(trial_to(TRIAL)) == TRIAL
    assert trial_from({**trial_to(TRIAL), "unknown": 1}).extra == {"unknown": 1}
    assert set(trial_to(TrialState(started_at="t"))).isdisjoint({"watch", "recheck", "fingerprints"})


@pytest.mark.parametrize(
    ("key", "value"),
    [("key", None), ("key", ""), ("key", 5), ("key", "é\ud800"), ("holdout", None), ("holdout", 1), ("holdout", -0.1),
     ("holdout", "half"), ("holdout", float("nan")), ("digest", None), ("digest", "")],
)  # fmt: skip
def test_a_damaged_comparison_withholds_from_nobody(key: str, value: object) -> None:
    record = trial_to(TRIAL)
    for name in ("watch", "recheck"):
        damaged = trial_from({**record, name: {**record[name], key: value}})  # type: ignore[dict-item]
        assert getattr(damaged, name) is None
    assert trial_from({**record, "watch": "x", "recheck": 7, "fingerprints": "ab"}) == TrialState(started_at="t")


KEYS = st.sampled_from(["watch", "recheck", "fingerprints", "key", "digest", "holdout", "number", "ended", "since"])
PLAIN = st.none() | st.booleans() | st.floats() | st.integers() | st.text()


PART = st.dictionaries(KEYS, PLAIN | st.lists(PLAIN, max_size=2), max_size=9)


@settings(max_examples=80, deadline=None)
@given(st.dictionaries(KEYS, PLAIN | PART | st.lists(PLAIN, max_size=2), max_size=4))
def test_reading_never_raises_and_what_was_read_can_be_asked(value: dict[str, object]) -> None:
    trial = trial_from(value)
    if trial.comparison is not None:
        assert trial.comparison.arm("s") in ("shown", "withheld") and trial.comparison.level > 0.0
    trial_from(trial_to(trial))


def test_a_check_is_told_to_its_comparison_and_to_nothing_else() -> None:
    record = checks_to("s", (TOLD,), {"m": 0.25}, "t")
    assert told_from(record) == (TOLD,)
    assert observations_from(record) == () and reported_from(record) is None
    fold = TrialFold()
    for told in (*told_from(record), *told_from(record)):
        fold.tell(told)
    assert list(fold.told(RULE, WATCH.name)) == [TOLD] and not fold.told(RULE) and not fold.told(RULE, RECHECK.name)
    assert fold.state(RULE, TRIAL) == TRIAL
    assert told_from({**record, "seen": {RULE: {"breached": True, "exposure": "shown", "value": 0.5}}}) == ()


def test_the_rulebook_knows_which_active_rules_are_compared() -> None:
    book, rule = Rulebook(), Rule(RULE, "t", "One.", status="active", trial=replace(TRIAL, watch=None))
    for trial, compared in (
        (rule.trial, False),
        (TRIAL, True),
        (replace(TRIAL, watch=None, recheck=replace(RECHECK, ended="")), True),
        (None, False),
    ):
        book.feed(replace(rule, trial=trial))
        assert [one.id for one in book.checked()] == [RULE] * compared
    book.feed(replace(rule, status="retired", trial=TRIAL))
    assert book.checked() == []


def test_an_open_recheck_runs_everywhere_and_a_watch_where_rules_are_monitored() -> None:
    assert TRIAL.running(True) is WATCH and TRIAL.running(False) is None
    open_ = replace(TRIAL, recheck=replace(RECHECK, ended=""))
    assert open_.running(True) is open_.recheck and open_.running(False) is open_.recheck
    hidden = TRIAL.without_keys
    assert hidden.watch is not None and hidden.recheck is not None and {hidden.watch.key, hidden.recheck.key} == {""}
