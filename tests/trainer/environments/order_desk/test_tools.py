from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from trainer.environments.order_desk.cases import suites
from trainer.environments.order_desk.database import Shop
from trainer.environments.order_desk.tools import run

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue


@pytest.fixture
def given() -> dict:
    return suites(1, train=2, gate=0, test=0)["train"][1].input  # an exchange


@pytest.fixture
def shop(given: dict) -> Iterator[Shop]:
    with Shop(given["world"]) as made:
        yield made


def test_a_row_is_answered_as_json(shop: Shop, given: dict) -> None:
    order = given["world"]["orders"][0]
    found = json.loads(run(shop, "get_order", {"order_id": order["order_id"]}).text)
    assert order.items() <= found.items()
    assert found["items"] == [i["item_id"] for i in given["world"]["items"]]
    listed = json.loads(run(shop, "list_orders", {"customer_id": order["customer_id"]}).text)
    assert listed["orders"] == [order["order_id"]]


def test_a_change_is_made_once(shop: Shop, given: dict) -> None:
    wish = given["wish"]
    call: dict[str, JsonValue] = {k: wish[k] for k in ("order_id", "item_id")} | {"return_by": wish["how"]}
    assert not run(shop, "exchange_item", call).refused
    assert shop.changes() == {("items", wish["item_id"], "returned_by"): wish["how"]}
    assert run(shop, "exchange_item", call).text == "Error: that was done before"


def test_a_refund_changes_the_payment_of_the_order(shop: Shop, given: dict) -> None:
    order = given["world"]["orders"][0]
    run(shop, "refund_order", {"order_id": order["order_id"], "method": "store_credit"})
    assert shop.changes() == {("payments", order["payment_id"], "refunded_by"): "store_credit"}


@pytest.mark.parametrize(
    ("tool", "arguments", "why"),
    [
        ("fly", {}, "there is no such tool"),
        ("get_order", ["O1"], "arguments must be an object of texts"),
        ("get_order", {"order_id": 7}, "arguments must be an object of texts"),
        ("get_order", {}, "argument order_id is missing"),
        ("get_order", {"order_id": "O1", "x": "y"}, "there is no argument x"),
        ("get_order", {"order_id": "O1"}, "order_id O1 not found"),
        ("redirect_order", {"order_id": "O1", "place": "moon"}, "argument place is none of its options"),
    ],
)
def test_a_bad_call_is_refused_and_says_why(shop: Shop, tool: str, arguments: JsonValue, why: str) -> None:
    answer = run(shop, tool, arguments)
    assert (answer.text, answer.refused) == (f"Error: {why}", True)
    assert shop.changes() == {}


def test_checks_and_records_answer_in_words(shop: Shop, given: dict) -> None:
    number = given["wish"]["order_id"]
    assert run(shop, "check_fraud", {"order_id": number}).text == "Nothing is known."
    assert run(shop, "add_note", {"order_id": number, "text": "x"}).text == "Done."
    assert [r["kind"] for r in shop.where("records", "order_id", number)] == ["note"]
