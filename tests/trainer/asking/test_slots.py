from __future__ import annotations

import asyncio

import pytest

from trainer.asking.slots import AT_FIRST, MOST_PATIENCE, SLOW, Slots


def under_way(slots: Slots, count: int, work) -> None:
    """Call `work` with the slots of so many requests that are under way."""

    async def run() -> None:
        places = [slots.one() for _ in range(count)]
        taken = [await place.__aenter__() for place in places]
        work(taken)
        for place in places:
            await place.__aexit__(None, None, None)

    asyncio.run(run())


@pytest.mark.parametrize("most", [1, 5, AT_FIRST, 16])
def test_it_begins_with_a_few_and_climbs_with_every_quick_answer(most):
    slots = Slots(most)
    assert slots.limit == min(most, AT_FIRST)
    for _ in range(20):
        slots.answered(quickly=True)
    assert (slots.limit, slots.fewest) == (most, None)


def test_those_that_went_out_together_lower_it_once_and_never_below_one():
    slots = Slots(8)
    for fewest in (4, 2, 1):
        under_way(slots, slots.limit, lambda taken: [slots.timed_out(slot) for slot in taken])
        assert (slots.limit, slots.fewest) == (fewest, fewest)
    under_way(slots, 1, lambda taken: slots.timed_out(taken[0]))
    assert (slots.limit, slots.halvings) == (1, 3)


def test_it_climbs_again_after_ever_more_answers():
    slots = Slots(8)
    wanted = []
    for _ in range(7):
        under_way(slots, slots.limit, lambda taken: slots.turned_away(taken[0]))
        slots._limit, answers = 2, 0
        while slots.limit == 2:
            slots.answered(quickly=True)
            answers += 1
        wanted.append(answers)
    assert wanted == [2 * min(2**era, MOST_PATIENCE) for era in range(1, 8)]
    assert slots.fewest == 1


def test_slow_answers_say_that_there_is_little_room():
    slots = Slots(8)
    under_way(slots, 8, lambda taken: slots.turned_away(taken[0]))
    for _ in range(4 * 2 * SLOW - 1):
        slots.answered(quickly=False)
    assert slots.limit == 4
    slots.answered(quickly=False)
    assert slots.limit == 5


@pytest.mark.parametrize(("quick", "slow", "is_crowded"), [(0, 0, True), (2, 2, True), (3, 2, False)])
def test_who_alone_is_late_is_late_by_itself(quick, slow, is_crowded):
    slots, said = Slots(8), []

    def work(taken) -> None:
        for _ in range(quick):
            slots.answered(quickly=True)
        for _ in range(slow):
            slots.answered(quickly=False)
        said.extend((slots.timed_out(taken[0]), slots.turned_away(taken[0])))

    under_way(slots, 2, work)
    assert said == [is_crowded, True]


def test_few_under_way_are_what_is_halved():
    slots = Slots(16)
    under_way(slots, 3, lambda taken: slots.timed_out(taken[0]))
    assert slots.limit == 1
