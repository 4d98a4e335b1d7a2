"""The loop in real processes: what goes wrong with a rollout, Ctrl-C in an epoch, and what comes after."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys

import pytest

from tests.builders import fsck, git, texts
from tests.trainer.case_store import ROOT, install_scripted, make_case_store, write_suites
from xpstore.cli.main import INTERRUPTED
from xpstore.location import Location

pytestmark = pytest.mark.slow
XP = """
import trainer.assembly
from tests.trainer.doubles import CaseEditor
trainer.assembly.OfflineEditor = CaseEditor
from xpstore.cli.main import main
main()
"""
"""`xp` with a learner that writes a page per case, so that a run of moments teaches something."""


@pytest.fixture
def store(tmp_path):
    install_scripted(tmp_path / "site")
    return make_case_store(tmp_path / "s", train=["a", "b", "late-c"], test=["d"])


class Process:
    """`xp -C store` as a process that says on a pipe when a rollout hangs."""

    def __init__(self, store, *words, hangs):
        self._read, write = os.pipe()
        tell = str(write) if hangs else "never"
        path = os.pathsep.join([str(store.parent / "site"), str(ROOT)])
        self._process = subprocess.Popen(
            [sys.executable, "-c", XP, "-C", str(store), *words],
            env={**os.environ, "PYTHONPATH": path, "SCRIPTED_TELL": tell},
            pass_fds=[write],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
        )
        os.close(write)

    def wait_until_it_hangs(self):
        assert os.read(self._read, 1) == b".", self._process.communicate()

    def stop(self, how):
        self._process.send_signal(how)

    def end(self):
        out, err = self._process.communicate(timeout=60)
        os.close(self._read)
        assert "Traceback" not in err
        return self._process.returncode, out, err


def xp(store, *words, hangs=False):
    return Process(store, *words, hangs=hangs).end()


def recorded(store):
    if not git(store, "for-each-ref", "refs/heads/xp/evidence"):
        return []
    return git(store, "ls-tree", "-r", "--name-only", "xp/evidence", "rollouts").split()


def test_what_goes_wrong_is_reported_under_its_case_and_the_run_goes_on(store):
    bad = ["crash", "slow", "stray", "unscored"]
    write_suites(store, train=["a", *bad], test=["d", *(f"{name}-t" for name in bad)])
    words = ("train", "--trials", "1", "--eval-trials", "1", "--time-limit", "2", "--json")
    process = Process(store, *words, hangs=True)
    code, out, err = process.end()
    assert (code, err) == (1, "")
    answer = json.loads(out)
    (epoch,) = answer["epochs"]
    stages = {**dict.fromkeys(bad, "execute"), "unscored": "evaluate"}
    assert {f["name"]: f["stage"] for f in epoch["failures"]} == stages
    for stage in (answer["baseline"], answer["final"]):
        assert {f["name"]: f["stage"] for f in stage["failures"]} == {
            "crash-t": "execute",
            "slow-t": "execute",
            "stray-t": "execute",
            "unscored-t": "evaluate",
        }
        assert (stage["cases"], stage["n"]) == (5, 1)
    assert set(texts(Location.find(store), answer["branch"])) == {"a"}


def test_ctrl_c_in_an_epoch_keeps_what_is_landed_and_the_rest_is_taken_up(store):
    words = ("train", "--trials", "1", "--epochs", "2", "--no-eval")
    process = Process(store, *words, hangs=True)
    process.wait_until_it_hangs()  # in the second epoch; the first one has landed
    process.stop(signal.SIGINT)
    code, out, err = process.end()
    assert code == INTERRUPTED
    assert "[train_epoch] epoch=0 cases=3" in out
    assert "[train_epoch] epoch=1" not in out
    assert err.splitlines() == [
        "What was recorded and committed is kept; the same command goes on from there.",
        "interrupted",
    ]
    fsck(store)
    (branch,) = git(store, "for-each-ref", "--format=%(refname:short)", "refs/heads/train").split()
    landed = git(store, "rev-parse", branch)
    assert set(texts(Location.find(store), branch)) == {"a", "b", "late-c"}
    assert git(store, "status", "--short") == ""

    code, out, _ = xp(store, *words, "--json")
    assert code == 0
    first, second = json.loads(out)["epochs"]
    assert (first["taken_up"], first["n"], first["commits"]) == (3, 3, [])
    assert (second["n"], second["passed"]) == (3, 3)
    assert second["taken_up"] < 3
    assert git(store, "rev-parse", branch) == landed
    assert len(recorded(store)) == 6
    assert xp(store, "verify", branch)[0] == 0


@pytest.mark.parametrize("how", [pytest.param(signal.SIGINT, marks=pytest.mark.stress), signal.SIGKILL])
def test_a_stop_before_anything_landed_loses_nothing_that_was_recorded(store, how):
    write_suites(store, train=["a", "b", "slow-c"])
    words = ("train", "--trials", "1", "--no-eval", "--concurrency", "1")
    process = Process(store, *words, hangs=True)
    process.wait_until_it_hangs()
    while len(recorded(store)) < 2:
        pass  # what was done before it hangs is still being written
    process.stop(how)
    code, out, _ = process.end()
    assert (code, out) == (INTERRUPTED if how == signal.SIGINT else -how, "")
    assert git(store, "for-each-ref", "refs/heads/train") == ""
    code, out, _ = xp(store, *words, "--json")
    (epoch,) = json.loads(out)["epochs"]
    assert (epoch["taken_up"], epoch["n"]) == (2, 3)
    assert {name for plan in epoch["learned"]["plans"] for name in plan["items"]} == {"a", "b", "slow-c"}
