"""Streaming trainers that are killed, several at once: what was received is learned exactly once.

The learner never says the same twice, so whatever was learned twice is seen.
"""

from __future__ import annotations

import asyncio
import os
import random
import signal
import sys
import threading
from typing import TYPE_CHECKING

import pytest

import trainer.assembly
from tests.builders import git, identify, make_store, texts
from tests.crowd import Member, run
from tests.e2e.test_interrupts import TOUCHING
from tests.fickle import Fickle, check
from tests.returns_desk import records
from tests.trainer.doubles import NoteTaker, rollout
from trainer.components.streaming_trainer import StreamingPolicyTrainerConfig
from trainer.importers.detect import read_record
from trainer.redaction import redact_rollout
from trainer.streaming import get_streaming_policy_trainer
from xpstore import inbox
from xpstore.document import Document
from xpstore.location import Location
from xpstore.sync import sync
from xpstore.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BRANCH = "train/live"
PAGES = 3
AT_ONCE = 3
"""Trainers of a round; all of them are killed."""
ROUNDS = 12
"""Rounds after which a new store is made: it would grow."""


def trainer_of(store: Path, branch: str = BRANCH):
    """Return the shared trainer; this process is one of its own, so nothing has to be put back."""
    trainer.assembly.OfflineExtractor = NoteTaker
    trainer.assembly.OfflineEditor = Fickle
    config = StreamingPolicyTrainerConfig(max_wait_seconds=0.1, retry_seconds=0.01)
    return get_streaming_policy_trainer(store, branch=branch, config=config)


def nothing() -> None:
    """Do nothing between two waves."""


def doomed(
    store: Path,
    name: str,
    drawn: random.Random,
    branch: str = BRANCH,
    each: Callable[[], None] = nothing,
) -> Member:
    """Submits without end, until it kills itself: at an event that touches the disk, or by the clock."""
    event, seconds, by_clock = drawn.randrange(1, 1500), drawn.uniform(0, 1.5), drawn.random() < 0.5

    def end() -> None:
        os.kill(os.getpid(), signal.SIGKILL)

    async def submit(learn, report, number: int) -> None:
        one = rollout(f"page-{number % PAGES}", number).model_copy(
            update={"metadata": {"by": name, "n": number}}
        )
        result = await learn.submit_rollout(one)
        assert not result.failures
        report(learned=one.id)

    async def live(report) -> None:
        async with trainer_of(store, branch) as learn:
            number = 0
            while True:
                await asyncio.gather(*(submit(learn, report, number + n) for n in range(4)))
                number += 4
                await asyncio.to_thread(each)

    def work(ready: Callable[[], None], report: Callable[..., None]) -> None:
        ready()
        seen = 0

        def count(what: str, _: object) -> None:
            nonlocal seen
            if what in TOUCHING:
                seen += 1
                if seen >= event:  # several threads count
                    end()

        if by_clock:
            threading.Timer(seconds, end).start()
        else:
            sys.addaudithook(count)
        asyncio.run(live(report))

    return work


def last_start(store: Path, branch: str = BRANCH) -> Member:
    """Takes up what is open, and submits nothing."""

    async def live(report) -> None:
        async with trainer_of(store, branch) as learn:
            results = await learn.recover()
            assert [f for r in results for f in r.failures] == []
            report(recovered=len(results))

    def work(ready: Callable[[], None], report: Callable[..., None]) -> None:
        ready()
        asyncio.run(live(report))

    return work


