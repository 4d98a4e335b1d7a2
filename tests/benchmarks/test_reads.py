from __future__ import annotations

import shutil
import subprocess
import sys
from collections import defaultdict
from statistics import median
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.timing import table
from tests.benchmarks.worlds import World, put
from xpstore import derived

if TYPE_CHECKING:
    from pathlib import Path

CHANGED = 10
"""Pages that change between one process and the next."""
CODE = """
import sys, time
from pathlib import Path
from xpstore.document import Document
from xpstore.location import Location
from xpstore.snapshot import listing, snapshot
place, what = Path(sys.argv[1]), sys.argv[2]
start = time.process_time()
if what == "plain files, read":
    found = [path.read_bytes() for path in place.iterdir()]
elif what == "plain files, parsed":
    found = [Document.parse(path.read_text("utf-8")).front.get("status") for path in place.iterdir()]
elif what == "names and ids":
    found = listing(Location.find(place), "main")
elif what == "contents":
    found = snapshot(Location.find(place), "main").policies
else:
    found = [e.status for e in snapshot(Location.find(place), "main", parsed=True).policies]
print(len(found), time.process_time() - start)
"""
SEARCH = """
import sys, time
from pathlib import Path
from xpstore.page_index import PageIndex
from xpstore.location import Location
start = time.process_time()
with PageIndex.at(Location.find(Path(sys.argv[1])), "main") as page_index:
    opened = time.process_time()
    for number in range(5):
        hits = page_index.search(sys.argv[2], 10)
    print(len(hits), opened - start, (time.process_time() - opened) / 5)
"""
QUERIES = {
    "words of every page": "refund of a cancelled flight",
    "a rare word among them": "refund of lesson 00042",
    "a rare word": "00042",
    "misspelled": "refunnd",
}


def drop(place: Path) -> None:
    shutil.rmtree(place / ".git" / derived.FOLDER, ignore_errors=True)


def change(world: World) -> None:
    """Change the next CHANGED pages."""
    done = world.names[:CHANGED]
    world.names = world.names[CHANGED:] + done
    texts = {f"experiences/{name}.md": f"{world.texts[name]}- {done[0]}.\n".encode() for name in done}
    put(world.loc, world.loc.main_ref, texts)


def process(code: str, *args: str) -> list[float]:
    """Return the numbers that a new process prints; it times itself, without its start."""
    done = subprocess.run([sys.executable, "-c", code, *args], capture_output=True, text=True, check=True)
    return [float(number) for number in done.stdout.split()]


@pytest.mark.parametrize("size", [1_000, 10_000])
def test_a_snapshot(size: int, *, full: bool, tmp_path: Path) -> None:
    place = tmp_path / "store"
    world = World(place, size, 0)
    plain = tmp_path / "plain"
    plain.mkdir()
    for name, text in world.texts.items():
        (plain / f"{name}.md").write_text(text, "utf-8")

    def timed(what: str, at: Path = place) -> None:
        count, seconds = process(CODE, str(at), what.partition(", ")[0] if at == place else what)
        assert count == size
        times[what].append(seconds * 1000)

    times: dict[str, list[float]] = defaultdict(list)
    for _ in range(9 if full else 3):
        timed("plain files, read", plain)
        timed("plain files, parsed", plain)
        timed("names and ids")
        for what in ("contents", "parsed"):
            drop(place)
            timed(f"{what}, the first time")
            change(world)
            timed(f"{what}, after {CHANGED} changes")
    found = {name: median(values) for name, values in times.items()}
    rows = {}
    for name, ms in found.items():
        kind = "parsed" if "parsed" in name else "read"
        first = found.get(name.replace(f"after {CHANGED} changes", "the first time"), 0)
        rows[name] = (ms, ms / found[f"plain files, {kind}"], ms / first if "after" in name else None)
    table(
        f"snapshot in a new process, {size} experiences", ("ms CPU", "of plain files", "of first time"), rows
    )


def test_search_over_ten_thousand(*, full: bool, tmp_path: Path) -> None:
    place = tmp_path / "store"
    world = World(place, 10_000 if full else 2_000, 0)
    _, first, _ = process(SEARCH, str(place), "refund")
    opened: list[float] = []
    asked: dict[str, list[float]] = {name: [] for name in QUERIES}
    for _ in range(9 if full else 3):
        for name, query in QUERIES.items():
            change(world)
            hits, opening, seconds = process(SEARCH, str(place), query)
            assert hits
            opened.append(opening * 1000)
            asked[name].append(seconds * 1000)
    rows = {
        "index, the first time": (first * 1000,),
        f"index, after {CHANGED} changes": (median(opened),),
        **{f"query: {name}": (median(times),) for name, times in asked.items()},
    }
    table(f"search in a new process, {len(world.names)} experiences", ("ms CPU",), rows)
