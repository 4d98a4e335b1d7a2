"""Small stores and plans for tests."""

from __future__ import annotations

import atexit
import os
import shutil
import subprocess
import tempfile
from functools import cache
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING
from unittest import mock

from tests.homes import libgit2_home
from xpstore.git import Repo
from xpstore.hashing import content_id
from xpstore.init import init
from xpstore.location import Location
from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan, RolloutRef
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator

ROLLOUT = content_id("a rollout")
TEMPLATES = 16
"""Stores with ids of their own that are there to copy: more than any test puts beside each other."""


def git(where: Path, *args: str) -> str:
    """Run git as a user would and return its output without the final newline."""
    done = subprocess.run(["git", *args], cwd=where, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"git {args}: {done.stderr}"
    return done.stdout.rstrip("\n")


def every_object(where: Path) -> bytes:
    """Return the content of every object in the repository, reachable or not."""
    command = ["git", "cat-file", "--batch-all-objects", "--batch", "--unordered"]
    return subprocess.run(command, cwd=where, capture_output=True, check=True).stdout


def fsck(where: Path) -> None:
    """Assert that git finds nothing wrong; dangling objects are fine."""
    done = subprocess.run(
        ["git", "fsck", "--strict", "--full"], cwd=where, capture_output=True, text=True, check=False
    )
    lines = [
        line
        for line in (done.stdout + done.stderr).splitlines()
        if not line.startswith(("dangling", "notice", "Checking"))
    ]
    assert (done.returncode, lines) == (0, [])


def identify(where: Path) -> None:
    """Give the repository a user, so that plain git can commit in it."""
    folder = where / ".git" if (where / ".git").is_dir() else where
    with (folder / "config").open("r+", encoding="utf-8") as config:
        config.seek(0, os.SEEK_END)
        config.write("[user]\n\tname = Pat\n\temail = pat@example.org\n")


def make_store(path: Path, **options: str) -> Location:
    """Return a new store at `path` whose repository has a user.

    Where nothing is around it and it is to be as stores are, it is a copy of one that `init` made before.
    """
    if options or path.exists() or Repo.discover(_existing(path)):
        loc = init(path, **options)
        identify(loc.repo.place)
        return loc
    shutil.copytree(_template(next(_turns) % TEMPLATES), path, symlinks=True)
    return Location.find(path)


_turns: Iterator[int] = count()


@cache
def _template(number: int) -> Path:
    """Make the store to copy; nothing of the HOME of the test that needs it first gets into it."""
    top = Path(tempfile.mkdtemp(prefix="xpstore-template-"))
    atexit.register(shutil.rmtree, top)
    home = {"HOME": str(top), "XDG_CONFIG_HOME": str(top), "GIT_CONFIG_GLOBAL": str(top / "none")}
    with mock.patch.dict(os.environ, home), libgit2_home(top):
        loc = init(top / str(number))
    identify(loc.repo.place)
    return top / str(number)


def _existing(path: Path) -> Path:
    return next(p for p in path.absolute().parents if p.exists())


def page(name: str, *approach: str) -> str:
    """Return a small experience file."""
    lines = "".join(f"- {line}\n" for line in approach or ("Look before you leap.",))
    return f"---\nname: {name}\ndescription: When {name} is asked for.\n---\n\n## Approach\n\n{lines}"


def upsert(name: str, after: str, before: str | None = None) -> PolicyPlanItem:
    return PolicyPlanItem(
        kind="upsert_experience", target_experience_name=name, before_content=before, after_content=after
    )


def delete(name: str, before: str) -> PolicyPlanItem:
    return PolicyPlanItem(
        kind="delete_experience", target_experience_name=name, before_content=before, after_content=None
    )


def make_plan(loc: Location, *items: PolicyPlanItem, branch: str = "", **fields: object) -> PolicyUpdatePlan:
    """Return a plan with these items, computed on the tip of `branch` (default: main)."""
    base = loc.repo.ref(loc.branch_ref(branch or loc.config.main)) or loc.repo.ref(loc.main_ref)
    values = {
        "items": items,
        "subject": "Teach " + ", ".join(i.target_experience_name for i in items),
        "rationale": "Seen in 1 rollout, 1 passed.",
        "base_commit": base,
        "store_id": loc.config.id,
        "run_id": "run-1",
        "learner": "offline/1",
        "rollouts": (RolloutRef(id=ROLLOUT, passed=True),),
        **fields,
    }
    return PolicyUpdatePlan.model_validate(values)


def texts(loc: Location, ref: str) -> dict[str, str]:
    """Return name → text of the experiences at a ref."""
    return {p.name: p.text for p in snapshot(loc, ref).policies}
