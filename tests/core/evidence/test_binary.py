"""Two-sample e-values for arms that we did not draw: their expectation by enumeration of all outcomes."""

from __future__ import annotations

from itertools import product

import pytest

from ruleproof.core.evidence.binary import TwoSample
from ruleproof.core.evidence.exact import binomial_pmf
from ruleproof.errors import Refused


def expectation(a_rate: float, b_rate: float, blocks: int, a_size: int = 1, b_size: int = 1) -> float:
    outcomes = list(product(range(a_size + 1), range(b_size + 1)))
    total = 0.0
    for path in product(outcomes, repeat=blocks):
        test, chance = TwoSample(), 1.0
        for a_hits, b_hits in path:
            test.add_block(a_hits, a_size, b_hits, b_size)
            chance *= binomial_pmf(a_hits, a_size, a_rate) * binomial_pmf(b_hits, b_size, b_rate)
        total += chance * test.e_value
    return total


@pytest.mark.parametrize("rate", [0.05, 0.3, 0.5, 0.9])
def test_at_equal_rates_the_expected_evidence_is_at_most_one_and_little_less(rate):
    for expected in (expectation(rate, rate, 4), expectation(rate, rate, 2, 2, 3)):
        assert 0.9 < expected <= 1.0 + 1e-12


@pytest.mark.parametrize(("a_rate", "b_rate"), [(0.2, 0.4), (0.5, 0.9), (0.0, 1.0)])
def test_an_arm_that_is_worse_gives_no_evidence_that_it_is_better(a_rate, b_rate):
    assert expectation(a_rate, b_rate, 4) <= 1.0 + 1e-12


def test_one_block_by_hand():
    test = TwoSample(prior=1.0)
    test.add_block(1, 1, 0, 1)  # equal rates so far: no bet
    assert test.e_value == 1.0
    test.add_block(1, 1, 0, 1)  # 2/3 against 1/3, pooled 1/2
    assert test.e_value == pytest.approx((2 / 3 / 0.5) ** 2)


def test_a_block_that_cannot_be_is_refused():
    with pytest.raises(Refused):
        TwoSample().add_block(2, 1, 0, 1)
    with pytest.raises(Refused):
        TwoSample().add_block(0, 0, 0, 1)
