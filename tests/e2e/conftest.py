"""A user at a shell, with a home and a git configuration of their own. Only `xp` runs in this process."""

from __future__ import annotations

import io
import json
import os
import subprocess
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from unittest import mock

import pytest

from tests.homes import libgit2_home
from xpstore.cli.main import run as run_xp

TAU_BENCH = Path(__file__).resolve().parents[3] / "shared/data/tau-bench/gpt-4o-airline.tasks-0-39.json"


@dataclass(frozen=True)
class User:
    """Runs commands in a directory, as somebody would type them."""

    home: Path
    where: Path

    def run(self, *words: str, code: int = 0, stdin: str | None = None) -> str:
        done = subprocess.run(
            words,
            cwd=self.where,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=False,
            input=stdin,
        )
        assert done.returncode == code, f"{words}: {done.returncode}\n{done.stdout}\n{done.stderr}"
        assert "Traceback" not in done.stderr
        return done.stdout if code == 0 else done.stdout + done.stderr

    def xp(self, *words: str, code: int = 0) -> str:
        """Run `xp` without starting it, which is most of what it costs; test_readme.py starts it."""
        out, err = (io.TextIOWrapper(io.BytesIO(), encoding="utf-8", write_through=True) for _ in range(2))
        with (
            chdir(self.where),
            mock.patch.dict(os.environ, self.environment(), clear=True),
            libgit2_home(self.home),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            done = run_xp(words)
        said, complaints = (stream.buffer.getvalue().decode() for stream in (out, err))
        assert done == code, f"xp {words}: {done}\n{said}\n{complaints}"
        return said if code == 0 else said + complaints

    def json(self, *words: str, code: int = 0) -> dict:
        return json.loads(self.xp(*words, "--json", code=code))

    def git(self, *words: str, code: int = 0) -> str:
        return self.run("git", *words, code=code).rstrip("\n")

    def at(self, where: Path | str) -> User:
        return User(self.home, self.where / where)

    def environment(self) -> dict[str, str]:
        kept = {k: v for k, v in os.environ.items() if not k.startswith(("GIT_", "XP_"))}
        return {
            **kept,
            "HOME": str(self.home),
            "GIT_CONFIG_NOSYSTEM": "1",
            "LC_ALL": "C.UTF-8",
            "TZ": "UTC",
            "NO_COLOR": "1",
        }


def make_user(where: Path) -> User:
    home = where / "home"
    home.mkdir()
    (home / ".gitconfig").write_text(
        "[user]\n\tname = Pat\n\temail = pat@example.org\n[init]\n\tdefaultBranch = main\n", encoding="utf-8"
    )
    return User(home, where)


@pytest.fixture(scope="module")
def user(tmp_path_factory: pytest.TempPathFactory) -> User:
    return make_user(tmp_path_factory.mktemp("user"))


@pytest.fixture(scope="module")
def tau_bench() -> Path:
    if not TAU_BENCH.exists():
        pytest.skip(f"the recorded rollouts are not here: {TAU_BENCH}")
    return TAU_BENCH
