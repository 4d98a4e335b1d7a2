"""For tests of hooks: a stand-in for xp that says how it was started, and git as people use it."""

from __future__ import annotations

import os
import subprocess
from typing import TYPE_CHECKING

from tests.builders import git, identify, page
from xpstore.git import Repo

if TYPE_CHECKING:
    from pathlib import Path

FAKE = """#!/bin/sh
echo "$@" >> "$XP_SAID"
case "$2" in pre-push|pre-receive) cat >> "$XP_SAID" ;; esac
exit "${XP_CODE:-0}"
"""


def stand_in(folder: Path, monkeypatch) -> Path:
    """Put a program called xp first on PATH; return the file with what it was told."""
    program = folder / "bin" / "xp"
    program.parent.mkdir()
    program.write_text(FAKE)
    program.chmod(0o755)
    said = folder / "said"
    said.touch()
    monkeypatch.setenv("XP_SAID", str(said))
    monkeypatch.setenv("PATH", f"{program.parent}{os.pathsep}{os.environ['PATH']}")
    return said


def plain_repository(path: Path, *options: str) -> Repo:
    """Make a repository that is no store, with a user and no template's hooks."""
    path.mkdir(parents=True, exist_ok=True)
    git(path, "init", "-q", "-b", "main", "--template=", *options)
    identify(path)
    return opened(path)


def opened(path: Path) -> Repo:
    """Open the repository around a folder."""
    repo = Repo.discover(path)
    assert repo
    return repo


def script(file: Path, text: str, mode: int = 0o755) -> Path:
    """Write an executable file."""
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(text)
    file.chmod(mode)
    return file


def attempt(where: Path, *args: str, stdin: str = "") -> tuple[int, str]:
    """Run git as a user would; return its exit code and all that it said."""
    done = subprocess.run(["git", *args], cwd=where, input=stdin, capture_output=True, text=True, check=False)
    return done.returncode, done.stdout + done.stderr


def write_page(root: Path, name: str, *approach: str, folder: str = "experiences") -> str:
    """Write a page into the working tree and stage it; return its path."""
    file = root / folder / f"{name}.md"
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(page(name, *approach), encoding="utf-8")
    path = str(file.relative_to(root))
    git(root, "add", "--", path)
    return path


def picture(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return mode and bytes of every file below a folder: what must be the same afterwards."""
    return {
        str(file.relative_to(folder)): (file.stat().st_mode, file.read_bytes())
        for file in sorted(folder.rglob("*"))
        if file.is_file()
    }
