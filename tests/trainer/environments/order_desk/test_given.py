from __future__ import annotations

import asyncio
import copy
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.context import ExecutionContext
from trainer.demo import sample
from trainer.domain import Case
from trainer.environments.order_desk import make, suites
from trainer.environments.order_desk.given import MAX_TEXT, MOST, read_given
from trainer.errors import ComponentError
from xpstore.experience import ExperienceSet

if TYPE_CHECKING:
    from pydantic import JsonValue

    Path = tuple[str | int, ...]

CASES = {str(c.input["wish"]["change"]): c for c in suites(1, train=6, gate=0, test=0)["train"]}  # type: ignore[index, call-overload]
CASE = CASES["exchange_item"]
ORDER = ("world", "orders", 0)
HOSTILE = "order_id) WITH RECURSIVE n(x) AS (SELECT 1 UNION ALL SELECT x FROM n) SELECT x FROM n --"
GONE = object()


def places(value: JsonValue, here: Path = ()) -> list[Path]:
    """Return the paths of all that is in a JSON value."""
    items = value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    return [p for key, inner in items for p in ((*here, key), *places(inner, (*here, key)))]  # type: ignore[misc]


def changed(path: Path, value: object, case: Case = CASE) -> Case:
    """Return the case with another value at a path of its input, or with nothing there."""
    data = copy.deepcopy(case.input)
    inner: dict = data  # type: ignore[type-arg]
    for key in path[:-1]:
        inner = inner[key]
    if value is GONE:
        del inner[path[-1]]
    else:
        inner[path[-1]] = value
    return Case(name="odd", rubric=case.rubric, input=data)


def execute(case: Case) -> None:
    context = ExecutionContext(policy_snapshot_id="abc", seed=1)
    (done,) = asyncio.run(make({}).executor().execute([case], ExperienceSet(root_uri="experiences"), context))
    assert done.evaluation is not None


def refused(case: Case) -> str:
    with pytest.raises(ComponentError, match=r"^case 'odd' is none of the order desk: ") as caught:
        execute(case)
    assert "\n" not in caught.value.message
    assert caught.value.hint
    return caught.value.message.partition("desk: ")[2]


def test_cases_of_seeds_and_of_the_sample_are_read_as_they_are() -> None:
    files = sorted((sample() / "cases").glob("*.jsonl"))
    lines = [line for f in files for line in f.read_text(encoding="utf-8").splitlines()]
    cases = [c for found in suites(3).values() for c in found] + [Case.model_validate_json(n) for n in lines]
    assert len(cases) > 200
    for case in cases:
        read = read_given(case)
        assert {
            "request": read.request,
            "now": read.now,
            "wish": read.wish,
            "world": read.world,
        } == case.input


@pytest.mark.parametrize("path", places(CASE.input), ids=str)
def test_nothing_may_be_missing(path: Path) -> None:
    if path == ("wish", "how") or (path[-1] != 0 and isinstance(path[-1], int)):
        execute(changed(path, GONE))
    else:
        assert refused(changed(path, GONE))


@pytest.mark.parametrize("value", [None, True, 1.5, [], {}, "", "\x1b[2J\n", -1, MOST + 1, 2**80], ids=repr)
@pytest.mark.parametrize("path", places(CASE.input), ids=str)
def test_nothing_may_be_of_another_kind(path: Path, value: JsonValue) -> None:
    if path == ("request",) and value == "\x1b[2J\n":
        execute(changed(path, value))  # what a customer writes is any text
    else:
        assert str(path[-1] if isinstance(path[-1], str) else path[-2]) in refused(changed(path, value))


@pytest.mark.parametrize("path", [(), *(p for p in places(CASE.input) if isinstance(p[-1], int))], ids=str)
@pytest.mark.parametrize("key", [HOSTILE, "settlement", "rowid", ""])
def test_no_other_names_are_taken(path: Path, key: str) -> None:
    for place in ((*path, key), ("world", key), ("wish", key)):
        assert "must not have " in refused(changed(place, "x"))


@pytest.mark.parametrize(
    ("path", "value", "why"),
    [
        (("now",), "20250601", "now must be a day such as 2025-06-01, not '20250601'"),
        (("now",), "tomorrow", "now must be a day"),
        (("wish", "change"), "fly", "wish.change must be one of cancel_order, "),
        (("wish", "change"), "cancel_order", "wish must not have 'item_id'"),
        (("wish", "order_id"), "O1", "wish.order_id 'O1' is not in orders"),
        (("wish", "item_id"), "I1", "wish.item_id 'I1' is no item of order "),
        (("wish", "how"), "home", "wish.how must be one of post, courier, own_hand, not 'home'"),
        ((*ORDER, "placed_at"), "2025-02-30", "world.orders[0].placed_at must be a day"),
        (
            (*ORDER, "placed_at"),
            "2025-06-02",
            "placed_at must not be after now, 2025-06-01, and is 2025-06-02",
        ),
        ((*ORDER, "total"), "12", f"world.orders[0].total must be a whole number from 0 to {MOST}, not '12'"),
        ((*ORDER, "gift"), "perhaps", "world.orders[0].gift must be one of yes, no, not 'perhaps'"),
        ((*ORDER, "order_id"), "a b", "order_id must be an id of letters and digits, not 'a b'"),
        ((*ORDER, "customer_id"), "C1", "world.orders[0].customer_id 'C1' is not in customers"),
        ((*ORDER, "payment_id"), "P1", "world.orders[0].payment_id 'P1' is not in payments"),
        (("world", "items", 0, "order_id"), "O1", "world.items[0].order_id 'O1' is not in orders"),
        (("world", "items", 0, "title"), "x" * (MAX_TEXT + 1), "a line of at most 200 characters, not 'xxx"),
        (
            ("world", "orders"),
            [CASE.input["world"]["orders"][0]] * 2,
            "world.orders has 2 rows with order_id",
        ),  # type: ignore[index, call-overload]
    ],
)
def test_it_says_what_is_wrong(path: Path, value: JsonValue, why: str) -> None:
    assert why in refused(changed(path, value))


@pytest.mark.parametrize("tool", sorted(CASES))
def test_every_change_names_its_keys(tool: str) -> None:
    assert refused(changed(("wish", "order_id"), GONE, CASES[tool])) == "wish has no order_id"


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=5,
)


@settings(max_examples=100, deadline=None)
@given(path=st.sampled_from(places(CASE.input)), name=st.text(), value=JSON | st.just(GONE))
def test_whatever_a_case_holds_it_runs_or_is_refused_by_name(path: Path, name: str, value: object) -> None:
    for case in (changed(path, value), changed((*ORDER, name), "x")):
        try:
            execute(case)
        except ComponentError as error:
            assert error.message.startswith("case 'odd' is none of the order desk: ")  # noqa: PT017  # or none
