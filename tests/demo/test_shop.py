"""The shop: money is taken before the answer gets lost, which orders it happens to is fixed, and nothing raises."""

from __future__ import annotations

import sqlite3
from pathlib import Path

import pytest

from ruleproof.demo.shop import TOOLS, Shop, money, tool_list
from ruleproof.errors import StoreError

LOST, FINE = "o-001", "o-002"
"""An order of seed 7 whose first answer gets lost, and one where all goes well."""


@pytest.fixture
def shop(tmp_path: Path) -> Shop:
    return Shop(tmp_path / "shop.db", count=20, seed=7)


def order(order_id: str) -> dict[str, object]:
    return {"order_id": order_id}


def test_a_time_out_comes_after_the_money_was_taken(shop: Shop) -> None:
    assert "time-out" in str(shop.call("charge_card", order(LOST))["error"])
    assert shop.call("check_payment_status", order(LOST))["times_paid"] == 1
    books = shop.books(LOST)
    assert (books.charges, books.kept, books.timed_out, books.cents_twice) == (1, 1, True, 0)


def test_charging_again_takes_the_money_again(shop: Shop) -> None:
    shop.call("charge_card", order(LOST))
    assert "charged" in shop.call("charge_card", order(LOST))
    books = shop.books(LOST)
    assert (books.charges, books.kept, books.cents_twice) == (2, 2, books.cents)
    with sqlite3.connect(shop.file) as database:
        taken = database.execute("SELECT sum(cents) FROM charges WHERE order_id = ?", (LOST,)).fetchone()
    assert taken == (2 * books.cents,)


def test_a_refund_pays_one_charge_back_and_no_more_than_there_are(shop: Shop) -> None:
    shop.call("charge_card", order(LOST))
    shop.call("charge_card", order(LOST))
    assert shop.call("refund", order(LOST))["refunded"] is True
    assert (shop.books(LOST).charges, shop.books(LOST).kept, shop.books(LOST).cents_twice) == (2, 1, 0)
    assert shop.call("refund", order(LOST))["refunded"] is True
    assert "nothing was charged" in str(shop.call("refund", order(LOST))["error"])


def test_an_order_that_goes_well_is_paid_once_and_an_untouched_one_never(shop: Shop) -> None:
    price = shop.call("look_up_order", order(FINE))["price"]
    assert shop.call("charge_card", order(FINE))["charged"] == price
    assert (shop.books(FINE).kept, shop.books(FINE).timed_out) == (1, False)
    assert (shop.books("o-003").kept, shop.books("o-003").timed_out) == (0, False)


def test_the_same_seed_is_the_same_shop_and_another_seed_is_another(tmp_path: Path) -> None:
    def lost(name: str, seed: int) -> list[object]:
        shop = Shop(tmp_path / name, count=20, seed=seed)
        return [("error" in shop.call("charge_card", order(o)), shop.call("look_up_order", order(o)))
                for o in shop.orders]  # fmt: skip

    assert lost("a", 7) == lost("b", 7)
    assert lost("a2", 7) != lost("c", 8)


@pytest.mark.parametrize("order_id", ["o-999", "", "o-001'; DROP TABLE charges; --", "\ud800", None, 7, ["o-001"], {}])
@pytest.mark.parametrize("tool", [*TOOLS, "no_such_tool", ""])
def test_nothing_that_an_agent_says_raises_or_moves_money(tool: str, order_id: object, shop: Shop) -> None:
    assert shop.call(tool, {"order_id": order_id})["error"]
    assert shop.call(tool, {})["error"]
    assert sum(shop.books(known).charges for known in shop.orders) == 0


def test_every_tool_is_described_and_can_be_called(shop: Shop) -> None:
    names = [tool["function"]["name"] for tool in tool_list()]  # type: ignore[index]
    assert names == list(TOOLS)
    for name in names:
        assert "no such tool" not in str(shop.call(name, order(FINE)).get("error"))


def test_a_database_that_is_there_is_left_alone_and_a_broken_one_is_a_store_error(tmp_path: Path) -> None:
    file = tmp_path / "shop.db"
    shop = Shop(file, count=1, seed=7)
    with pytest.raises(FileExistsError):
        Shop(file, count=1, seed=7)
    assert shop.books("o-001").charges == 0
    file.write_bytes(b"no database at all" * 100)
    with pytest.raises(StoreError, match=r"shop\.db"):
        shop.books("o-001")


def test_money_is_written_as_people_write_it() -> None:
    assert [money(0), money(5), money(123_456)] == ["0.00 EUR", "0.05 EUR", "1,234.56 EUR"]
