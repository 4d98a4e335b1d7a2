"""Small stores and plans for tests."""

from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

from xpstore.hashing import content_id
from xpstore.init import init
from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan, RolloutRef
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location

ROLLOUT = content_id("a rollout")


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
    git(where, "config", "user.name", "Pat")
    git(where, "config", "user.email", "pat@example.org")


def make_store(path: Path, **options: str) -> Location:
    """Return a new store at `path` whose repository has a user."""
    loc = init(path, **options)
    identify(loc.repo.place)
    return loc


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
