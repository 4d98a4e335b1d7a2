"""Reading long histories, each command in a process of its own as a person starts it.

Processor time of the process and its children, so that a busy machine changes little.
"""

from __future__ import annotations

import subprocess
import sys
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.benchmarks.timing import cpu, interleave, medians, table
from tests.builders import ROLLOUT, git, identify
from xpstore.commit import commit
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.init import init
from xpstore.maintain import maintain
from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan, RolloutRef

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from xpstore.location import Location

XP = str(Path(sys.executable).with_name("xp"))
PAGES = 200
NAME = "lesson-0042"
SHOWN = "20"


def command(*words: str) -> None:
    subprocess.run(words, stdout=subprocess.DEVNULL, check=True)


def stream(loc: Location, commits: int) -> Iterator[str]:
    """Yield commits for git fast-import, each a plan that changes one of PAGES pages by a line."""
    yield "reset refs/heads/main\nfrom refs/heads/main^0\n\n"
    for number in range(commits):
        name = f"lesson-{number * 7919 % PAGES:04}"
        lines = "".join(f"- Look at {name} before you do {number - back}.\n" for back in range(20))
        text = f"---\nname: {name}\ndescription: When {name} is asked for.\n---\n\n## Approach\n\n{lines}"
        message = (
            f"{name}: learn 1 lesson\n\nSeen in 5 rollouts, 3 failed.\n\nPlan-Id: {number:020x}\n"
            f"Store: {loc.config.id}\nLearner: offline/1\n"
        )
        yield (
            f"commit refs/heads/main\nauthor offline/1 <o@xpstore.invalid> {1_700_000_000 + number} +0000\n"
            f"committer Pat <pat@example.org> {1_700_000_000 + number} +0000\ndata {len(message)}\n{message}"
            f"M 100644 inline experiences/{name}.md\ndata {len(text)}\n{text}\n"
        )


@pytest.fixture
def long(tmp_path: Path, *, full: bool) -> tuple[Location, int]:
    """A store whose main has 10,000 commits."""
    commits = 10_000 if full else 2_000
    loc = init(tmp_path / "store")
    identify(loc.repo.place)
    git(loc.repo.place, "symbolic-ref", "HEAD", "refs/heads/elsewhere")
    data = "".join(stream(loc, commits)).encode()
    importing = ["git", "fast-import", "--quiet"]
    subprocess.run(importing, cwd=loc.repo.place, input=data, check=True)
    git(loc.repo.place, "symbolic-ref", "HEAD", "refs/heads/main")
    git(loc.repo.place, "read-tree", "HEAD")
    return loc, commits


def test_the_log_of_one_page(long: tuple[Location, int], *, full: bool) -> None:
    loc, commits = long
    place = str(loc.repo.place)
    path = ["--", f"experiences/{NAME}.md"]
    methods = {
        "git log -n 20 -- path": partial(command, "git", "-C", place, "log", "-n", SHOWN, *path),
        "import pygit2": partial(command, sys.executable, "-c", "import pygit2"),
        "import nothing": partial(command, sys.executable, "-c", ""),
        "xp log -n 20 --experience": partial(
            command, XP, "-C", place, "log", "-n", SHOWN, "--experience", NAME
        ),
        "xp log -n 20": partial(command, XP, "-C", place, "log", "-n", SHOWN),
    }
    for state in ("as written", "after xp maintain"):
        if state != "as written":
            assert maintain(loc)
        found = medians(interleave(methods, 9 if full else 3, clock=cpu))
        both = found["git log -n 20 -- path"] + found["import pygit2"]
        rows: dict[str, Sequence[object]] = {name: (ms, ms / both) for name, ms in found.items()}
        table(f"log of one page, {commits} commits, {state}", ("ms CPU", "of git + import"), rows)


def plans(loc: Location, revisions: int) -> list[PolicyUpdatePlan]:
    """Return plans of one group that add a line each to one page."""
    made: list[PolicyUpdatePlan] = []
    before = None
    for number in range(revisions):
        head = f"---\nname: {NAME}\ndescription: When it is asked for.\n---\n\n## Approach\n\n"
        after = head + "".join(f"- Look {n} times.\n" for n in range(number + 1))
        gradient = PatchSemanticGradient(
            before_file=MemoryFile(name=NAME, content=before) if before else None,
            after_file=MemoryFile(name=NAME, content=after),
            rationale="It helped.",
            confidence=0.8,
        )
        item = PolicyPlanItem(
            kind="upsert_experience",
            target_experience_name=NAME,
            before_content=before,
            after_content=after,
        )
        made.append(
            PolicyUpdatePlan(
                items=(item,),
                gradients=(gradient,),
                subject=f"Teach {number}",
                base_commit=loc.repo.ref(loc.main_ref),
                store_id=loc.config.id,
                learner="offline/1",
                rollouts=(RolloutRef(id=ROLLOUT, passed=True),),
            )
        )
        before = after
    return made


def test_blame_of_a_page_with_many_revisions(*, full: bool, tmp_path: Path) -> None:
    revisions = 200 if full else 50
    loc = init(tmp_path / "store")
    commit(loc, plans(loc, revisions), "main")
    place = str(loc.repo.place)
    methods = {
        "git blame path": partial(command, "git", "-C", place, "blame", f"experiences/{NAME}.md"),
        "xp blame": partial(command, XP, "-C", place, "blame", NAME),
        "xp blame -v": partial(command, XP, "-C", place, "blame", "-v", NAME),
    }
    found = medians(interleave(methods, 9 if full else 3, clock=cpu))
    rows: dict[str, Sequence[object]] = {
        name: (ms, ms / found["git blame path"]) for name, ms in found.items()
    }
    table(f"blame of a page with {revisions} revisions", ("ms CPU", "of git"), rows)
