from __future__ import annotations

import asyncio

import pytest

from tests.trainer.doubles import NoteTaker, rollout
from trainer.components.trajectory_analyzer import TrajectoryRolloutAnalyzer
from trainer.context import TrajectoryAnalyzerContext
from trainer.inbox import GitInbox, NoInbox
from trainer.journal import GitJournal
from trainer.share import share_of
from trainer.store_door import StoreDoor
from xpstore import alive, evidence, inbox, layout
from xpstore.errors import NotFoundError
from xpstore.forget import forget
from xpstore.init import init
from xpstore.location import Location

LEARNER, BRANCH = "double/1", "train/live"


@pytest.fixture
def door(tmp_path):
    init(tmp_path / "s")
    door = StoreDoor(tmp_path / "s")
    yield door
    door.close()


@pytest.fixture
def loc(tmp_path, door):
    del door  # the store is made with it
    return Location.find(tmp_path / "s")


def admit(box, *rollouts, learner=LEARNER, again=False):
    return asyncio.run(box.admit(rollouts, learner, again=again))


def analysed(*rollouts):
    analyzer = TrajectoryRolloutAnalyzer(NoteTaker())

    async def main():
        return [await analyzer.analyze(r, TrajectoryAnalyzerContext()) for r in rollouts]

    return asyncio.run(main())


def note(door, *analyses, learner=LEARNER):
    asyncio.run(GitJournal(door, BRANCH).analysed(analyses, learner))


def end(loc, *rollouts, event="nothing"):
    files = [evidence.ledger_file(r.id, {"event": event, "learner": LEARNER, "why": "x"}) for r in rollouts]
    evidence.write(loc, files, "By hand")


def test_what_is_admitted_is_on_record_with_branch_and_token(door, loc):
    box = GitInbox(door, BRANCH)
    received = admit(box, rollout("a"), rollout("a"), rollout("b"))
    assert [r.case.name for r in received.fresh] == ["a", "b"]
    for entry in inbox.entries(loc):
        assert (entry.branches, entry.holder) == ((BRANCH,), "alive")
    assert evidence.read(loc, layout.case_path(rollout("a").case.id))
    tip = evidence.tip(loc)
    assert len(admit(box, rollout("a")).fresh) == 1  # not learned yet
    assert evidence.tip(loc) == tip
    asyncio.run(box.close())


def test_what_is_done_forgotten_or_dropped_is_not_admitted(door, loc):
    box = GitInbox(door, BRANCH)
    done, gone, dropped = rollout("done"), rollout("gone"), rollout("dropped")
    admit(box, done, gone, dropped)
    end(loc, done)
    end(loc, dropped, event="dropped")
    forget(loc, gone.id)
    received = admit(box, done, gone, dropped, rollout("new"))
    assert received.already == (done.id, dropped.id)
    assert [f.rollout for f in received.refused] == [gone.id]
    assert [r.case.name for r in received.fresh] == ["new"]
    assert len(admit(box, done, learner="other/1").fresh) == 1
    assert len(admit(box, done, again=True).fresh) == 1
    asyncio.run(box.close())


def test_what_a_living_trainer_is_at_is_left_to_it(door, loc):
    first, second = GitInbox(door, BRANCH), GitInbox(door, "train/other")
    admit(first, rollout("a"), rollout("b"))
    end(loc, rollout("b"))
    assert admit(second, rollout("a")).already == (rollout("a").id,)
    assert len(admit(second, rollout("b"), learner="other/1").fresh) == 1  # nobody is at it
    asyncio.run(first.close())
    assert len(admit(second, rollout("a")).fresh) == 1
    asyncio.run(second.close())


