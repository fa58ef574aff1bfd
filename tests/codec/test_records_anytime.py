"""Records of trials that withhold: round trips, and what anybody may have written instead."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.codec.records import (
    exposure_from,
    exposure_to,
    exposure_unit,
    observations_from,
    observations_to,
    told_from,
    trial_from,
    trial_to,
)
from ruleproof.core.trial import Observation, Told, TrialFold, TrialState

RULE, OTHER = "r-0123456789", "r-abcdefabcd"
TRIAL = TrialState(started_at="t", policy="anytime", key="00ff" * 4, holdout=0.25, digest="d", number=3)
TOLD = Told(RULE, "s", "s", "withheld", True, 0.25, "task", {"m": 0.25, "n": 1.0}, {"tokens": 7.0})


def record(**entry: Any) -> dict[str, object]:
    """An observation record with one entry of an anytime trial."""
    seen = {"breached": True, "exposure": "withheld", "value": 0.25, **entry}
    return {"kind": "observation", "session": "s", "at": "t", "scores": {"m": 0.25}, "seen": {RULE: seen}}


def test_a_trial_and_what_units_say_come_back_as_they_were() -> None:
    assert trial_from(trial_to(TRIAL)) == TRIAL
    assert trial_from(trial_to(TrialState())).policy == "fixed" and "policy" not in trial_to(TrialState())
    seen = (Observation(OTHER, "s", False, "shown"),)
    written = observations_to("s", seen, TOLD.metrics, "t", (TOLD,))
    assert told_from(written) == (TOLD,)
    assert observations_from(written) == seen
    assert exposure_unit(exposure_to("s", {RULE: "withheld"}, "t", "task")) == "task"
    assert "unit" not in exposure_to("s", {RULE: "withheld"}, "t", "s")
    assert exposure_from(exposure_to("s", {RULE: "withheld"}, "t", "task")) == ("s", {RULE: "withheld"})


@pytest.mark.parametrize(
    ("key", "value"),
    [("policy", "sequential"), ("policy", 7), ("key", None), ("key", 5), ("holdout", 1.5), ("holdout", "half"),
     ("holdout", True), ("holdout", 0), ("digest", None), ("number", 0), ("number", -1), ("number", "3")],
)  # fmt: skip
def test_a_damaged_trial_is_neither_fixed_nor_randomised(key: str, value: object) -> None:
    read = trial_from({**trial_to(TRIAL), key: value})
    assert read.policy == "anytime" and not read.randomised and read.arm("s") is None


@pytest.mark.parametrize(
    "entry",
    [{"value": 7}, {"value": float("nan")}, {"value": True}, {"value": "1"}, {"exposure": "assumed"},
     {"exposure": None}, {"breached": 1}],
)  # fmt: skip
def test_what_cannot_be_is_said_to_no_trial(entry: dict[str, Any]) -> None:
    assert told_from(record(**entry)) == () and observations_from(record(**entry)) == ()


def test_scores_and_costs_of_a_wrong_type_are_missing() -> None:
    given = {**record(), "scores": {"m": 2, "n": 0.5, "x": None}, "costs": {"a": -1, "b": 3, "c": "4"}, "task": 9}
    (told,) = told_from(given)
    assert (dict(told.metrics), dict(told.costs), told.task_id) == ({"n": 0.5}, {"b": 3.0}, None)


KEYS = st.sampled_from(["kind", "session", "seen", "scores", "costs", "task", "unit", "value", RULE])
PLAIN = st.none() | st.booleans() | st.floats() | st.text()


@given(st.recursive(PLAIN, lambda inner: st.dictionaries(KEYS, inner)))
def test_reading_never_raises(value: object) -> None:
    given_ = value if isinstance(value, dict) else {"kind": "observation", "session": "s", "seen": value}
    told_from(given_)
    exposure_unit(given_)
    trial_from({"policy": "anytime", **given_})


def test_a_unit_counts_once_with_a_value_and_a_missing_one_is_no_observation() -> None:
    fold = TrialFold()
    missing = Told(RULE, "s", "s", "shown", False, None)
    for told in (missing, missing, TOLD, Told(RULE, "other", "s", "shown", False, 0.9)):
        fold.tell(told)
    assert list(fold.told(RULE)) == [missing, TOLD]
    assert fold.state(RULE, TRIAL).observed == ("s",)


def test_a_withheld_session_stays_withheld_whatever_is_assumed_later() -> None:
    fold = TrialFold()
    fold.expose("s", {RULE: "withheld"}, "task")
    fold.expose("s", {RULE: "assumed"}, "elsewhere")
    assert fold.exposures("s") == {RULE: "withheld"} and fold.unit("s") == "task" and fold.unit("x") == "x"
    assert fold.reach[RULE] == {"withheld": 1} and fold.exposed_sessions == 1
    fold.expose("s", {RULE: "shown"})
    assert fold.reach[RULE] == {"withheld": 0, "shown": 1}
