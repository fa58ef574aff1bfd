"""Scores and costs at the door: what is a figure, and what is refused with its name, however large."""

from __future__ import annotations

import pytest

from ruleproof.core.score import checked_cost, checked_value
from ruleproof.errors import Refused


@pytest.mark.parametrize(
    "value",
    [10**400, -(10**400), 10**6000, 7, -0.1, float("nan"), float("inf"), True, "0.5", []],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_score_is_refused_by_name_whatever_its_size(value: object) -> None:
    with pytest.raises(Refused, match=r"^score 'm' is ") as refused:
        checked_value("m", value)
    assert len(str(refused.value)) < 200
    assert checked_value("m", None) is None and checked_value("m", 1) == 1.0


@pytest.mark.parametrize(
    "value",
    [10**400, 10**6000, -1, float("nan"), float("inf"), True, "5", None],
    ids=lambda value: type(value).__name__,
)
def test_what_is_no_cost_is_refused_by_name_whatever_its_size(value: object) -> None:
    with pytest.raises(Refused, match=r"^cost 'usd' is ") as refused:
        checked_cost("usd", value)
    assert len(str(refused.value)) < 120
    assert checked_cost("usd", 3) == 3.0
