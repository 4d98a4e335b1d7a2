from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import delete, git, identify, make_plan, make_store, page, upsert
from xpstore import events, gitcli, recent
from xpstore.commit import commit
from xpstore.errors import NotFoundError
from xpstore.location import Location

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.events import Entry


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def by_git(loc: Location, limit: int) -> list[Entry]:
    return list(events.read(loc, "main"))[:limit]


def by_hand(loc: Location, message: str, author: str = "Pat <pat@example.org>") -> str:
    git(loc.repo.place, "add", "-A")
    git(loc.repo.place, "commit", "-q", "--author", author, "-m", message)
    return git(loc.repo.place, "rev-parse", "HEAD")


def test_the_same_as_git_says(loc: Location) -> None:
    folder = loc.repo.place / "experiences"
    commit(loc, [make_plan(loc, upsert("a", page("a"))), make_plan(loc, upsert("退款", page("b")))], "main")
    (loc.repo.place / "code.py").write_text("1\n")
    by_hand(loc, "Code only")
    (folder / "note.txt").write_text("x\n")
    (folder / "deep.md").mkdir()
    (folder / "deep.md" / "x.md").write_text("x\n")
    by_hand(loc, "Nothing that is an experience")
    (folder / "a.md").chmod(0o755)
    (folder / "link.md").symlink_to("a.md")
    by_hand(loc, "Odd ones\n\nBody.\n\nKey: value", "Zoë  \u00c5 <zoe@example.org>")
    commit(loc, [make_plan(loc, delete("退款", page("b")))], "main")
    git(loc.repo.place, "checkout", "-q", "-b", "side")
    (folder / "c.md").write_text("c\n")
    by_hand(loc, "On the side")
    git(loc.repo.place, "checkout", "-q", "main")
    git(loc.repo.place, "merge", "-q", "--no-ff", "-m", "Merge side", "side")
    tip = loc.repo.resolve("main")
    for limit in (0, 1, 2, 3, 4):
        assert recent.newest(loc, tip, limit) == by_git(loc, limit)
    assert [e.commit for e in by_git(loc, 9)][:1] == [tip]
    assert recent.event_of(loc, tip) == events.entry_of(loc, tip)
    assert recent.event_of(loc, tip).merged


def test_no_process_is_started(loc: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in "abc":
        commit(loc, [make_plan(loc, upsert(name, page(name)))], "main")
    expected = by_git(loc, 2)
    monkeypatch.delattr(gitcli, "attempt")
    assert recent.newest(loc, loc.repo.resolve("main"), 2) == expected


def test_git_is_asked_for_renames_beginnings_and_long_ways(tmp_path: Path, loc: Location) -> None:
    commit(loc, [make_plan(loc, upsert("a", page("a")))], "main")
    first = loc.repo.resolve("main")
    assert recent.newest(loc, first, 2) is None  # where the store begins
    git(loc.repo.place, "mv", "experiences/a.md", "experiences/b.md")
    renamed = by_hand(loc, "Rename")
    assert recent.newest(loc, renamed, 1) is None
    assert [c.kind for c in recent.event_of(loc, renamed).changes] == ["R"]
    commit(loc, [make_plan(loc, upsert("c", page("c")))], "main")
    (loc.repo.place / "code.py").write_text("1\n")
    code = by_hand(loc, "Code only")
    assert [e.subject for e in recent.newest(loc, code, 1) or ()] == ["Teach c"]
    assert recent.newest(loc, code, 1, ahead=1) is None
    assert recent.newest(loc, code, recent.FEW + 1) is None
    with pytest.raises(NotFoundError):
        recent.event_of(loc, code)
    git(tmp_path, "clone", "-q", "--depth=2", f"file://{loc.repo.place}", "shallow")
    assert recent.newest(Location.find(tmp_path / "shallow"), code, 1) is None


def test_a_store_that_moved(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main", "s")
    identify(tmp_path / "s")
    loc = make_store(tmp_path / "s" / "one")
    commit(loc, [make_plan(loc, upsert("a", page("a")))], "main")
    git(tmp_path / "s", "mv", "one", "two")
    moved = by_hand(loc, "Move")
    there = Location.find(tmp_path / "s" / "two")
    assert recent.newest(there, moved, 1) is None
    commit(there, [make_plan(there, upsert("b", page("b")))], "main")
    assert [e.subject for e in recent.newest(there, there.repo.resolve("main"), 1) or ()] == ["Teach b"]
