from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import make_plan, make_store, page, upsert
from trainer.domain import Case, Rubric
from trainer.gate.leaks import find_leaks, new_lessons
from xpstore.commit import commit
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from xpstore.location import Location

REQUEST = (
    "Hello, Cleo Keller here. I'd like to call off order {}, and have store credit for what I have paid."
)


def case(name: str, order: str, who: str = "Cleo Keller", total: int = 255) -> Case:
    world = {"orders": [{"order_id": order, "total": total, "placed_at": "2025-04-16"}], "name": who}
    return Case(name=name, input={"request": REQUEST.format(order), "world": world}, rubric=Rubric(name="r"))


SUITES = {
    "train": [case("train-01", "O1111", "Uwe Engel", 300)],
    "gate": [case("gate-01", "O9540"), case("gate-02", "O7777", "Rosa Jansen", 411)],
    "test": [case("test-01", "O5555", "Ada Lund", 512)],
}


@pytest.fixture(scope="module")
def loc(tmp_path_factory: pytest.TempPathFactory) -> Location:
    found = make_store(tmp_path_factory.mktemp("leaks") / "s")
    commit(found, [make_plan(found, upsert("a", page("a", "Orders of O3333 are old.")))], "main")
    return found


def leaks_of(loc: Location, *lessons: str, name: str = "b"):
    branch = f"train/{content_id(lessons)}"
    commit(loc, [make_plan(loc, upsert(name, page(name, *lessons)), branch=branch)], branch)
    return find_leaks(loc, loc.repo.resolve(branch), loc.repo.resolve("main"), SUITES)


@pytest.mark.parametrize(
    ("lesson", "kind", "suite"),
    [
        ("Cancel order O9540 at once.", "the id 'o9540' of gate", "gate"),
        ("When the customer is Rosa Jansen, say no.", "the name 'rosa jansen' of gate", "gate"),
        ("See test-01 for the right answer.", "the id 'test-01' of test", "test"),
        ("Write `o5555` into the record.", "the id 'o5555' of test", "test"),
    ],
)
def test_ids_and_names_of_what_decides_are_blatant(loc, lesson, kind, suite):
    (found,) = [leak for leak in leaks_of(loc, lesson) if leak.is_blatant]
    assert (found.page, found.suite) == ("b", suite)
    assert kind in found.sentence
    assert lesson in found.sentence


def test_whole_phrases_that_only_the_gate_has_are_blatant(loc):
    suites = {"gate": SUITES["gate"]}
    branch = "train/phrases"
    text = "If they want to call off the order, and have store credit for what I have paid, do it."
    commit(loc, [make_plan(loc, upsert("c", page("c", text)), branch=branch)], branch)
    new, old = loc.repo.resolve(branch), loc.repo.resolve("main")
    (found,) = [leak for leak in find_leaks(loc, new, old, suites) if leak.is_blatant][:1]
    assert found.kind == "the words"
    assert find_leaks(loc, new, old, SUITES) == ()  # training cases say so, too


def test_amounts_and_dates_may_be_a_coincidence(loc):
    found = leaks_of(loc, "Orders of more than 411 need a manager.", "Before 2025-04-17 all was well.")
    assert [(leak.mark, leak.is_blatant, leak.case) for leak in found] == [("411", False, "gate-02")]


@pytest.mark.parametrize(
    "lesson",
    [
        "Call `get_order` before you call `cancel_order`.",
        "Orders such as O1111 can be cancelled, says Uwe Engel.",  # training data is for teaching
        "What O3333 was, is known.",  # a page said so before
        "Never for more than 99 euros, in 12 of 40 cases.",
        "Look before you leap.\n  *Support: 33 rollouts in 12 cases, such as O9540.*",  # figures
    ],
)
def test_what_a_lesson_may_say(loc, lesson):
    assert leaks_of(loc, lesson) == ()


def test_what_many_cases_share_is_vocabulary(loc):
    many = [case(f"gate-{n:02}", "SKU-4711", who=f"Kim N{n}") for n in range(10)]
    branch = "train/vocabulary"
    commit(loc, [make_plan(loc, upsert("d", page("d", "SKU-4711 is out of stock.")), branch=branch)], branch)
    new, old = loc.repo.resolve(branch), loc.repo.resolve("main")
    assert find_leaks(loc, new, old, {"gate": many}) == ()
    assert [leak.mark for leak in find_leaks(loc, new, old, {"gate": many[:2]})] == ["sku-4711"]


def test_only_new_lessons_are_looked_at_wherever_they_stand(loc):
    branch = "train/moved"
    commit(loc, [make_plan(loc, upsert("f", page("f", "Said before.")))], "main")
    items = [
        upsert("e", page("e", "Said before.", "A new one.")),
        upsert("f", page("f", "Another."), page("f", "Said before.")),
    ]
    commit(loc, [make_plan(loc, *items)], branch)
    new, old = loc.repo.resolve(branch), loc.repo.resolve("main")
    assert new_lessons(loc, new, old) == [
        ("e", "- A new one."),
        ("e", "When e is asked for."),
        ("f", "- Another."),
    ]
    assert new_lessons(loc, old, new) == []