def kill(tmp_path: Path, kills: int, seed: int) -> int:
    """Kill so many trainers; return how many rollouts were learned."""
    drawn = random.Random(seed)  # noqa: S311 - moments, no secret
    learned: list[str] = []
    count = 0
    for number in range(kills // AT_ONCE):
        store = tmp_path / f"s{number // ROUNDS}"
        if number % ROUNDS == 0:
            make_store(store)
            count += len(learned)
            learned = []
        told = run(
            tmp_path / f"told-{number}",
            {f"r{number}w{n}": doomed(store, f"r{number}w{n}", drawn) for n in range(AT_ONCE)},
        )
        learned += [str(row["learned"]) for rows in told.values() for row in rows]
        if number % ROUNDS == ROUNDS - 1 or number == kills // AT_ONCE - 1:
            run(tmp_path / f"last-{number}", {"last": last_start(store)})
            check(store, learned)
    return count + len(learned)


def test_what_was_received_is_learned_exactly_once_whenever_trainers_are_killed(tmp_path: Path) -> None:
    assert kill(tmp_path, 9, seed=3) > 0


@pytest.mark.stress
def test_two_hundred_kills(tmp_path: Path) -> None:
    learned = kill(tmp_path, 201, seed=int(os.environ.get("XP_SEED", "4")))
    sys.stdout.write(f"\n201 kills; {learned} rollouts were reported as learned before\n")


def streaming(store: Path, rollouts, wave: int) -> Member:
    """Submits rollouts in waves, and closes."""

    async def live(report) -> None:
        async with get_streaming_policy_trainer(store, branch=BRANCH) as learn:
            for start in range(0, len(rollouts), wave):
                results = await asyncio.gather(*map(learn.submit_rollout, rollouts[start : start + wave]))
                assert [f for r in results for f in r.failures] == []
        report(done=len(rollouts))

    def work(ready: Callable[[], None], report: Callable[..., None]) -> None:
        ready()
        asyncio.run(live(report))

    return work


def lessons(store: Path) -> dict[str, set[str]]:
    """Return what each page says with its figures; in which order follows from who was first."""
    pages = texts(Location.find(store), BRANCH)
    return {name: {s.text for s in Document.parse(text).statements()} for name, text in pages.items()}


@pytest.mark.stress
def test_several_trainers_of_one_branch_come_to_the_lessons_of_one_batch(tmp_path: Path) -> None:
    rollouts = [redact_rollout(read_record(row)[1]) for row in records(cases=24, trials=4)]
    store, batch = tmp_path / "s", tmp_path / "b"
    make_store(store)
    make_store(batch)
    run(tmp_path / "told", {f"w{n}": streaming(store, rollouts[n::4], 6) for n in range(4)})
    run(tmp_path / "one", {"w": streaming(batch, rollouts, len(rollouts))})
    assert inbox.entries(Location.find(store)) == []
    assert lessons(store) == lessons(batch)
    assert [f.problems for f in verify(Location.find(store), BRANCH) if f.problems] == []


@pytest.mark.stress
def test_trainers_of_two_clones_that_are_killed_learn_their_own_exactly_once(tmp_path: Path) -> None:
    """Each teaches its own main and exchanges it; neither takes up what the other one is at."""
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "shared.git")
    first = make_store(tmp_path / "c0")
    git(tmp_path / "c0", "remote", "add", "origin", str(tmp_path / "shared.git"))
    sync(first)
    git(tmp_path, "clone", "-q", "shared.git", "c1")
    identify(tmp_path / "c1")
    clones = [tmp_path / "c0", tmp_path / "c1"]
    drawn = random.Random(5)  # noqa: S311 - moments, no secret
    learned: list[str] = []
    for number in range(8):
        members = {
            f"r{number}c{n}": doomed(clone, f"r{number}c{n}", drawn, branch="main", each=syncing(clone))
            for n, clone in enumerate(clones)
        }
        told = run(tmp_path / f"told-{number}", members)
        learned += [str(row["learned"]) for rows in told.values() for row in rows]
    for number in range(2):  # the second time each has what the other one has added
        for n, clone in enumerate(clones):
            run(tmp_path / f"last-{number}-{n}", {"last": last_start(clone, "main")})
            sync(Location.find(clone))
    sync(Location.find(clones[0]))
    for clone in clones:
        check(clone, learned, "main")
    assert git(clones[0], "rev-parse", "main") == git(clones[1], "rev-parse", "main")


def syncing(clone: Path) -> Callable[[], None]:
    def work() -> None:
        sync(Location.find(clone))

    return work
