"""Ctrl-C or a kill at any moment of `xp land` and `xp init --from`: all of it, or nothing of it."""

from __future__ import annotations

import random
import shutil
import signal
from typing import TYPE_CHECKING

import pytest

from tests.builders import fsck, git, make_plan, make_store, page, upsert
from tests.e2e.bad import leftovers
from tests.e2e.test_interrupts import in_child
from xpstore.cli.main import INTERRUPTED, run
from xpstore.commit import commit

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

pytestmark = pytest.mark.slow
SIGNALS = [signal.SIGINT, signal.SIGKILL]


def land(store: Path) -> int:
    return run(["-C", str(store), "land", "train/x"])


def make(store: Path) -> int:
    return run(["init", str(store), "--from", str(store.parent / "sample")])


def moments(work: Callable[[Path], int], store: Path, count: int, seed: int) -> list[int]:
    code, errors, events = in_child(store, signal.SIGINT, action=work)
    assert (code, errors) == (0, "")
    drawn = random.Random(seed)  # noqa: S311  # moments, no secret
    return sorted(drawn.sample(range(1, events), min(count, events - 1)))


@pytest.fixture
def base(tmp_path: Path) -> Path:
    """A store whose main is checked out, with local changes, and a candidate of three plans."""
    loc = make_store(tmp_path / "base")
    commit(loc, [make_plan(loc, upsert("old", page("old")))], "main")
    items = [upsert("a", page("a")), upsert("old", page("old", "More."), page("old")), upsert("b", page("b"))]
    for item in items:
        commit(loc, [make_plan(loc, item, branch="train/x")], "train/x")
    (tmp_path / "base" / "mine.txt").write_text("keep")
    return tmp_path / "base"


def check_landing(base: Path, store: Path, stop: signal.Signals, event: int) -> None:
    shutil.copytree(base, store)
    git(store, "status")
    code, errors, _ = in_child(store, stop, event, action=land)
    assert code in ({0, INTERRUPTED} if stop == signal.SIGINT else {0, -stop}), (event, code, errors)
    assert "Traceback" not in errors
    fsck(store)
    main = git(store, "rev-parse", "main")
    assert main in {git(base, "rev-parse", "main"), git(base, "rev-parse", "train/x")}, "a part has landed"
    if stop == signal.SIGINT:
        assert leftovers(store) == []
        assert git(store, "status", "--short") == "?? mine.txt"
    assert land(store) == 0
    assert git(store, "rev-parse", "main") == git(base, "rev-parse", "train/x")
    assert git(store, "status", "--short") == "?? mine.txt"
    assert (store / "mine.txt").read_text() == "keep"
    shutil.rmtree(store)


@pytest.mark.parametrize("stop", SIGNALS)
def test_a_landing_that_is_stopped(base: Path, tmp_path: Path, stop: signal.Signals) -> None:
    copy = shutil.copytree(base, tmp_path / "count")
    for event in moments(land, copy, 8, seed=stop):
        check_landing(base, tmp_path / "s", stop, event)


@pytest.mark.stress
@pytest.mark.parametrize("stop", SIGNALS)
def test_a_landing_that_is_stopped_at_every_other_moment(
    base: Path, tmp_path: Path, stop: signal.Signals
) -> None:
    copy = shutil.copytree(base, tmp_path / "count")
    for event in moments(land, copy, 150, seed=5):
        check_landing(base, tmp_path / "s", stop, event)


@pytest.fixture
def sample(tmp_path: Path) -> Path:
    path = tmp_path / "sample"
    for file, text in {"experiences/a.md": page("a"), "cases/test.jsonl": "{}\n", "README.md": "x\n"}.items():
        (path / file).parent.mkdir(parents=True, exist_ok=True)
        (path / file).write_text(text)
    return path


def check_making(store: Path, event: int) -> None:
    code, errors, _ = in_child(store, signal.SIGINT, event, action=make)
    assert code in {0, INTERRUPTED}, (event, code, errors)
    assert "Traceback" not in errors
    if store.exists():
        assert git(store, "ls-files").splitlines() == sorted(
            ["README.md", "cases/test.jsonl", "experiences/a.md", "xp.toml"]
        )
        assert git(store, "status", "--short") == ""
        shutil.rmtree(store)
    assert make(store) == 0
    shutil.rmtree(store)


@pytest.mark.usefixtures("sample")
def test_a_store_that_is_interrupted_while_it_is_made(tmp_path: Path) -> None:
    for event in moments(make, tmp_path / "count", 8, seed=3):
        check_making(tmp_path / "s", event)


@pytest.mark.stress
@pytest.mark.usefixtures("sample")
def test_a_store_that_is_interrupted_at_every_other_moment(tmp_path: Path) -> None:
    for event in moments(make, tmp_path / "count", 150, seed=4):
        check_making(tmp_path / "s", event)
