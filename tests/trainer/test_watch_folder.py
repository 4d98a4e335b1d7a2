from __future__ import annotations

import asyncio
import json
import shutil
from typing import TYPE_CHECKING

import pytest

from tests.trainer.doubles import rollout
from trainer import watch_folder as module
from trainer.components.streaming_result import without_update
from trainer.domain import RolloutFailure
from trainer.drop_folder import DropFolder
from trainer.errors import BatchError
from trainer.watch_folder import FileReport, learn_file, watch_folder
from xpstore.errors import UsageError
from xpstore.experience import ExperienceSet
from xpstore.plan import PolicyApplyResult, PolicyUpdatePlan

if TYPE_CHECKING:
    from pathlib import Path

POLL = 0.02
LATEST = ExperienceSet(root_uri="")


class Trainer:
    """A trainer that says at once what came of a rollout: a plan per case, or what its name says."""

    def __init__(self):
        self.seen = []
        self.most = 0

    async def submit_rollout(self, one):
        case, known = one.case.name, one.id in self.seen
        self.seen.append(one.id)
        if known:
            return without_update(LATEST, already=(one.id,))
        if case == "dull":
            return without_update(LATEST, nothing={one.id: "it is dull"})
        if case == "unreadable":
            failure = RolloutFailure(rollout=one.id, case=case, stage="analyze", error="no words")
            return without_update(LATEST, failures=(failure,))
        if case == "full":
            raise BatchError("the disk is full")
        plan = PolicyUpdatePlan(subject=case)
        applied = PolicyApplyResult(updated_policy_set=LATEST, plans=(plan,), commits=(f"commit-{case}",))
        return without_update(LATEST).model_copy(update={"plans": (plan,), "apply_result": applied})


def write(path: Path, *rollouts, more="") -> Path:
    path.write_text("".join(json.dumps(r.model_dump(mode="json")) + "\n" for r in rollouts) + more)
    return path


def learn(path, trainer=None):
    return asyncio.run(learn_file(trainer or Trainer(), path))


def test_a_report_says_what_came_of_each_rollout(tmp_path):
    cases = ("a", "dull", "unreadable", "full")
    file = write(tmp_path / "in.jsonl", *map(rollout, cases), rollout("a"), more='{"half": ')
    report = learn(file)
    ids = {case: rollout(case).id for case in cases}
    assert (report.file, report.rollouts, report.is_good) == (str(file), 4, False)
    assert list(report.plans.values()) == ["commit-a"]
    assert report.nothing == {ids["dull"]: "it is dull"}
    assert report.failures == {ids["unreadable"]: "no words", ids["full"]: "the disk is full"}
    assert [p.line for p in report.problems] == [6]


@pytest.mark.parametrize("what", ["gone", "text", "empty"])
def test_a_file_that_cannot_be_read_is_a_report(tmp_path, what):
    file = tmp_path / "in.jsonl"
    if what != "gone":
        file.write_text("hello" if what == "text" else "")
    report = learn(file)
    assert (report.rollouts, report.is_good, len(report.problems)) == (0, False, 1)


def test_only_so_many_rollouts_are_learned_from_at_once(tmp_path, monkeypatch):
    class Together(Trainer):
        """The first three wait for each other."""

        def __init__(self):
            super().__init__()
            self.begun, self.all_here = 0, asyncio.Event()

        async def submit_rollout(self, one):
            self.begun += 1
            self.most = max(self.most, self.begun - len(self.seen))
            if self.begun == 3:
                self.all_here.set()
            await self.all_here.wait()
            self.seen.append(one.id)
            return without_update(LATEST)

    monkeypatch.setattr(module, "AT_ONCE", 3)
    trainer = Together()
    report = learn(write(tmp_path / "in.jsonl", *(rollout("a", n) for n in range(10))), trainer)
    assert (report.rollouts, len(trainer.seen), trainer.most) == (10, 10, 3)


def test_what_is_there_and_what_comes_is_learned_from_once(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    write(folder / "first.jsonl", rollout("a"))
    trainer, reports = Trainer(), asyncio.Queue[FileReport]()

    async def main():
        watching = asyncio.create_task(
            watch_folder(trainer, DropFolder(folder, settle=0), reports.put_nowait, poll=POLL)
        )
        first = await reports.get()
        shutil.copyfile(folder / "first.jsonl", folder / "copy.jsonl")
        copy = await reports.get()
        (folder / "broken.jsonl").write_text("no JSON")
        broken = await reports.get()
        (folder / "first.jsonl").rename(folder / "renamed.jsonl")
        write(folder / "broken.jsonl", rollout("b"))
        mended = await reports.get()
        watching.cancel()
        await asyncio.wait([watching])
        return first, copy, broken, mended

    first, copy, broken, mended = asyncio.run(main())
    assert list(first.plans.values()) == ["commit-a"]
    assert (copy.already, copy.is_good) == (1, True)
    assert not broken.is_good
    assert (list(mended.plans.values()), mended.is_good) == (["commit-b"], True)
    assert reports.empty()


def test_once_ends_when_nothing_waits_any_more(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()
    for n in range(20):
        write(folder / f"{n}.json", rollout("a", n))
    trainer, reports = Trainer(), []
    asyncio.run(watch_folder(trainer, DropFolder(folder, settle=0), reports.append, once=True, poll=POLL))
    assert len(reports) == len(set(trainer.seen)) == 20


def test_a_directory_that_goes_away_and_a_trainer_that_breaks_end_it(tmp_path):
    folder = tmp_path / "in"
    folder.mkdir()

    class Broken:
        async def submit_rollout(self, one):
            raise ZeroDivisionError

    async def main(trainer):
        await watch_folder(trainer, DropFolder(folder, settle=0), gone, poll=POLL)

    def gone(_):
        shutil.rmtree(folder)

    write(folder / "a.json", rollout("a"))
    with pytest.raises(UsageError, match="is gone"):
        asyncio.run(main(Trainer()))
    folder.mkdir()
    write(folder / "a.json", rollout("a"))
    with pytest.raises(ZeroDivisionError):
        asyncio.run(main(Broken()))
