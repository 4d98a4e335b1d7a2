"""Runs `xp bench tau2` as a process, in front of scripted models; and kills it."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from dataclasses import dataclass
from typing import TYPE_CHECKING

from tests.tau2_world import AGENT

if TYPE_CHECKING:
    from pathlib import Path

    from tests.llm_server import Seen
    from tests.tau2_world import World

XP = [sys.executable, "-c", "from xpstore.cli.main import main; main()"]


@dataclass
class Desk:
    """Where benchmarks are run."""

    world: World
    python: str
    folder: Path

    def command(self, name: str, *options: str) -> list[str]:
        given = ("--python", self.python, "--agent-model", "scripted", "--json", *options)
        return [*XP, "bench", "tau2", name, *given]

    @property
    def environ(self) -> dict[str, str]:
        return {**os.environ, "OPENAI_BASE_URL": self.world.server.url}

    def run(self, name: str, *options: str) -> dict[str, object]:
        command = self.command(name, *options)
        done = subprocess.run(command, cwd=self.folder, env=self.environ, capture_output=True, check=False)
        assert done.returncode == 0, done.stderr.decode()
        return json.loads(done.stdout)

    def run_killed(self, name: str, after: int, *options: str) -> None:
        """Kill it when its agent asks its model for the n-th time."""
        asked = 0
        process = subprocess.Popen(
            self.command(name, *options), cwd=self.folder, env=self.environ, stdout=subprocess.DEVNULL
        )

        def agent(seen: Seen) -> object:
            nonlocal asked
            asked += 1
            if asked == after:
                process.kill()
            return self.world.agent(seen)

        self.world.server.on(AGENT, agent)
        assert process.wait() == -signal.SIGKILL
        self.world.server.on(AGENT, self.world.agent)
