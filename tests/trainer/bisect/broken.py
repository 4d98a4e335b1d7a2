"""A store whose history breaks a case: the scripted agent does a case well that has a page of its own."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.builders import ROLLOUT, delete, git, make_plan, page, texts, upsert
from tests.trainer.case_store import make_case_store
from xpstore.commit import commit
from xpstore.location import Location
from xpstore.plan import RolloutRef

if TYPE_CHECKING:
    from pathlib import Path

CASES = ("a", "b", "c", "d")
SUSPECTS = 8


def make_broken_store(
    root: Path, culprit: int = 5, *, luck: float = 0.1, cases: tuple[str, ...] = CASES
) -> Location:
    """Make a store with the tag `good`, and plans after it that add pages; one takes the page of c away."""
    make_case_store(root, gate=list(cases))
    config = root / "xp.toml"
    config.write_text(f"{config.read_text()}\n[environment.options]\nluck = {luck}\n", encoding="utf-8")
    git(root, "commit", "-qam", "Be lucky at times")
    loc = Location.find(root)
    commit(loc, [make_plan(loc, *(upsert(name, page(name)) for name in CASES))], "main")
    git(root, "tag", "good")
    for number in range(1, SUSPECTS + 1):
        add_plan(loc, number, breaks="c" if number == culprit else "")
    return loc


def add_plan(loc: Location, number: int, *, breaks: str = "") -> str:
    """Land a plan with a page that no case needs; return its commit."""
    items = [upsert(f"page-{number}", page(f"page-{number}"))]
    if breaks:
        items.append(delete(breaks, texts(loc, "main")[breaks]))
    refs = (RolloutRef(id=ROLLOUT, passed=True),)
    plan = make_plan(loc, *items, subject=f"Update {number}", rollouts=refs)
    return commit(loc, [plan], "main")[0].commit
