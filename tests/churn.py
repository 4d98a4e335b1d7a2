"""What else goes on in a repository while plans are written: git's own cleaning, and a person at work.

Each is for `tests.crowd.meanwhile`. Git's pruning takes what a commit of git's own has written and not yet
pointed a ref at, so person and cleaner of one repository take turns; the store takes none with anybody.
"""

from __future__ import annotations

import fcntl
import shutil
from contextlib import contextmanager
from itertools import cycle
from typing import TYPE_CHECKING

from tests.builders import page
from tests.crowd import quietly

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator
    from pathlib import Path

    Work = Callable[[Callable[[], bool]], None]


@contextmanager
def _turn(repo: Path) -> Iterator[None]:
    with repo.with_name(f"{repo.name}.turn").open("a") as stream:
        fcntl.flock(stream, fcntl.LOCK_EX)
        yield


def cleaner(*repos: Path) -> Work:
    """Prune and pack one repository after the other, over and over."""

    def work(go_on: Callable[[], bool]) -> None:
        for repo in cycle(repos):
            if not go_on():
                return
            with _turn(repo):
                quietly(repo, "gc", "-q", "--prune=now")
            quietly(repo, "pack-refs", "--all")

    return work


def person(repo: Path, diary: Path) -> Work:
    """Edit, commit with plain git on the branch that is checked out, and work in a linked working tree.

    Puts into `diary` what git said was committed, a line each.
    """

    def work(go_on: Callable[[], bool]) -> None:
        number = 0
        (repo / "experiences").mkdir(exist_ok=True)
        with diary.open("a", buffering=1) as stream:
            while go_on():
                number += 1
                with (repo / "notes.txt").open("a") as notes:
                    notes.write(f"note {number}\n")
                (repo / "experiences" / f"pat-{number}.md").write_text(page(f"pat-{number}"))
                with _turn(repo):
                    staged = quietly(repo, "add", "notes.txt", f"experiences/pat-{number}.md") == 0
                    done = staged and quietly(repo, "commit", "-q", "-m", f"Note {number}") == 0
                if done:
                    stream.write(f"{number}\n")
                _elsewhere(repo, number)

    return work


def _elsewhere(repo: Path, number: int) -> None:
    """Commit on another branch, in a working tree of its own."""
    there = repo.with_name(f"{repo.name}-{number}")
    with _turn(repo):
        quietly(repo, "worktree", "add", "-q", "-b", f"pat/{number}", str(there), "main")
        if there.is_dir():
            (there / "elsewhere.txt").write_text(f"{number}\n")
            quietly(there, "add", "elsewhere.txt")
            quietly(there, "commit", "-q", "-m", f"Elsewhere {number}")
            quietly(repo, "worktree", "remove", "--force", str(there))
    shutil.rmtree(there, ignore_errors=True)
