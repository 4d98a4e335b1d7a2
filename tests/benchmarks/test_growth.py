from __future__ import annotations

import shutil
import time
from statistics import mean, median
from typing import TYPE_CHECKING

from tests.benchmarks.timing import cpu, table
from tests.benchmarks.worlds import World
from tests.builders import git
from xpstore import maintain
from xpstore.commit import commit

if TYPE_CHECKING:
    from pathlib import Path

ENDS = 100


def test_ten_thousand_plans(*, full: bool, memory: Path) -> None:
    plans = 10_000 if full else 1_000
    world = World(memory / "store", 100, 0)
    costs, walls = [], []
    for _ in range(plans):
        plan = world.plan()
        start, wall = cpu(), time.perf_counter()
        commit(world.loc, [plan], "main")
        costs.append((cpu() - start) * 1000)
        walls.append((time.perf_counter() - wall) * 1000)
    first, last = costs[:ENDS], costs[-ENDS:]
    rows = {
        f"first {ENDS}": (median(first), mean(first), max(walls[:ENDS]), 1.0),
        f"last {ENDS}": (median(last), mean(last), max(walls[-ENDS:]), median(last) / median(first)),
        "all": (median(costs), mean(costs), max(walls), median(costs) / median(first)),
    }
    table(f"{plans} plans in one store", ("ms CPU, median", "mean", "longest, wall", "of the first"), rows)

    maintain.maintain(world.loc)
    place = memory / "store" / ".git" / "objects"
    ours = _size(place)
    shutil.copytree(memory / "store", memory / "copy")
    git(memory / "copy", "gc", "-q", "--aggressive", "--prune=now")
    best = _size(memory / "copy" / ".git" / "objects")
    rows = {"after xp maintain": (ours / 2**20, ours / best), "git gc --aggressive": (best / 2**20, 1.0)}
    table("disk", ("MB", "of the smallest"), rows)


def _size(folder: Path) -> int:
    return sum(path.stat().st_size for path in folder.rglob("*") if path.is_file())
