"""How many plans a second come of one writer and of eight, and of git's own compare-and-swap."""

from __future__ import annotations

import os
import subprocess
import time
from statistics import median, quantiles
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.timing import table
from tests.builders import git, make_plan, make_store, page, upsert
from tests.crowd import Member, Row, run
from xpstore.commit import commit
from xpstore.location import Location

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

BRANCH = "train/x"
WRITERS = 8


def writer(store: Path, name: str, count: int) -> Member:
    """Adds pages, one plan each, as fast as it can."""

    def work(ready: Callable[[], None], report: Callable[..., None]) -> None:
        loc = Location.find(store)
        ready()
        for number in range(count):
            start = time.perf_counter()
            item = upsert(f"{name}-{number}", page(f"{name}-{number}"))
            [landed] = commit(loc, [make_plan(loc, item, branch=BRANCH)], BRANCH)
            report(at=start, took=time.perf_counter() - start, commit=landed.commit)

    return work


def swapper(store: Path, _: str, count: int) -> Member:
    """Makes empty commits and moves the branch with `git update-ref NEW OLD`, again where it was late."""

    def git_says(*args: str) -> str:
        done = subprocess.run(["git", *args], cwd=store, capture_output=True, text=True, check=False)
        return done.stdout.strip() if done.returncode == 0 else ""

    def work(ready: Callable[[], None], report: Callable[..., None]) -> None:
        ready()
        tree = git_says("rev-parse", f"{BRANCH}^{{tree}}")
        for number in range(count):
            start = time.perf_counter()
            moved = False
            while not moved:
                old = git_says("rev-parse", BRANCH)
                new = git_says("commit-tree", tree, "-p", old, "-m", f"{os.getpid()} {number}")
                done = subprocess.run(
                    ["git", "update-ref", f"refs/heads/{BRANCH}", new, old],
                    cwd=store,
                    capture_output=True,
                    check=False,
                )
                moved = done.returncode == 0
            report(at=start, took=time.perf_counter() - start, commit=new)

    return work


def measure(
    folder: Path, kind: Callable[[Path, str, int], Member], writers: int, count: int
) -> tuple[float, float, float]:
    """Return plans per second, and the median and the 99th of a hundred of what one took, in milliseconds."""
    store = folder / "s"
    loc = make_store(store)
    commit(loc, [make_plan(loc, upsert("first", page("first")), branch=BRANCH)], BRANCH)
    told = run(folder / "told", {f"w{n}": kind(store, f"w{n}", count) for n in range(writers)})
    rows: list[Row] = [row for rows in told.values() for row in rows]
    line = set(git(store, "rev-list", "--first-parent", BRANCH).split())
    assert len(rows) == len({row["commit"] for row in rows} & line) == writers * count
    begin = min(float(str(row["at"])) for row in rows)
    end = max(float(str(row["at"])) + float(str(row["took"])) for row in rows)
    took = [float(str(row["took"])) * 1000 for row in rows]
    return len(rows) / (end - begin), median(took), quantiles(took, n=100)[98]


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_writers(place: str, *, full: bool, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(place)
    rounds, count = (5, 50) if full else (3, 12)
    kinds: dict[str, tuple[Callable[[Path, str, int], Member], int, int]] = {
        "one writer": (writer, 1, count * WRITERS),
        "eight writers": (writer, WRITERS, count),
        "eight loops of git update-ref": (swapper, WRITERS, max(3, count // 4)),
    }
    found: dict[str, list[tuple[float, float, float]]] = {name: [] for name in kinds}
    for number in range(rounds):
        for name, (kind, writers, plans) in kinds.items():
            found[name].append(measure(folder / f"{number}-{writers}-{plans}", kind, writers, plans))
    middle = {name: [median(column) for column in zip(*rows, strict=True)] for name, rows in found.items()}
    one = middle["one writer"][0]
    table(
        f"plans on one branch, {place}",
        ("per second", "of one writer", "p50 ms", "p99 ms", "p99 / p50"),
        {name: (rate, rate / one, p50, p99, p99 / p50) for name, (rate, p50, p99) in middle.items()},
    )
    ratio = middle["eight writers"][0] / middle["eight loops of git update-ref"][0]
    table("eight writers", ("times git's rate",), {place: (ratio,)})
