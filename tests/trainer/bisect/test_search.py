from __future__ import annotations

import asyncio

import pytest

from tests.builders import git
from trainer.bisect.search import HOPELESS, TRIES, Question, prepare
from trainer.evaluate import Measurement, measure
from trainer.store_door import StoreDoor
from trainer.suite import load_suites
from xpstore.errors import UsageError
from xpstore.location import Location


def evaluate(where, ref, trials):
    """Measure the gate's cases at a ref, as `xp eval` does."""
    loc = Location.find(where)
    found = prepare(loc, Question("good", "main"))
    what = Measurement(found.what.world, "gate", load_suites(loc, "main", "gate")["gate"], trials, 5)

    async def run() -> None:
        async with StoreDoor(where) as door:
            await measure(door, ref, what)

    asyncio.run(run())


def test_scores_on_record_are_taken_up_whatever_suite_they_are_of(broken):
    assert prepare(broken, Question("good", "main")).reused == 0
    evaluate(broken.repo.place, "good", 3)
    evaluate(broken.repo.place, "main", 2)
    found = prepare(broken, Question("good", "main"))
    assert found.reused == 4 * 5
    assert [counts[0] for counts in found.board.cases] == [(0, 3, 0)] * 4
    assert prepare(broken, Question("good", "main", cases=("c", "a"))).reused == 2 * 5


def test_scores_of_another_world_are_not(broken):
    where = broken.repo.place
    evaluate(where, "good", 2)
    config = where / "xp.toml"
    config.write_text(config.read_text().replace("luck = 0.1", "luck = 0.2"))
    git(where, "commit", "-qam", "Be luckier")
    assert prepare(Location.find(where), Question("good", "main")).reused == 0


def test_who_changed_a_page_that_was_read_is_likelier(broken):
    evaluate(broken.repo.place, "good", 2)
    evaluate(broken.repo.place, "main", 2)
    found = prepare(broken, Question("good", "main"))
    ids = {case.name: case.id for case in found.cases}
    found.read[ids["a"]] = frozenset({"page-2"})  # it only passes: no vote
    assert len(set(found.board.prior)) == 1
    found.read[ids["c"]] = frozenset({"page-3"})
    assert found.board.prior[2] == max(found.board.prior) > 0.5


def test_what_fails_to_be_scored_is_closed_after_a_while(broken):
    found = prepare(broken, Question("good", "main"))
    found.failures[2, 0] = TRIES
    found.failures[3, 0] = TRIES - 1
    found.errors = {2: "down", 3: "down"}
    assert found.closed == {(2, 0)}
    assert found.skipped == {}
    found.failures[2, 1] = HOPELESS - TRIES
    assert found.closed == {(2, case) for case in range(4)}
    assert found.skipped == {2: "down"}


def test_what_is_not_there_is_wrong_use(broken):
    for question in (Question("good", "main", suite="moon"), Question("good", "main", cases=("z",))):
        with pytest.raises(UsageError):
            prepare(broken, question)
