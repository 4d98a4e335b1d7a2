"""Ctrl-C or a kill at any moment of `xp train`: no half plan, no lock left, and the next run does it all."""

from __future__ import annotations

import io
import os
import random
import shutil
import signal
import sys
import threading
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builders import fsck, git
from tests.e2e.bad import leftovers, rollouts, trained
from xpstore.cli.main import INTERRUPTED, run
from xpstore.history import reachable_plan_ids
from xpstore.location import Location

if TYPE_CHECKING:
    from collections.abc import Callable

pytestmark = pytest.mark.slow
TOUCHING = frozenset({"open", "os.mkdir", "os.remove", "os.rename", "os.truncate", "subprocess.Popen"})
"""Python's audit events at which a process is about to change something on the disk, or has just done so."""
_made: dict[str, Path] = {}


@pytest.fixture
def base(tmp_path_factory, capsys) -> Path:
    """A trained store that two lessons can still be taught, and the file that teaches them."""
    if not _made:
        where = trained(tmp_path_factory.mktemp("base") / "s")
        rollouts(where.parent / "more.jsonl", 0, 40)
        _made["base"] = where
        _made["done"] = Path(shutil.copytree(where, where.parent / "done"))
        assert train(_made["done"]) == 0
    capsys.readouterr()
    return _made["base"]


def train(store: Path) -> int:
    return run(["-C", str(store), "train", str(_made["base"].parent / "more.jsonl"), "--branch", "main"])


def in_child(
    store: Path,
    stop: signal.Signals,
    event: int = 0,
    seconds: float = 0,
    action: Callable[[Path], int] = train,
) -> tuple[int, str, int]:
    """Train in a process of its own that stops itself; return exit code, errors, how many events it saw.

    It stops at the audit event of this number, or after some seconds. `action` is done instead of training.
    """
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        seen = 0

        def count(name: str, _: object) -> None:
            nonlocal seen
            if name in TOUCHING:
                seen += 1
                if seen == event:
                    os.kill(os.getpid(), stop)

        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        code = 99
        try:
            if seconds:
                threading.Timer(seconds, os.kill, (os.getpid(), stop)).start()
            else:
                sys.addaudithook(count)
            code = action(store)
        finally:
            os.write(write_end, f"{seen}\n{sys.stderr.getvalue()}".encode())
            os._exit(code)
    os.close(write_end)
    with os.fdopen(read_end) as stream:
        text = stream.read()
    code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    number, _, errors = text.partition("\n")
    return code, errors, int(number or 0)


def plans(store: Path) -> frozenset[str]:
    return reachable_plan_ids(Location.find(store), ["main"])


def check(store: Path, code: int, errors: str, stop: signal.Signals) -> None:
    assert code in ({0, INTERRUPTED} if stop == signal.SIGINT else {0, -stop}), (code, errors)
    assert "Traceback" not in errors
    fsck(store)
    known = plans(_made["done"])
    assert plans(store) in {plans(_made["base"]), known}, "half of a group landed"
    assert run(["-C", str(store), "verify", "main"]) == 0
    if stop == signal.SIGINT:
        assert leftovers(store) == []
        assert git(store, "status", "--short") == ""
    assert train(store) == 0
    assert plans(store) == known
    assert git(store, "rev-parse", "main^{tree}") == git(_made["done"], "rev-parse", "main^{tree}")
    assert git(store, "status", "--short") == ""
    assert not [name for name in leftovers(store) if name.endswith(".lock")]


def moments(base: Path, tmp_path: Path, count: int, seed: int) -> list[int]:
    copy = shutil.copytree(base, tmp_path / "count")
    code, errors, events = in_child(copy, signal.SIGINT)
    assert (code, errors) == (0, "")
    assert events > 50
    drawn = random.Random(seed)  # noqa: S311  # moments, no secret
    return sorted(drawn.sample(range(1, events), min(count, events - 1)))


@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_stop_at_some_moments(base, tmp_path, stop):
    for event in moments(base, tmp_path, 3, seed=stop):
        store = Path(shutil.copytree(base, tmp_path / f"at-{event}"))
        git(store, "status")
        code, errors, _ = in_child(store, stop, event)
        check(store, code, errors, stop)


@pytest.mark.stress
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_stop_at_every_other_moment(base, tmp_path, stop):
    for event in moments(base, tmp_path, 120, seed=7):
        store = Path(shutil.copytree(base, tmp_path / "s"))
        git(store, "status")
        code, errors, _ = in_child(store, stop, event)
        check(store, code, errors, stop)
        shutil.rmtree(store)


@pytest.mark.stress
@pytest.mark.parametrize("stop", [signal.SIGINT, signal.SIGKILL])
def test_a_stop_by_the_clock(base, tmp_path, stop):
    drawn = random.Random(11)  # noqa: S311  # moments, no secret
    for _ in range(30):
        store = Path(shutil.copytree(base, tmp_path / "s"))
        git(store, "status")
        code, errors, _ = in_child(store, stop, seconds=drawn.uniform(0.001, 1.2))
        check(store, code, errors, stop)
        shutil.rmtree(store)
