from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_store
from xpstore import derived, page_index, snapshot
from xpstore.experience import Experience, ExperienceSet
from xpstore.location import Location
from xpstore.page_index import PageIndex
from xpstore.search import Index

if TYPE_CHECKING:
    from pathlib import Path

TEXTS = {
    "refund": "---\ndescription: Refunds\n---\nAsk for the order number, then refund the card.",
    "cancel": "---\nstatus: draft\n---\nCancel the flight and refund it.",
    "rules": "---\nalways: true\n---\nBe kind.",
    "old-rules": "---\nalways: true\nstatus: archived\n---\nBe quick.",
    "broken": "---\na: [\n---\nrefund",
    "退票": "先查询订单。",
}
QUERIES = ("refund", "refnud the cardd", "订单", "kind", "nothing at all")


@pytest.fixture
def place(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(page_index, "FEW", 0)
    make_store(tmp_path / "s")
    put(tmp_path / "s", **TEXTS)
    return tmp_path / "s"


def put(place: Path, **texts: str | None) -> None:
    folder = place / "experiences"
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        if text is None:
            (folder / f"{name}.md").unlink()
        else:
            (folder / f"{name}.md").write_text(text)
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "By hand")


def answers(opened: PageIndex) -> list[object]:
    """Return all that a page index says."""
    with opened as shelf:
        found = [[(e.name, e.text, score) for e, score in shelf.search(q, 9)] for q in QUERIES]
        given = [[e.name for e, _ in shelf.search(q, 9, given=True)] for q in QUERIES]
        return [found, given, [e.name for e in shelf.always()], shelf.unreadable, len(shelf)]


def new_process(place: Path) -> PageIndex:
    return PageIndex.at(Location.find(place), "main")


def same_as_in_memory(place: Path) -> bool:
    in_memory = PageIndex.of(snapshot.snapshot(Location.find(place), "main"))
    return answers(new_process(place)) == answers(in_memory)


def file(place: Path) -> Path:
    loc = Location.find(place)
    return derived.path(loc.repo, f"search-{loc.config.id}")


@pytest.fixture
def reads(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the names of the pages that are read from now on."""
    asked: list[str] = []
    original = snapshot.page

    def page(here: Location, name: str, blob: str) -> Experience | str:
        asked.append(name)
        return original(here, name, blob)

    monkeypatch.setattr(snapshot, "page", page)
    return asked


def test_a_set_in_memory() -> None:
    policies = tuple(Experience(name=name, text=text) for name, text in sorted(TEXTS.items()))
    pages = ExperienceSet(root_uri="x", policies=policies, metadata={"skipped": {"y.md": "why"}})
    found, given, always, unreadable, size = answers(PageIndex.of(pages))
    assert [name for name, *_ in found[0]] == ["refund", "cancel"]
    assert next(name for name, *_ in found[1]) == "refund"
    assert [name for name, *_ in found[2]] == ["退票"]
    assert given[0] == ["refund"]
    assert always == ["rules"]
    assert unreadable.keys() == {"broken", "y.md"}
    assert size == len(TEXTS)


def test_a_new_process_reads_only_what_it_shows_and_what_is_new(place: Path, reads: list[str]) -> None:
    assert same_as_in_memory(place)
    reads.clear()
    with new_process(place) as shelf:
        assert [e.name for e, _ in shelf.search("refund", 1)] == ["refund"]
    assert reads == ["refund"]
    put(place, refund=None, new="A refund is new.", broken="Whole again")
    reads.clear()
    with new_process(place) as shelf:
        assert sorted(reads) == ["broken", "new"]
        assert [e.name for e, _ in shelf.search("refund", 9)] == ["new", "cancel"]
    assert same_as_in_memory(place)


def test_files_that_are_none_are_named(place: Path) -> None:
    (place / "experiences" / "latin.md").write_bytes(b"\xe9")
    put(place, long="x\n" * 2000)
    (place / "experiences" / "with space.md").write_text("x")
    put(place)
    for _ in range(2):
        with new_process(place) as shelf:
            assert sorted(shelf.unreadable) == ["broken", "latin.md", "long.md", "with space.md"]
    toml = place / "xp.toml"
    toml.write_text(toml.read_text().replace("file_lines = 1000", "file_lines = 3000"))
    with new_process(place) as shelf:
        assert sorted(shelf.unreadable) == ["broken", "latin.md", "with space.md"]


def test_few_pages_leave_no_index(tmp_path: Path) -> None:
    make_store(tmp_path / "s")
    put(tmp_path / "s", **TEXTS)
    assert same_as_in_memory(tmp_path / "s")
    assert not file(tmp_path / "s").parent.exists()


@pytest.mark.parametrize("keep", [0, 100, 5000, 9000])
def test_a_damaged_index_is_made_anew(place: Path, keep: int) -> None:
    new_process(place).__exit__()
    whole = file(place).read_bytes()
    file(place).write_bytes(whole[:keep] + bytes(len(whole) - keep))
    assert same_as_in_memory(place)


def test_damage_that_a_query_finds(place: Path) -> None:
    new_process(place).__exit__()
    with closing(sqlite3.connect(file(place))) as db, db:
        db.execute("UPDATE docs_data SET block = x'00' WHERE id > 10")
    assert same_as_in_memory(place)


def test_an_index_that_cannot_be_used_is_let_go(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    new_process(place).__exit__()
    opened, closed = [], []
    connect, close = sqlite3.connect, Index.close
    monkeypatch.setattr(sqlite3, "connect", lambda *a, **k: opened.append(connect(*a, **k)) or opened[-1])
    monkeypatch.setattr(Index, "close", lambda index: closed.append(index) or close(index))
    put(place, **dict.fromkeys(TEXTS), **{f"other-{n}": f"refund {n}" for n in range(9)})
    with new_process(place):  # most is new: the one in the file is not followed
        assert len(closed) == 1
    file(place).write_bytes(b"no database")
    opened.clear()
    with new_process(place), pytest.raises(sqlite3.ProgrammingError, match="closed"):
        opened[0].execute("SELECT 1")


def test_while_another_process_writes(place: Path) -> None:
    new_process(place).__exit__()
    put(place, new="A refund is new.")
    with closing(sqlite3.connect(file(place))) as db, db:
        db.execute("BEGIN IMMEDIATE")
        assert same_as_in_memory(place)
        db.rollback()
    assert same_as_in_memory(place)


def test_where_nothing_can_be_written(place: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    assert same_as_in_memory(place)
    assert list(file(place).parent.iterdir()) == []


def test_what_git_no_longer_has_is_not_kept(place: Path) -> None:
    put(place, private="password hunterxyz")
    new_process(place).__exit__()
    git(place, "reset", "-q", "--hard", "HEAD~1")
    git(place, "reflog", "expire", "--expire=now", "--all")
    git(place, "gc", "-q", "--prune=now")
    assert b"hunterxyz" in file(place).read_bytes()
    new_process(place).__exit__()
    assert b"hunterxyz" not in file(place).read_bytes()
