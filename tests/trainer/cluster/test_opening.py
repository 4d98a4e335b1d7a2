"""200 rollouts of the order desk on a real cluster of two workers: `make ray`. Without Ray, it is skipped."""

from __future__ import annotations

import asyncio
import os
import signal
from functools import partial
from pathlib import Path

import pytest

from tests.builders import git, texts
from trainer.loop import LoopOptions, train_loop
from xpstore.init import init
from xpstore.location import Location
from xpstore.source import read_source

opening = pytest.importorskip("trainer.cluster.opening", reason="Ray is not installed: make ray")
pytestmark = [pytest.mark.ray, pytest.mark.filterwarnings("ignore")]
OPTIONS = LoopOptions(trials=8, train_limit=25, evaluate=False, parallel=4)


@pytest.fixture
def store(tmp_path, request):
    return init(tmp_path / "s", source=read_source(request.config.rootpath / "sample_repo"))


@pytest.fixture
def clone(store, tmp_path):
    git(tmp_path, "clone", "-q", "--bare", str(store.repo.place), "shared.git")
    git(tmp_path, "clone", "-q", "shared.git", "there")
    return Location.find(tmp_path / "there")


def workers() -> list[int]:
    """Return the processes of this machine in which agents work."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            name = (folder / "cmdline").read_bytes()
        except OSError:  # it has ended
            continue
        if name.startswith(b"ray::play"):
            found.append(int(folder.name))
    return found


@pytest.mark.parametrize("remote", ["", "origin"])
def test_training_on_a_cluster_teaches_the_same_also_where_a_worker_is_killed(store, clone, remote):
    here = asyncio.run(train_loop(store.repo.place, OPTIONS))
    killed: list[int] = []

    def progress(stage: str, done: int, total: int) -> None:
        del total
        if stage != "analyze" and done >= 40 and not killed and (at := workers()):
            os.kill(at[0], signal.SIGKILL)
            killed.append(at[0])

    elsewhere = partial(opening.placement, remote_name=remote, processors=2)
    there = asyncio.run(train_loop(clone.repo.place, OPTIONS, elsewhere=elsewhere, progress=progress))
    assert killed
    (epoch,) = there.epochs
    assert (epoch.n, epoch.failures) == (200, ())
    assert (epoch.passed, there.run_id) == (here.epochs[0].passed, here.run_id)
    assert texts(clone, there.branch) == texts(store, here.branch)
    assert "refs/xp/pinned" not in git(clone.repo.place, "ls-remote", "origin")
