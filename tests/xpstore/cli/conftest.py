from __future__ import annotations

import json
import shutil
import subprocess
from dataclasses import dataclass
from typing import TYPE_CHECKING

import pytest

from xpstore.cli.main import run
from xpstore.config import FORMAT, StoreConfig, render_config

if TYPE_CHECKING:
    from pathlib import Path


def git(path: Path, *args: str) -> str:
    identity = ["-c", "user.name=Ann", "-c", "user.email=ann@example.invalid"]
    done = subprocess.run(["git", *identity, *args], cwd=path, capture_output=True, text=True, check=True)
    return done.stdout.strip()


def write_page(path: Path, name: str, text: str) -> None:
    file = path / "experiences" / f"{name}.md"
    file.parent.mkdir(exist_ok=True)
    file.write_text(text, encoding="utf-8")


def commit_all(path: Path, message: str) -> str:
    git(path, "add", "-A")
    git(path, "commit", "-q", "-m", message)
    return git(path, "rev-parse", "HEAD")


@dataclass
class Store:
    """A store in a real repository, and `xp` run in it."""

    path: Path
    capsys: pytest.CaptureFixture[str]

    def git(self, *args: str) -> str:
        return git(self.path, *args)

    def write(self, name: str, text: str) -> None:
        write_page(self.path, name, text)

    def commit(self, message: str = "Edit by hand") -> str:
        return commit_all(self.path, message)

    def xp(self, *args: str) -> tuple[int, str, str]:
        """Run a command line; return exit code, stdout, stderr."""
        self.capsys.readouterr()
        code = run(["-C", str(self.path), *args])
        captured = self.capsys.readouterr()
        return code, captured.out, captured.err

    def json(self, *args: str) -> dict[str, object]:
        """Run a command line that must answer with one JSON object and exit code 0."""
        code, out, err = self.xp(args[0], "--json", *args[1:])
        assert (code, err) == (0, "")
        return json.loads(out)


def page(description: str, *statements: str, status: str = "production") -> str:
    lines = "\n".join(f"- {s}" for s in statements)
    return f"---\ndescription: {description}\nstatus: {status}\n---\n\n## Approach\n\n{lines}\n"


@pytest.fixture(scope="session")
def template(tmp_path_factory) -> Path:
    """What `store` is a copy of."""
    path = tmp_path_factory.mktemp("template") / "s"
    path.mkdir()
    git(path, "init", "-q", "-b", "main")
    (path / "xp.toml").write_text(render_config(StoreConfig(format=FORMAT, id="teststore")), encoding="utf-8")
    write_page(
        path, "cancel-flight", page("Cancelling reservations", "Check the insurance before cancelling.")
    )
    write_page(path, "refund-item", page("Refunds of delivered items", "Ask for the order number first."))
    write_page(path, "退票", page("乘客要求退票", "先查询订单,再办理退款。"))
    refunds = page("Refunds, as they were", "Refund everything.", status="archived")
    write_page(path, "old-refund", refunds)
    commit_all(path, "Write four pages")
    return path


@pytest.fixture
def store(template, tmp_path, capsys) -> Store:
    """A store with four experiences, one of them archived, on main."""
    shutil.copytree(template, tmp_path / "s")
    return Store(tmp_path / "s", capsys)
