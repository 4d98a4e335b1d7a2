from __future__ import annotations

import sqlite3
from functools import partial
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.timing import cpu, interleave, medians, table
from tests.benchmarks.worlds import World
from xpstore.document import Document
from xpstore.location import Location
from xpstore.search import Index, rank
from xpstore.snapshot import listing, snapshot

if TYPE_CHECKING:
    from pathlib import Path


@pytest.mark.parametrize("size", [1_000, 10_000])
def test_a_snapshot(size: int, *, full: bool, tmp_path: Path) -> None:
    world = World(tmp_path / "store", size, 0)
    plain = tmp_path / "plain"
    plain.mkdir()
    for name, text in world.texts.items():
        (plain / f"{name}.md").write_text(text, "utf-8")

    def fresh() -> Location:
        return Location.find(tmp_path / "store")  # what a process remembers is not measured

    def parse_plain() -> None:
        for path in plain.iterdir():
            Document.parse(path.read_text("utf-8"), path.name).front.get("status")

    found = medians(
        interleave(
            {
                "plain files, read": lambda: [path.read_bytes() for path in plain.iterdir()],
                "names and ids": lambda: listing(fresh(), "main"),
                "contents": lambda: snapshot(fresh(), "main"),
            },
            20 if full else 5,
            clock=cpu,
        )
    )
    read = found["plain files, read"]
    table(
        f"snapshot, {size} experiences",
        ("ms CPU", "of reading"),
        {n: (v, v / read) for n, v in found.items()},
    )
    found = medians(
        interleave(
            {
                "plain files, parsed": parse_plain,
                "parsed": lambda: [e.status for e in snapshot(fresh(), "main").policies],
            },
            5 if full else 1,
            clock=cpu,
            warm=0,
        )
    )
    parsed = found["plain files, parsed"]
    table(
        f"parsed, {size} experiences",
        ("ms CPU", "of parsing"),
        {n: (v, v / parsed) for n, v in found.items()},
    )


def test_search_over_ten_thousand(*, full: bool, tmp_path: Path) -> None:
    world = World(tmp_path / "store", 10_000 if full else 2_000, 0)
    texts = list(world.texts.items())
    kept = tmp_path / "index"
    with Index(sqlite3.connect(kept)) as index:
        index.add(texts)

    def reopened() -> None:
        with Index(sqlite3.connect(kept)) as index:
            index.keys()

    with Index(sqlite3.connect(kept)) as index:
        methods = {
            "index built": lambda: Index.of(texts),
            "index opened, its keys read": reopened,
            "query on it": lambda: index.lookup("refund of a cancelled flight", 10),
            "rank, index built anew": partial(rank, texts, "refund of a cancelled flight", 10),
        }
        found = medians(interleave(methods, 9 if full else 3, clock=cpu))
    table(f"search, {len(texts)} experiences", ("ms CPU",), {name: (ms,) for name, ms in found.items()})
