from __future__ import annotations

import asyncio

import pytest

from tests import virtual_clock
from trainer.asking.slots import AT_FIRST, MOST_PATIENCE, Slots

LIMIT = 60.0


def under_way(slots: Slots, count: int, work, *, answers: int = 0, every: float = 0.0) -> None:
    """Call `work` with the slots of so many requests that are under way, after so many other answers."""

    async def run() -> None:
        places = [slots.one() for _ in range(count)]
        taken = [await place.__aenter__() for place in places]
        for _ in range(answers):
            await asyncio.sleep(every)
            slots.answered()
        work(taken)
        for place in places:
            await place.__aexit__(None, None, None)

    virtual_clock.run(run())


def nothing(_) -> None:
    pass


@pytest.mark.parametrize("most", [1, 5, AT_FIRST, 16])
def test_it_begins_with_a_few_and_climbs_with_every_answer(most):
    slots = Slots(most, LIMIT)
    assert slots.limit == min(most, AT_FIRST)
    under_way(slots, 1, nothing, answers=20, every=0.1)
    assert (slots.limit, slots.fewest) == (most, None)


@pytest.mark.parametrize(("every", "limit"), [(6.0, 8), (5.0, 9), (3.0, 15), (2.0, 16)])
def test_it_climbs_no_higher_than_a_line_would_be_answered_in_time(every, limit):
    slots = Slots(16, LIMIT)
    under_way(slots, 1, nothing, answers=40, every=every)
    assert slots.limit == limit


def test_those_that_went_out_together_lower_it_once_and_never_below_one():
    slots = Slots(8, LIMIT)
    for fewest in (4, 2, 1):
        under_way(slots, slots.limit, lambda taken: [slots.timed_out(slot) for slot in taken])
        assert (slots.limit, slots.fewest) == (fewest, fewest)
    under_way(slots, 1, lambda taken: slots.timed_out(taken[0]))
    assert (slots.limit, slots.halvings) == (1, 3)


@pytest.mark.parametrize("era", range(1, 8))
def test_it_climbs_again_after_ever_more_answers(era):
    slots = Slots(2, LIMIT)
    for _ in range(era):
        slots._limit = 2
        under_way(slots, 2, lambda taken: slots.turned_away(taken[0]))
    wanted = min(2**era, MOST_PATIENCE)
    under_way(slots, 1, nothing, answers=wanted - 1, every=0.1)
    assert slots.limit == 1
    under_way(slots, 1, nothing, answers=1)
    assert slots.limit == 2


@pytest.mark.parametrize(("answers", "is_crowded"), [(0, True), (7, True), (8, False), (40, False)])
def test_who_is_late_though_its_turn_had_come_is_late_by_itself(answers, is_crowded):
    slots, said = Slots(16, LIMIT), []

    def work(taken) -> None:
        said.extend((slots.timed_out(taken[0]), slots.turned_away(taken[0])))

    under_way(slots, 8, work, answers=answers, every=LIMIT / max(answers, 1))
    assert said == [is_crowded, True]


def test_few_under_way_are_what_is_halved():
    slots = Slots(16, LIMIT)
    under_way(slots, 3, lambda taken: slots.timed_out(taken[0]))
    assert slots.limit == 1