def test_the_next_one_takes_up_what_a_dead_one_left(door, loc):
    first, second = GitInbox(door, BRANCH), GitInbox(door, BRANCH)
    one, two = rollout("a"), rollout("b")
    admit(first, one, two)
    assert asyncio.run(second.open()) == []
    assert asyncio.run(first.open()) == sorted([one.id, two.id])  # its own: it says what it is still at
    end(loc, two)
    asyncio.run(first.close())
    assert asyncio.run(second.open()) == [one.id]
    assert asyncio.run(GitInbox(door, "main").open()) == []
    assert len(alive.dead(loc.repo.common_dir)) == 1
    end(loc, one)
    assert asyncio.run(second.open()) == []
    assert alive.dead(loc.repo.common_dir) == frozenset()


def test_who_leaves_nothing_behind_leaves_no_file(door, loc):
    box = GitInbox(door, BRANCH)
    admit(box, rollout("a"))
    end(loc, rollout("a"))
    asyncio.run(box.close())
    asyncio.run(box.close())
    assert list((loc.repo.common_dir / alive.FOLDER).iterdir()) == []


def test_what_trainers_of_other_clones_received_is_theirs(door, loc):
    mark = {"event": "received", "case": "c", inbox.BRANCH: BRANCH, inbox.TOKEN: "ab" * 10}
    evidence.write(loc, [evidence.ledger_file(rollout("a").id, mark)], "Synced")
    assert asyncio.run(GitInbox(door, BRANCH).open()) == []
    assert [e.holder for e in inbox.entries(loc)] == ["elsewhere"]


def test_an_analysis_on_record_comes_along(door, loc):
    box = GitInbox(door, BRANCH)
    one, two = rollout("a"), rollout("b")
    admit(box, one, two)
    (done,) = analysed(one)
    note(door, done)
    assert asyncio.run(box.take(one.id, LEARNER)) == (one, done.model_copy(update={"metadata": {}}))
    assert asyncio.run(box.take(two.id, LEARNER)) == (two, None)
    assert asyncio.run(box.take(one.id, "other/1")) == (one, None)
    broken = {"event": "analysed", "learner": "broken/1", "trajectories": ["aa11"]}
    files = [
        evidence.ledger_file(one.id, broken),
        evidence.EvidenceFile(layout.trajectory_path("aa11"), b"no note"),
    ]
    evidence.write(loc, files, "By hand")
    assert asyncio.run(box.take(one.id, "broken/1")) == (one, None)
    with pytest.raises(NotFoundError):
        asyncio.run(box.take("ffff", LEARNER))
    asyncio.run(box.close())


def test_each_scope_sees_what_it_compares(door, monkeypatch):
    rollouts = [rollout("a", 0), rollout("a", 1), rollout("b", 0), rollout("b", 1)]
    box = GitInbox(door, BRANCH)
    admit(box, *rollouts)
    done = analysed(*rollouts)
    note(door, *done)
    note(door, done[3], learner="other/1")

    def earlier(scope, *fresh):
        found = asyncio.run(box.earlier(fresh, LEARNER, scope))
        return {a.rollout.id for a in found.earlier}, found.left

    ids = [r.id for r in rollouts]
    assert earlier("rollout", done[0]) == (set(), ())
    assert earlier("case", done[0]) == ({ids[1]}, ())
    assert earlier("batch", done[0]) == (set(ids[1:]), ())
    assert asyncio.run(box.noted(LEARNER)) == set(ids)
    assert asyncio.run(box.noted("other/1")) == {ids[3]}
    monkeypatch.setattr("trainer.inbox.share_of", lambda sizes: share_of(sizes, rollouts=1))
    last = max(done, key=lambda a: a.rollout.id)
    assert earlier("batch", last) == ({min(ids)}, (last.rollout.id,))
    asyncio.run(box.close())


def test_without_a_store_everything_is_new_and_nothing_is_left():
    box = NoInbox()
    assert len(admit(box, rollout("a"), rollout("a")).fresh) == 1
    assert asyncio.run(box.open()) == []
    assert asyncio.run(box.noted(LEARNER)) == frozenset()
    assert asyncio.run(box.earlier([], LEARNER, "batch")).earlier == ()
    with pytest.raises(NotFoundError):
        asyncio.run(box.take("aa", LEARNER))
    asyncio.run(box.close())
