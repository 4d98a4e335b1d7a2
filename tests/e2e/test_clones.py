"""Several clones write and publish to one bare repository, while git prunes all of them."""

from __future__ import annotations

import socket
import subprocess
import threading
from typing import TYPE_CHECKING

import pytest

from tests.builders import fsck, git, identify, make_plan, make_store, page, texts, upsert
from tests.churn import cleaner
from tests.crowd import Member, meanwhile, run
from xpstore.commit import commit
from xpstore.location import Location
from xpstore.sync import sync
from xpstore.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path


def clone(store: Path, name: str, count: int) -> Member:
    """A clone that adds a page and publishes, and adds a statement to a page of all and publishes."""

    def work(ready: Callable[[], None], report: Callable[..., None]) -> None:
        loc = Location.find(store)
        ready()
        for number in range(count):
            there = texts(loc, "main")["shared"]
            line = f"- {name} {number}.\n"
            item = (
                upsert("shared", there + line, there)
                if number % 2
                else upsert(f"{name}-{number}", page(line[2:-1]))
            )
            plan = make_plan(loc, item, rollouts=(), run_id=name)
            commit(loc, [plan], "main")
            sync(loc)
            report(plan=plan.plan_id, line=line if number % 2 else "", page=item.target_experience_name)

    return work


@pytest.fixture
def served(tmp_path: Path) -> Iterator[str]:
    """The folder of the test, served by git's own daemon; its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = ["git", "daemon", "--reuseaddr", "--export-all", "--enable=receive-pack", "--listen=127.0.0.1"]
    command += [f"--port={port}", "--verbose", f"--base-path={tmp_path}", str(tmp_path)]
    daemon = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    assert daemon.stderr is not None
    while "Ready to rumble" not in daemon.stderr.readline():
        assert daemon.poll() is None
    reader = threading.Thread(target=daemon.stderr.read)  # or it stops when it has said too much
    reader.start()
    yield f"git://127.0.0.1:{port}"
    daemon.terminate()
    reader.join()
    daemon.wait()
    daemon.stderr.close()


def publish_together(tmp_path: Path, base: str, clones: int, count: int) -> None:
    shared = tmp_path / "shared.git"
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "shared.git")
    # as `xp` itself fetches: packs that are kept until a ref has them; else git's pruning takes loose objects
    git(shared, "config", "transfer.unpackLimit", "1")
    first = make_store(tmp_path / "c0")
    git(tmp_path / "c0", "remote", "add", "origin", f"{base}/shared.git")
    commit(first, [make_plan(first, upsert("shared", page("shared")), rollouts=())], "main")
    sync(first)
    names = [f"c{number}" for number in range(clones)]
    for name in names[1:]:
        git(tmp_path, "clone", "-q", f"{base}/shared.git", name)
        identify(tmp_path / name)
    with meanwhile(cleaner(*(tmp_path / name for name in ("shared.git", *names)))):
        told = run(tmp_path / "told", {name: clone(tmp_path / name, name, count) for name in names})
    assert {name: len(rows) for name, rows in told.items()} == dict.fromkeys(names, count)
    for name in names:
        sync(Location.find(tmp_path / name))
    tips = {git(tmp_path / name, "rev-parse", "main") for name in (*names, "shared.git")}
    assert len(tips) == 1
    for name in (*names, "shared.git"):
        fsck(tmp_path / name)
    loc = Location.find(tmp_path / names[-1])
    assert not [f.problems for f in verify(loc, "main") if f.problems]
    ids = git(
        loc.repo.place, "log", "--first-parent", "--format=%(trailers:key=Plan-Id,valueonly)", "main"
    ).split()
    rows = [row for rows in told.values() for row in rows]
    assert sorted(ids) == sorted({*ids})
    assert {str(row["plan"]) for row in rows} <= {*ids}
    pages = texts(loc, "main")
    assert sum(pages["shared"].count(str(row["line"])) for row in rows if row["line"]) == clones * (
        count // 2
    )
    assert {str(row["page"]) for row in rows} == set(pages)
    for name in names:
        assert git(tmp_path / name, "status", "--short") == ""


def test_two_clones(tmp_path: Path) -> None:
    publish_together(tmp_path, str(tmp_path), 2, 2)


@pytest.mark.stress
def test_four_clones_and_a_folder(tmp_path: Path) -> None:
    publish_together(tmp_path, str(tmp_path), 4, 25)


@pytest.mark.stress
def test_four_clones_and_a_daemon(tmp_path: Path, served: str) -> None:
    publish_together(tmp_path, served, 4, 25)
