from __future__ import annotations

import pytest

from trainer.offline.objects import ObjectIndex, Ref, Term, call_features, differs, is_id, moment

ORDER = {
    "order_id": "O1",
    "customer_id": "C1",
    "status": "packed",
    "created_at": "2025-05-22T12:00:00",
    "items": [{"item_id": "I1", "sku": "x"}, {"item_id": "I2", "sku": "y"}],
    "payments": [{"payment_id": "P1", "amount": 5}],
}


def index() -> ObjectIndex:
    made = ObjectIndex("The time is 2025-06-01 12:00:00.")
    made.add({"order_id": "O1"}, ORDER)
    made.add({"customer_id": "C1"}, {"name": "Ann", "tier": "gold", "cards": {"P1": {"source": "gift"}}})
    return made


def test_what_an_argument_points_to_is_read_with_its_kinds() -> None:
    found = call_features({"order_id": "O1"}, index())
    assert found[Term("value", Ref("status", ("order_id",)))] == ("packed",)
    assert found[Term("count", Ref("items", ("order_id",)))] == (2.0,)
    assert found[Term("age", Ref("created_at", ("order_id",)))] == (10.0,)
    assert found[Term("value", Ref("tier", ("order_id", "customer_id")))] == ("gold",)


def test_an_entry_of_a_mapping_is_found_by_its_key() -> None:
    found = call_features({"payment_id": "P1"}, index())
    assert found[Term("value", Ref("source", ("payment_id",)))] == ("gift",)


def test_changes_and_membership_are_told() -> None:
    found = call_features({"order_id": "O1", "status": "sent", "payment_id": "P1"}, index())
    assert found[Term("change", Ref("status", ("order_id",)))] == (True,)
    assert found[Term("among:payment_id", Ref("payments", ("order_id",)))] == (True,)


def test_the_last_answer_counts() -> None:
    made = index()
    made.add({"order_id": "O1"}, {**ORDER, "status": "cancelled"})
    assert call_features({"order_id": "O1"}, made)[Term("value", Ref("status", ("order_id",)))] == (
        "cancelled",
    )


def test_a_mention_does_not_hide_the_object() -> None:
    made = index()
    made.add({}, [{"order_id": "O1", "note": "x"}])
    assert made.find("order_id", "O1") == ORDER


def test_nothing_is_known_of_what_was_not_read() -> None:
    assert list(call_features({"order_id": "O9"}, index())) == [Term("value", Ref("order_id"))]


@pytest.mark.parametrize(
    ("new", "old", "differ"),
    [
        ([{"a": 1}], [{"a": 1, "price": 5}], False),
        ([{"a": 1}, {"a": 2}], [{"a": 2}, {"a": 1}], False),
        ([{"a": 1}], [{"a": 3}], True),
        ([1], [1, 2], True),
        ("x", "y", True),
    ],
)
def test_values_differ_in_what_both_state(new: object, old: object, differ: object) -> None:
    assert differs(new, old) is differ  # type: ignore[arg-type]


def test_ids_are_known_by_their_last_word() -> None:
    assert is_id("order_id")
    assert is_id("items.sku_code")
    assert is_id("orderId")
    assert not is_id("paid")


def test_moments() -> None:
    assert moment("2025-06-01") == moment("2025-06-01T00:00:00+00:00")
    assert moment("June") is None
    assert moment("2025-99-01") is None
