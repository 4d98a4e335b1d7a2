"""The placement with a cluster that works in this process; tests/ray has a real one."""

import asyncio
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.alone import end
from tests.builders import git
from trainer.cluster import work
from trainer.cluster.placement import Placement
from trainer.context import ExecutionContext
from trainer.environment import world_of
from trainer.errors import ComponentError
from trainer.loop import LoopOptions, train_loop
from trainer.offline.editor import OfflineEditor
from trainer.store_door import StoreDoor
from trainer.strategies import Strategies
from trainer.suite import load_suites
from xpstore.evidence import find_ids
from xpstore.init import init
from xpstore.location import Location
from xpstore.pinned import REFS
from xpstore.snapshot import snapshot
from xpstore.source import read_source


class Here:
    """A cluster of one, which counts."""

    def __init__(self):
        self.calls = []
        self.process = ThreadPoolExecutor(1)

    async def call(self, function, *arguments):
        self.calls.append(function.__name__)
        loop = asyncio.get_running_loop()
        answer = await loop.run_in_executor(self.process, function, *arguments)
        if answer.kind:
            raise work.raised(answer)
        return answer.text


class Elsewhere:
    """What opens it, as `opening.placement` does."""

    def __init__(self, location, remote=""):
        self.cluster = Here()
        place = work.Place(str(location.repo.place), location.prefix, location.config)
        if remote:
            place = work.Place(git(location.repo.place, "remote", "get-url", remote), "", location.config)
        text = work.world_text(location.config.environment, location.config.llm)
        self.made = lambda door: Placement(self.cluster, door, place, text, remote, {})

    def __call__(self, door):
        self.placement = self.made(door)
        return self

    async def __aenter__(self):
        return self.placement

    async def __aexit__(self, *_):
        await self.placement.release()
        self.cluster.process.submit(end).result()
        self.cluster.process.shutdown()


@pytest.fixture
def store(tmp_path, request):
    return init(tmp_path / "s", source=read_source(request.config.rootpath / "sample_repo"))


def test_training_elsewhere_teaches_what_training_here_teaches(store, tmp_path):
    git(tmp_path, "clone", "-q", str(store.repo.place), str(tmp_path / "there"))
    options = LoopOptions(trials=2, train_limit=6, evaluate=False)
    here = asyncio.run(train_loop(store.repo.place, options))
    there = Location.find(tmp_path / "there")
    elsewhere = Elsewhere(there)
    report = asyncio.run(train_loop(tmp_path / "there", options, elsewhere=elsewhere))
    assert (report.run_id, report.epochs[0].passed) == (here.run_id, here.epochs[0].passed)
    assert find_ids(there, "rollouts", "") == find_ids(store, "rollouts", "")
    assert (report.changed, report.epochs[0].learned.nothing) == (False, here.epochs[0].learned.nothing)
    assert elsewhere.cluster.calls.count("play") == 12
    assert {"extract", "edit"} < set(elsewhere.cluster.calls)


def test_workers_fetch_a_pinned_commit_which_is_let_go_at_the_end(store, tmp_path):
    git(tmp_path, "init", "-q", "--bare", "shared.git")
    git(store.repo.place, "remote", "add", "origin", str(tmp_path / "shared.git"))
    commit = store.resolve("main")
    case = load_suites(store, "main", "train")["train"][0]

    async def main():
        async with StoreDoor(store.repo.place) as door, Elsewhere(store, "origin")(door) as placement:
            executor = placement.world(world_of_store(store)).environment.executor()
            context = ExecutionContext(policy_snapshot_id=commit, seed=3)
            (made,) = await executor.execute([case], snapshot(store, commit), context)
            (ref,) = git(tmp_path / "shared.git", "for-each-ref", "--format=%(refname)").split()
            assert ref.startswith(REFS + commit)
            return made

    assert asyncio.run(main()).policy_snapshot_id == commit
    assert git(tmp_path / "shared.git", "for-each-ref") == ""


def test_what_a_worker_could_not_do_is_raised_here(store):
    case = load_suites(store, "main", "train")["train"][0]

    async def main():
        async with StoreDoor(store.repo.place) as door, Elsewhere(store)(door) as placement:
            executor = placement.world(world_of_store(store)).environment.executor()
            gone = snapshot(store, "main").model_copy(update={"snapshot_id": "1" * 40})
            await executor.execute([case], gone, ExecutionContext(policy_snapshot_id="1" * 40))

    with pytest.raises(ComponentError, match="fetch"):
        asyncio.run(main())


def test_a_model_is_asked_from_here(store):
    strategies = Strategies(extractor=None, editor=OfflineEditor(), merger=None, model=object())
    placement = Placement(Here(), None, work.Place("", "", store.config), "", "", {})
    assert placement.strategies(strategies) is strategies


def world_of_store(store):
    return world_of(store.config.environment, store.config.llm)
