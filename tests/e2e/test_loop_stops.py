"""Ctrl-C or a kill at any moment of the loop: the next run ends where an undisturbed one does."""

from __future__ import annotations

import io
import os
import random
import shutil
import signal
import sys
from pathlib import Path

import pytest

from tests.builders import fsck, git
from tests.e2e.bad import leftovers
from tests.e2e.test_interrupts import TOUCHING
from tests.trainer.case_store import install_scripted, make_case_store
from tests.trainer.doubles import CaseEditor
from xpstore.cli.main import INTERRUPTED, run

pytestmark = pytest.mark.slow
LOOP = ["train", "--trials", "2", "--epochs", "2", "--eval-trials", "1"]


@pytest.fixture
def base(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(install_scripted(tmp_path / "site")))
    monkeypatch.setattr("trainer.assembly.OfflineEditor", CaseEditor)
    return make_case_store(tmp_path / "s", train=["a", "b", "c"], test=["d", "e"])


def loop(store: Path) -> int:
    return run(["-C", str(store), *LOOP])


def in_child(store: Path, how: signal.Signals, event: int = 0) -> tuple[int, int]:
    """Run the loop in a process that stops itself at this event; return exit code and events seen."""
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        seen = 0

        def count(name: str, _: object) -> None:
            nonlocal seen
            if name in TOUCHING:
                seen += 1
                if seen == event:
                    os.kill(os.getpid(), how)

        sys.stdout, sys.stderr = io.StringIO(), io.StringIO()
        code = 99
        try:
            sys.addaudithook(count)
            code = loop(store)
        finally:
            os.write(write_end, str(seen).encode())
            os._exit(code)
    os.close(write_end)
    with os.fdopen(read_end) as stream:
        seen = int(stream.read() or 0)
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), seen


def state(store: Path) -> tuple[str, int, int, int]:
    """Return what was learned, and how many rollouts, evaluations and notes there are."""
    (branch,) = git(store, "for-each-ref", "--format=%(refname)", "refs/heads/train").split()
    files = git(store, "ls-tree", "-r", "--name-only", "xp/evidence").split()
    kept = [sum(name.startswith(f"{kind}/") for name in files) for kind in ("rollouts", "evaluations")]
    notes = git(store, "notes", "--ref=xp-eval", "list").splitlines()
    return git(store, "rev-parse", f"{branch}:experiences"), *kept, len(notes)


def check(base: Path, tmp_path: Path, how: signal.Signals, moments: int, seed: int) -> None:
    whole = Path(shutil.copytree(base, tmp_path / "whole"))
    code, events = in_child(whole, how)
    assert code == 0
    expected = state(whole)
    assert expected[1:] == (12, 2, 2)
    drawn = random.Random(seed)  # noqa: S311  # moments, no secret
    for event in sorted(drawn.sample(range(1, events), moments)):
        store = Path(shutil.copytree(base, tmp_path / f"at-{event}"))
        git(store, "status")
        code, _ = in_child(store, how, event)
        assert code in ({0, INTERRUPTED} if how == signal.SIGINT else {0, -how})
        fsck(store)
        assert git(store, "status", "--short") == ""
        assert loop(store) == 0
        assert state(store) == expected, event
        assert not [name for name in leftovers(store) if name.endswith(".lock")]
        shutil.rmtree(store)


@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stop_at_some_moments(base, tmp_path, how):
    check(base, tmp_path, how, 3, seed=how)


@pytest.mark.stress
@pytest.mark.parametrize("how", [signal.SIGINT, signal.SIGKILL])
def test_a_stop_at_many_moments(base, tmp_path, how):
    check(base, tmp_path, how, 60, seed=5)
