from __future__ import annotations

import os
import subprocess
import sys
from functools import partial
from pathlib import Path

from tests.benchmarks.timing import cpu, interleave, medians, table
from tests.benchmarks.worlds import World
from tests.builders import git
from xpstore.commit import commit


def test_what_people_type(*, full: bool, tmp_path: Path) -> None:
    world = World(tmp_path, 100, 0)
    for _ in range(20):
        commit(world.loc, [world.plan()], "main")
    git(tmp_path, "symbolic-ref", "HEAD", "refs/heads/main")
    xp = [Path(sys.executable).with_name("xp")]
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "python -c 'import pygit2'": [sys.executable, "-c", "import pygit2"],
        "xp --help": [*xp, "--help"],
        "xp log -n 1 main": [*xp, "log", "-n", "1", "main"],
        "xp show main": [*xp, "show", "main"],
        "xp status": [*xp, "status"],
        "xp search refund": [*xp, "search", "refund"],
    }
    # byte code is kept, as where it is installed
    env = {key: value for key, value in os.environ.items() if key != "PYTHONDONTWRITEBYTECODE"}
    run = partial(subprocess.run, cwd=tmp_path, check=True, capture_output=True, env=env)
    found = medians(
        interleave({n: partial(run, c) for n, c in commands.items()}, 30 if full else 7, clock=cpu)
    )
    base = found["python -c 'import pygit2'"]
    table("start-up", ("ms CPU", "of import pygit2"), {name: (ms, ms / base) for name, ms in found.items()})
