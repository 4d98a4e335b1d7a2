"""`xp bench tau2` as a user types it: a service as a process of its own, scripted models over HTTP."""

from __future__ import annotations

import json
import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.tau2_desk import XP, Desk
from tests.tau2_world import AGENT, World, load
from trainer.bench.artifacts import artifacts

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

    from tests.llm_server import LlmServer

pytestmark = pytest.mark.tau2

FEW = ("--trials", "2", "--train-limit", "4", "--eval-limit", "4", "--concurrency", "3", "--train-labels")


@pytest.fixture
def desk(models: LlmServer, tau2_python: str, tau2_data: Path, tmp_path: Path) -> Desk:
    return Desk(World(models, load(tau2_data / "airline")[0]), tau2_python, tmp_path)


def told(report: dict[str, object]) -> dict[str, object]:
    """Return a report without places, and without what was there before."""
    loop = dict(report["loop"])  # type: ignore[call-overload]
    for name in ("baseline", "final"):
        loop[name] = {k: v for k, v in loop[name].items() if k != "reused"}
    loop["epochs"] = [{k: v for k, v in epoch.items() if k != "taken_up"} for epoch in loop["epochs"]]
    scores = ("accuracy", "passed", "n", "by_case", "average_reward")
    stages = {name: [loop[name][key] for key in scores] for name in ("baseline", "final")}
    learned = [lesson for epoch in loop["epochs"] for lesson in epoch["learned"]["plans"]]
    return {
        "stages": stages,
        "epochs": [[epoch[key] for key in scores] for epoch in loop["epochs"]],
        "lessons": [plan["items"] for plan in learned],
        "bills": report["bills"],
        "pass_hat": report["pass_hat"],
        "flips": report["flips"],
    }


def test_what_was_killed_goes_on_and_comes_to_the_same(desk: Desk):
    whole = desk.run("whole", *FEW)
    calls = desk.world.server.counts[AGENT]
    desk.run_killed("stopped", calls // 2, *FEW)
    kept = len(list(artifacts(desk.folder / "stopped" / "rollouts")))
    assert kept
    before = desk.world.server.counts[AGENT]
    resumed = desk.run("stopped", *FEW)
    assert told(resumed) == told(whole)
    assert desk.world.server.counts[AGENT] - before < calls
    again = desk.world.server.counts[AGENT]
    assert told(desk.run("stopped", *FEW)) == told(whole)
    assert desk.world.server.counts[AGENT] == again


def test_the_whole_split_killed_in_the_middle_and_resumed(desk: Desk):
    options = ("--trials", "1", "--concurrency", "4", "--train-labels")
    desk.run_killed("full", 120, *options)
    report = desk.run("full", *options)
    check(report, cases=20, floor=6)
    assert json.loads((desk.folder / "full" / "report.json").read_text("utf-8")) == report


def check(report: dict[str, object], cases: int, floor: int) -> None:
    loop = report["loop"]
    assert (report["floor"]["passed"], report["floor"]["n"]) == (floor, cases)  # type: ignore[index]
    assert (loop["baseline"]["n"], loop["final"]["n"]) == (cases, cases)  # type: ignore[index]
    assert not loop["baseline"]["failures"]  # type: ignore[index]
    assert not loop["final"]["failures"]  # type: ignore[index]
    assert loop["delta"] == loop["final"]["accuracy"] - loop["baseline"]["accuracy"]  # type: ignore[index]


REFUSED: list[tuple[Sequence[str], str]] = [
    (("--url", "http://127.0.0.1:9", "--agent-model", "m"), "--agent-model is for a service to start"),
    ((), "no model is named"),
    (("--agent-model", "m", "--domain", "mock"), "no split 'train'"),
    (("--agent-model", "m", "--option", "agent_modle=x"), "has not started"),
    (("--agent-model", "m", "--python", "/nowhere/python"), "cannot start"),
]


@pytest.mark.parametrize(("options", "why"), REFUSED)
def test_what_cannot_be_is_said_at_once(tau2_python: str, tmp_path: Path, options: Sequence[str], why: str):
    python = () if "--url" in options or "--python" in options else ("--python", tau2_python)
    given = options if not options else (*python, *options)
    done = subprocess.run(
        [*XP, "bench", "tau2", "b", *given], cwd=tmp_path, capture_output=True, text=True, check=False
    )
    assert done.returncode in {1, 2}
    assert why in done.stderr
    assert "Traceback" not in done.stderr
