"""`xp train --executor ray` as a user types it, on a real cluster of this machine: `make ray`."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import time
from importlib.util import find_spec
from pathlib import Path

import pytest

from tests.builders import git, texts
from xpstore.evidence import find_ids
from xpstore.init import init
from xpstore.location import Location
from xpstore.source import read_source

pytestmark = [
    pytest.mark.ray,
    pytest.mark.skipif(find_spec("ray") is None, reason="Ray is not installed: make ray"),
]
LEARN = ("--trials", "4", "--train-limit", "15", "--eval-limit", "4", "--eval-trials", "1", "--json")


@pytest.fixture
def stores(tmp_path, request):
    """Two clones of one store."""
    here = init(tmp_path / "here", source=read_source(request.config.rootpath / "sample_repo"))
    git(tmp_path, "clone", "-q", str(tmp_path / "here"), "there")
    return here, Location.find(tmp_path / "there")


def start(location: Location, *words: str, **environment: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [str(Path(sys.executable).with_name("xp")), "train", *words],
        cwd=location.repo.workdir,
        env={**os.environ, "RAY_AUTH_MODE": "disabled", **environment},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
        preexec_fn=lambda: signal.signal(signal.SIGINT, signal.default_int_handler) and None,  # noqa: PLW1509
    )


def train(location: Location, *words: str, code: int = 0, **environment: str) -> tuple[str, str]:
    with start(location, *words, **environment) as process:
        out, err = process.communicate()
    assert process.returncode == code, err
    return out, err


def of_session(session: int) -> list[str]:
    """Return the programs of a session that run still."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            state = (folder / "stat").read_text().rpartition(")")[2].split()
        except OSError:  # it has ended
            continue
        if int(state[3]) == session and state[0] != "Z":
            found.append((folder / "cmdline").read_bytes().decode(errors="replace"))
    return found


def test_interrupted_in_the_middle_and_begun_again_it_is_the_same_as_here(stores):
    here, there = stores
    local = json.loads(train(here, *LEARN)[0])
    with start(there, *LEARN, "--executor", "ray") as process:
        while process.poll() is None and len(find_ids(there, "rollouts", "")) < 10:
            time.sleep(0.02)
        process.send_signal(signal.SIGINT)
        _, err = process.communicate()
    assert (process.returncode, "Traceback" in err) == (130, False), err
    assert of_session(process.pid) == []
    kept = set(find_ids(there, "rollouts", ""))
    far = json.loads(train(there, *LEARN, "--executor", "ray", "--cluster-remote", "origin")[0])
    assert kept <= set(find_ids(there, "rollouts", "")) == set(find_ids(here, "rollouts", ""))
    assert texts(there, far["branch"]) == texts(here, local["branch"])
    assert (far["run_id"], far["delta"]) == (local["run_id"], local["delta"])
    for stage in ("baseline", "final"):
        told = [
            {key: report[stage][key] for key in ("key", "n", "passed", "by_case")} for report in (local, far)
        ]
        assert told[0] == told[1]
    assert "refs/xp/pinned" not in git(here.repo.place, "for-each-ref")


def test_what_cannot_be_reached_is_told_before_anything_is_tried(stores):
    _, there = stores
    small = ("--no-eval", "--train-limit", "2", "--trials", "1", "--executor", "ray")
    assert "no remote 'nope'" in train(there, *small, "--cluster-remote", "nope", code=2)[1]
    git(there.repo.place, "remote", "add", "gone", "../nowhere.git")
    err = train(there, *small, "--cluster-remote", "gone", code=1)[1]
    assert re.match("error: gone did not take it", err)
    err = train(there, *small, code=1, RAY_ADDRESS="127.0.0.1:1")[1]
    assert re.match("error: no cluster answers at 127.0.0.1:1", err)
    assert find_ids(there, "rollouts", "") == []


def test_a_rollout_that_takes_too_long_is_a_failure_of_its_case_and_ends_its_worker(stores):
    _, there = stores
    words = ("--no-eval", "--train-limit", "2", "--trials", "1", "--time-limit", "0.001", "--executor", "ray")
    with start(there, *words, "--json") as process:
        out, err = process.communicate()
    assert process.returncode == 1, err
    (epoch,) = json.loads(out)["epochs"]
    assert [failure["error"] for failure in epoch["failures"]] == [epoch["failures"][0]["error"]] * 2
    assert epoch["failures"][0]["error"] == "no answer within 0.001 s"
    assert of_session(process.pid) == []
