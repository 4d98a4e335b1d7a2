from __future__ import annotations

import shutil
import time
from statistics import mean, median
from typing import TYPE_CHECKING

from tests.benchmarks.timing import cpu, table
from tests.benchmarks.worlds import World
from tests.builders import git
from xpstore import gitcli, maintain
from xpstore.commit import apply, prepare

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    import pytest

ENDS = 100


def test_ten_thousand_plans(*, full: bool, memory: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    plans = 10_000 if full else 1_000
    world = World(memory / "store", 100, 0)
    background: list[float] = []

    def start(where: Path, commands: Sequence[Sequence[str]], *, holding: int) -> bool:
        """What runs in the background, run here and now so that what it costs is seen, but apart."""
        del holding
        began = cpu()
        for command in commands:
            gitcli.run(where, command)
        background.append(cpu() - began)
        return True

    monkeypatch.setattr(gitcli, "start", start)
    costs, walls, git_runs = [], [], []
    for _ in range(plans):
        values = prepare(world.loc, [world.plan()])
        background.clear()
        began, wall = cpu(), time.perf_counter()
        apply(world.loc, values, "main")
        costs.append((cpu() - began - sum(background)) * 1000)
        walls.append(0.0 if background else (time.perf_counter() - wall) * 1000)
        git_runs.append(sum(background) * 1000)
    head = costs[:ENDS]
    rows = {}
    for name, part in (
        (f"first {ENDS}", slice(ENDS)),
        (f"last {ENDS}", slice(-ENDS, None)),
        (f"last {10 * ENDS}", slice(-10 * ENDS, None)),
        ("all", slice(None)),
    ):
        own = costs[part]
        ratios = median(own) / median(head), mean(own) / mean(head)
        rows[name] = (median(own), ratios[0], mean(own), ratios[1], max(walls[part]), mean(git_runs[part]))
    columns = ("CPU ms, median", "of the first", "mean", "of the first", "longest, wall", "git behind it")
    table(f"{plans} plans in one store", columns, rows)

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
