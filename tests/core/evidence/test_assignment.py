"""The keyed coin: fixed, fair, unpredictable without the key, and balanced within blocks."""

from __future__ import annotations

import hashlib
import hmac

import pytest
from hypothesis import given
from hypothesis import strategies as st

from ruleproof.core.evidence.assignment import assigned, assigned_in_block, suits_blocks
from ruleproof.errors import Refused

KEY = b"k" * 32
TEXT = st.text(st.characters(), max_size=20) | st.just("\ud83d")


@given(TEXT, TEXT, st.floats(0.0, 0.99))
def test_the_same_key_rule_and_unit_always_give_the_same_arm(digest, unit, holdout):
    assert assigned(KEY, digest, unit, holdout) == assigned(KEY, digest, unit, holdout)


@pytest.mark.parametrize("holdout", [0.1, 0.5, 0.9])
def test_the_share_of_withheld_units_is_the_holdout(holdout):
    withheld = sum(assigned(KEY, "d", f"s{unit}", holdout) == "withheld" for unit in range(4000))
    assert abs(withheld / 4000 - holdout) < 4 * (holdout * (1 - holdout) / 4000) ** 0.5


def test_other_rules_and_other_keys_have_coins_of_their_own():
    arms = [assigned(KEY, "one", f"s{unit}", 0.5) for unit in range(2000)]
    for other in (
        [assigned(KEY, "two", f"s{unit}", 0.5) for unit in range(2000)],
        [assigned(b"other", "one", f"s{unit}", 0.5) for unit in range(2000)],
    ):
        assert 900 < sum(one == two for one, two in zip(arms, other, strict=True)) < 1100


def test_digest_and_unit_cannot_be_shifted_into_each_other():
    arms = {assigned(KEY, "a" * split, "a" * (40 - split), 0.5) for split in range(41)}
    assert arms == {"shown", "withheld"}


def test_the_arm_is_what_hmac_says():
    parts = [b"unit", b"digest", b"s1"]
    message = b"".join(len(part).to_bytes(8, "big") + part for part in parts)
    coin = int.from_bytes(hmac.new(KEY, message, hashlib.sha256).digest()[:8], "big") / 2**64
    assert assigned(KEY, "digest", "s1", coin + 1e-9) == "withheld"
    assert assigned(KEY, "digest", "s1", coin - 1e-9) == "shown"


def test_without_a_holdout_everything_is_shown():
    assert {assigned(KEY, "d", f"s{unit}", 0.0) for unit in range(200)} == {"shown"}


@pytest.mark.parametrize("holdout", [-0.1, 1.0, float("nan"), float("inf")])
def test_a_holdout_out_of_range_is_refused(holdout):
    with pytest.raises(Refused):
        assigned(KEY, "d", "s", holdout)


@given(TEXT, st.integers(0, 500))
def test_in_every_block_of_a_task_one_unit_is_shown_and_one_withheld(task, number):
    first, block = assigned_in_block(KEY, "d", task, 2 * number)
    second, same = assigned_in_block(KEY, "d", task, 2 * number + 1)
    assert {first, second} == {"shown", "withheld"}
    assert block == same


def test_the_order_within_blocks_is_a_fair_coin():
    first = sum(
        assigned_in_block(KEY, "d", f"t{task}", 2 * block)[0] == "shown" for task in range(40) for block in range(50)
    )
    assert 900 < first < 1100
    with pytest.raises(Refused):
        assigned_in_block(KEY, "d", "t", -1)


def test_blocks_suit_tasks_that_come_back_and_only_those():
    assert suits_blocks([f"t{place % 10}" for place in range(40)])
    assert not suits_blocks([f"t{place}" for place in range(40)])
    assert not suits_blocks([None] * 30 + ["t", "t"])
    assert not suits_blocks([])


def test_blocks_of_one_place_have_a_coin_for_each_task_and_each_place():
    """One coin for the first block of all tasks would let whatever came that hour decide the trial."""
    first = [assigned_in_block(KEY, "digest", f"t{task}", 0)[0] for task in range(400)]
    later = [assigned_in_block(KEY, "digest", "t", 2 * block)[0] for block in range(400)]
    assert 140 < first.count("shown") < 260
    assert 140 < later.count("shown") < 260
