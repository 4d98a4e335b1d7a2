from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from trainer.environments.order_desk.cases import suites
from trainer.environments.order_desk.database import KEYS, STATE, Shop, columns

if TYPE_CHECKING:
    from collections.abc import Iterator


@pytest.fixture
def world() -> dict[str, list[dict[str, str | int]]]:
    (case,) = suites(1, train=1, gate=0, test=0)["train"]
    return case.input["world"]  # type: ignore[return-value]


@pytest.fixture
def shop(world: dict[str, list[dict[str, str | int]]]) -> Iterator[Shop]:
    with Shop(world) as made:
        yield made


def test_the_rows_of_the_world_are_in_it(shop: Shop, world: dict[str, list[dict[str, str | int]]]) -> None:
    for table, key in KEYS.items():
        for row in world[table]:
            assert row.items() <= (shop.find(table, str(row[key])) or {}).items()
    assert shop.find("orders", "O0") is None
    assert shop.changes() == {}


def test_changes_are_told(shop: Shop, world: dict[str, list[dict[str, str | int]]]) -> None:
    number = str(world["orders"][0]["order_id"])
    shop.change("orders", number, "place", "home")
    assert shop.changes() == {("orders", number, "place"): "home"}


def test_records_belong_to_an_order(shop: Shop) -> None:
    shop.record("note", "O1", "hello")
    assert shop.where("records", "order_id", "O1") == [{"kind": "note", "order_id": "O1", "text": "hello"}]
    assert shop.where("records", "order_id", "O2") == []


def test_values_are_data_and_never_sql(shop: Shop) -> None:
    shop.record("note", "O1'; DROP TABLE records; --", "x")
    assert len(shop.where("records", "order_id", "O1'; DROP TABLE records; --")) == 1


def test_names_of_a_row_are_never_sql(world: dict[str, list[dict[str, str | int]]]) -> None:
    row = {**world["orders"][0], "total) SELECT 1; DROP TABLE orders; --": 1}
    with Shop({"orders": [row]}) as made:
        (kept,) = made.where("orders", "order_id", str(row["order_id"]))
    assert kept.items() >= world["orders"][0].items()
    assert not kept.keys() - {*columns("orders"), *STATE["orders"]}
