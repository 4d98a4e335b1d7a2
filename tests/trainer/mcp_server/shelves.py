"""A store with pages of every status, for tests of what is served."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tests.builders import git, make_store, page

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


def with_status(name: str, status: str) -> str:
    return page(name).replace("---\n\n", f"status: {status}\n---\n\n", 1)


def shelves(place: Path) -> Location:
    """Return a store that serves `refund`, `exchange` (staging) and `退票`, and has others."""
    loc = make_store(place)
    texts = {
        "refund": page("refund", "Ask for the receipt.", "*Support: 3 rollouts*"),
        "exchange": with_status("exchange", "staging"),
        "退票": page("退票", "先查询订单。"),
        "secret-plan": with_status("secret-plan", "draft"),
        "old-way": with_status("old-way", "deprecated"),
        "older-way": with_status("older-way", "archived"),
        "broken": "---\na: [\n---\nrefund",
    }
    put(loc, **texts)
    return loc


def put(loc: Location, **texts: str | None) -> str:
    """Write or delete pages by hand; return the new commit."""
    folder = loc.repo.place / "experiences"
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        if text is None:
            (folder / f"{name}.md").unlink()
        else:
            (folder / f"{name}.md").write_text(text, "utf-8")
    git(loc.repo.place, "add", "-A")
    git(loc.repo.place, "commit", "-q", "-m", "By hand")
    return git(loc.repo.place, "rev-parse", "HEAD")
