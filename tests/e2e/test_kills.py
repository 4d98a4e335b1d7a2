"""Writers that are killed at any moment: what was reported is there, and the next one gets through."""

from __future__ import annotations

import os
import random
import signal
import sys
import threading
import time
from statistics import median
from typing import TYPE_CHECKING

import pytest

from tests.builders import fsck, git, make_plan, make_store, page, texts, upsert
from tests.crowd import Member, Row, run
from tests.e2e.bad import leftovers
from tests.e2e.test_interrupts import TOUCHING
from xpstore import evidence
from xpstore.commit import commit
from xpstore.hashing import content_id
from xpstore.location import Location
from xpstore.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

AT_ONCE = 4
"""Writers of a round; all of them are killed."""
ROUNDS = 8
"""Rounds after which a new store is made: it would grow."""
GENEROUS = 10.0
"""Seconds that the next writer may take on a machine that is busy with much else."""


def doomed(store: Path, name: str, branch: str, drawn: random.Random) -> Member:
    """Writes without end, until it kills itself: at an event that touches the disk, or by the clock.

    Half of the time with all that it has started, as where a container ends.
    """
    event, seconds = drawn.randrange(1, 500), drawn.uniform(0, 0.4)
    by_clock, is_whole = drawn.random() < 0.5, drawn.random() < 0.5

    def end() -> None:
        if is_whole:
            os.killpg(0, signal.SIGKILL)
        os.kill(os.getpid(), signal.SIGKILL)

    def work(ready: Callable[[], None], report: Callable[..., None]) -> None:
        os.setpgid(0, 0)
        loc = Location.find(store)
        ready()
        seen = 0

        def count(what: str, _: object) -> None:
            nonlocal seen
            if what in TOUCHING:
                seen += 1
                if seen == event:
                    end()

        if by_clock:
            threading.Timer(seconds, end).start()
        else:
            sys.addaudithook(count)
        number = 0
        while True:
            number += 1
            data = {"messages": [f"{name} {number}"]}
            rollout = content_id(data)
            evidence.write(loc, [evidence.rollout_file(rollout, data)], "Receive")
            report(rollout=rollout)
            there = texts(loc, branch).get(name)
            line = f"- {name} {number}.\n"
            item = upsert(name, there + line if there else page(name, line[2:-1]), there)
            [landed] = commit(loc, [make_plan(loc, item, branch=branch, rollouts=())], branch)
            report(commit=landed.commit, page=name, line=line)

    return work


def next_one(store: Path, branch: str, number: int) -> float:
    """Open the store and write a plan; return how long the writing took, in seconds."""
    loc = Location.find(store)
    item = upsert(f"next-{number}", page(f"next-{number}"))
    plan = make_plan(loc, item, branch=branch, rollouts=())
    start = time.perf_counter()
    commit(loc, [plan], branch)
    return time.perf_counter() - start


def check(store: Path, branch: str, rows: list[Row]) -> None:
    fsck(store)
    loc = Location.find(store)
    line = set(git(store, "rev-list", "--first-parent", branch).split())
    assert [row for row in rows if "commit" in row and row["commit"] not in line] == []
    pages = texts(loc, branch)
    assert [row for row in rows if "line" in row and pages[row["page"]].count(row["line"]) != 1] == []
    rollouts = set(evidence.listing(loc, "rollouts"))
    assert [
        r
        for r in rows
        if "rollout" in r and f"rollouts/{r['rollout'][:2]}/{r['rollout']}.json" not in rollouts
    ] == []
    assert [f.problems for f in verify(loc, branch) if f.problems] == []
    assert git(store, "status", "--short") == ""
    assert [name for name in leftovers(store) if name.endswith(".lock")] == []


def kill(tmp_path: Path, kills: int, branch: str, seed: int) -> list[float]:
    """Kill so many writers, and return how long it took whoever came next."""
    drawn = random.Random(seed)  # noqa: S311 - moments, no secret
    took: list[float] = []
    rows: list[Row] = []
    for number in range(kills // AT_ONCE):
        store = tmp_path / f"s{number // ROUNDS}"
        if number % ROUNDS == 0:
            make_store(store)
            rows = []
            next_one(store, branch, -1)
        told = run(
            tmp_path / f"told-{number}",
            {f"r{number}w{n}": doomed(store, f"r{number}w{n}", branch, drawn) for n in range(AT_ONCE)},
        )
        rows += [row for rows in told.values() for row in rows]
        took.append(next_one(store, branch, number))
        check(store, branch, rows)
    return took


@pytest.mark.parametrize(("branch", "kills"), [("main", 12), ("train/x", 8)])
def test_a_few_kills(tmp_path: Path, branch: str, kills: int) -> None:
    assert max(kill(tmp_path, kills, branch, seed=1)) < GENEROUS


@pytest.mark.stress
@pytest.mark.parametrize(("branch", "kills"), [("main", 300), ("train/x", 200)])
def test_five_hundred_kills(tmp_path: Path, branch: str, kills: int) -> None:
    took = sorted(kill(tmp_path, kills, branch, seed=int(os.environ.get("XP_SEED", "2"))))
    sys.stdout.write(f"\n{kills} kills on {branch}; the next writer took, in seconds:")
    sys.stdout.write(f" p50 {median(took):.3f}, longest {took[-1]:.3f} {took[-2]:.3f} {took[-3]:.3f}\n")
    assert took[-1] < GENEROUS
