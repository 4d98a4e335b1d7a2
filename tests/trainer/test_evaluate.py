from __future__ import annotations

import asyncio

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from tests.trainer.doubles import ScriptedEnvironment, rollout
from trainer.environment import World
from trainer.evaluate import Measured, Measurement, measure
from trainer.store_door import StoreDoor
from trainer.trials import seed_of
from xpstore import evaluation, evaluation_notes
from xpstore.commit import commit
from xpstore.errors import NotFoundError


@pytest.fixture
def loc(tmp_path):
    return make_store(tmp_path / "s")


class Lab:
    """Measures on a store and counts what had to be run."""

    def __init__(self, loc, luck=0.5):
        self.loc = loc
        self.environment = ScriptedEnvironment(luck)
        self.executor = self.environment.executor()

    def __call__(self, *names, ref="main", **fields) -> Measured:
        given = {"suite": "test", "trials": 2, "seed": 1, "time_limit": 1, **fields}
        what = Measurement(
            world=World(self.environment, "scripted"), cases=[rollout(n).case for n in names], **given
        )

        async def run():
            async with StoreDoor(self.loc.repo.place) as door:
                return await measure(door, ref, what)

        self.executor.seen.clear()
        return asyncio.run(run())

    @property
    def ran(self) -> int:
        return len(self.executor.seen)


def test_a_measurement_is_on_record_and_not_paid_for_twice(loc):
    lab = Lab(loc)
    first = lab("a", "b")
    assert (lab.ran, first.record.n, first.reused, first.is_reused, first.exit_code) == (4, 4, 0, False, 0)
    assert first.record.key.seeds == tuple(seed_of(1, n, training=False) for n in range(2))
    assert evaluation.of_commit(loc, first.record.commit) == [first.record]
    again = lab("b", "a")
    assert (lab.ran, again.record, again.is_reused) == (0, first.record, True)
    git(loc.repo.place, "commit", "-q", "--allow-empty", "-m", "Code")
    elsewhere = lab("a", "b")  # another commit, the same experiences
    assert elsewhere.is_reused
    assert (elsewhere.commit, elsewhere.record.commit) == (
        git(loc.repo.place, "rev-parse", "main"),
        first.commit,
    )
    noted, before = (evaluation_notes.lines(loc, loc.repo.resolve(ref)) for ref in ("main", "main~1"))
    assert noted == before != ()


def test_a_note_that_is_missing_is_written_when_the_record_is_reused(loc):
    lab = Lab(loc)
    record = lab("a").record
    git(loc.repo.place, "update-ref", "-d", loc.notes_ref)
    assert lab("a").is_reused
    assert evaluation_notes.lines(loc, record.commit) == (evaluation.note_line(record),)


@pytest.mark.parametrize("other", [{"seed": 2}, {"trials": 3}, {"suite": "gate"}])
def test_anything_that_decides_a_score_makes_another_key(loc, other):
    lab = Lab(loc)
    lab("a")
    assert not lab("a", **other).is_reused
    assert lab.ran == other.get("trials", 2)


def test_other_experiences_cases_agents_or_code_are_measured_anew(loc):
    lab = Lab(loc)
    before = lab("a")
    commit(loc, [make_plan(loc, upsert("a", page("a")))], "train/x")
    after = lab("a", ref="train/x")
    assert (before.is_reused, after.is_reused) == (False, False)
    assert after.record.passed == 2
    assert not lab("a", "b").is_reused
    for what in ("agent", "model", "simulator", "version", "code"):
        assert lab("a").is_reused
        setattr(lab.environment, what, "another/2")
        assert not lab("a").is_reused


def test_fresh_measures_again_and_overwrites_nothing(loc):
    lab = Lab(loc)
    first = lab("a")
    second = lab("a", fresh=True)
    assert lab.ran == 2
    assert (first.record.fresh, second.record.fresh) == (0, 1)
    assert evaluation.find(loc, first.record.key) == second.record
    assert len(evaluation.of_commit(loc, first.record.commit)) == 2


def test_failures_are_apart_and_the_next_time_only_they_are_run(loc):
    lab = Lab(loc, luck=0.0)
    first = lab("a", "slow-b", "crash-c")
    assert (first.record.n, len(first.record.failures), first.exit_code) == (2, 4, 1)
    lab.executor._hangs = False
    second = lab("a", "slow-b", "crash-c")
    assert sorted({name for name, _ in lab.executor.seen}) == ["crash-c", "slow-b"]
    assert (second.record.n, len(second.record.failures), second.reused) == (4, 2, 2)
    assert (second.record.fresh, second.is_reused) == (1, False)
    assert [r.name for r in second.record.results] == ["a", "slow-b"] * 2


def test_where_nothing_could_be_scored_nothing_is_kept(loc):
    before = git(loc.repo.place, "for-each-ref")
    measured = Lab(loc)("crash", "unscored")
    assert (measured.record.n, len(measured.record.failures), measured.exit_code) == (0, 4, 1)
    assert git(loc.repo.place, "for-each-ref") == before


def test_an_unknown_ref_is_an_error(loc):
    with pytest.raises(NotFoundError):
        Lab(loc)("a", ref="nowhere")
