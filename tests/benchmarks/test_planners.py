"""Eight planners whose model takes a second: when all plans are applied, with and without a lease."""

from __future__ import annotations

import time
from contextlib import nullcontext
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.timing import table
from tests.builders import git, make_plan, make_store, page, texts, upsert
from tests.crowd import Member, run
from xpstore.commit import commit
from xpstore.store import ExperienceStore

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

PLANNERS = 8
MODEL = 1.0
"""Seconds that a model thinks."""


def planner(store: Path, name: str, *, is_leased: bool) -> Member:
    """Reads its page, thinks, and adds a line to it."""

    def work(ready: Callable[[], None], report: Callable[..., None]) -> None:
        mine = ExperienceStore.open(store)
        ready()
        start = time.perf_counter()
        with mine.lease() if is_leased else nullcontext():
            there = texts(mine.location, "main")[name]
            plan = make_plan(mine.location, upsert(name, f"{there}- Learned.\n", there))
            time.sleep(MODEL)  # the model
            [landed] = mine.commit([plan])
        report(at=start, end=time.perf_counter(), commit=landed.commit)

    return work


@pytest.mark.parametrize("place", ["memory", "disk"])
def test_planners(place: str, request: pytest.FixtureRequest) -> None:
    folder: Path = request.getfixturevalue(place)
    rows = {}
    for title, is_leased in (("no lease", False), ("under a lease", True)):
        store = folder / title.replace(" ", "-")
        loc = make_store(store)
        names = [f"p{number}" for number in range(PLANNERS)]
        commit(loc, [make_plan(loc, *[upsert(name, page(name)) for name in names])], "main")
        told = run(folder / f"told {title}", {n: planner(store, n, is_leased=is_leased) for n in names})
        found = [row for rows in told.values() for row in rows]
        line = git(store, "rev-list", "main").split()
        assert len({row["commit"] for row in found} & {*line}) == PLANNERS
        assert all("Learned" in text for text in texts(loc, "main").values())
        took = max(float(str(r["end"])) for r in found) - min(float(str(r["at"])) for r in found)
        rows[title] = (took, took / MODEL)
    table(f"{PLANNERS} planners of other pages, {place}", ("seconds", "of one model"), rows)
