from __future__ import annotations

import asyncio

import pytest

from tests.builders import git
from tests.trainer.bisect.broken import make_broken_store
from tests.trainer.doubles import ScriptedExecutor
from trainer.bisect.choose import Answer
from trainer.bisect.outcome import outcome
from trainer.bisect.run import search
from trainer.bisect.search import Question, prepare
from trainer.bisect.suspects import between
from trainer.store_door import StoreDoor
from xpstore.errors import RefusedError
from xpstore.location import Location
from xpstore.revert import revert

ASKED = Question("good", "main")


class Flaky(ScriptedExecutor):
    """Cannot run under the experiences that have, or have not, some page."""

    def __init__(self, fails):
        super().__init__(0.1)
        self._fails = fails

    async def execute(self, cases, policy_set, context):
        if self._fails(policy_set):
            raise OSError("no licence for this one")
        return await super().execute(cases, policy_set, context)


def run(loc, question=ASKED, *, executor=None, stop=None):
    """Return kind, answer, search and reports of a whole search."""
    found = prepare(loc, question)
    found.executor = executor or found.executor
    reports = []

    def say(report):
        reports.append(report)
        if stop and len(reports) == stop:
            raise KeyboardInterrupt

    async def whole():
        async with StoreDoor(loc.repo.place) as door:
            return await search(door, found, say)

    return *asyncio.run(whole()), found, reports


def test_the_culprit_is_found_and_confirmed(broken):
    kind, answer, found, reports = run(broken)
    assert (kind, answer.first, answer.last) == ("found", 5, 5)
    assert {r.step.aim for r in reports} == {"ends", "search", "confirm"}
    assert found.rollouts == sum(map(sum, (r.n for r in reports))) < 120
    confirmed = [r for r in reports if r.step.aim == "confirm"]
    assert all(r.step.states == (4, 5) for r in confirmed[-1:])


def test_the_same_question_again_costs_nothing(broken):
    _, answer, first, _ = run(broken)
    kind, again, found, reports = run(broken)
    assert (kind, again, found.rollouts, reports) == ("found", answer, 0, [])
    assert found.reused == first.rollouts
    assert found.board == first.board


def test_a_search_that_was_stopped_goes_on_as_if_it_had_not_been(broken):
    with pytest.raises(KeyboardInterrupt):
        run(broken, stop=3)
    kind, answer, rest, _ = run(broken)
    other = Location.find(broken.repo.place)
    assert (kind, answer.first) == ("found", 5)
    git(other.repo.place, "update-ref", "-d", "refs/heads/xp/evidence")
    _, _, whole, _ = run(other)
    assert rest.rollouts + rest.reused == whole.rollouts


def test_what_cannot_be_evaluated_is_passed_over(broken):
    kind, answer, found, _ = run(
        broken, executor=Flaky(lambda p: p.get("page-3") is not None and p.get("page-4") is None)
    )
    assert (kind, answer.first, answer.last) == ("found", 5, 5)
    assert set(found.skipped.values()) <= {"OSError: no licence for this one"}
    assert set(found.skipped) <= {3}


def test_neighbours_of_what_cannot_be_evaluated_are_named_together(broken):
    kind, answer, found, _ = run(
        broken, executor=Flaky(lambda p: p.get("page-4") is not None and p.get("page-5") is None)
    )
    assert (kind, answer.first, answer.last) == ("found", 4, 5)
    assert found.skipped == {4: "OSError: no licence for this one"}


def test_an_end_that_cannot_be_evaluated_is_an_error(broken):
    with pytest.raises(RefusedError, match="main cannot be evaluated: OSError: no licence"):
        run(broken, executor=Flaky(lambda p: p.get("page-8") is not None))


@pytest.mark.usefixtures("broken")
def test_a_case_that_always_crashes_hides_nothing(tmp_path):
    loc = make_broken_store(tmp_path / "crashing", 3, cases=("crash", "c", "a"))
    kind, answer, found, reports = run(loc)
    assert (kind, answer.first) == ("found", 3)
    assert found.skipped == {}
    assert sum(len(r.failures) for r in reports) <= 6


def test_nobody_is_named_where_nothing_fell(broken):
    kind, _, _, _ = run(broken, Question("good", "main", cases=("a", "b", "d")))
    assert kind == "same"


def test_the_rollouts_are_bounded(broken):
    kind, answer, found, _ = run(broken, Question("good", "main", max_rollouts=25))
    assert (kind, found.rollouts <= 25) == ("spent", True)
    assert 1 <= answer.first <= answer.last <= 8
    kind, answer, _, _ = run(broken)
    assert (kind, answer.first) == ("found", 5)


def test_an_update_that_is_undone_already_is_not_convicted_whatever_was_measured_before(broken):
    assert run(broken)[0] == "found"  # and its scores are on record
    plan = between(broken, "good", "main").suspect(5).plan_ids[0]
    revert(broken, plan, "main")
    kind, _, found, _ = run(broken)
    assert kind == "same"
    assert outcome(found, "same", Answer("same")).culprit == ()
