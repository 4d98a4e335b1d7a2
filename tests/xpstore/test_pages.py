from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_store
from xpstore import derived, pages
from xpstore.errors import DocumentError
from xpstore.git import Repo
from xpstore.location import Location
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.experience import ExperienceSet

TEXTS = {
    "a": "---\nname: a\nstatus: draft\nn: 1\n---\n\nBody \u9000\u7968 \U0001f600.\n",
    "b": "No front matter.",
    "c": "---\r\n---\r\nEmpty\r\n",
    "d": "\ufeff---\nx: [1, 2.5, null]\n---\n",
    "e": "---\n# only a comment\n---\n",
    "bad": "---\na: [\n---\n",
    "empty": "",
}


@pytest.fixture
def store(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setattr(pages, "MANY", 0)
    place = tmp_path / "s"
    make_store(place)
    put(place, **TEXTS)
    return place


def put(place: Path, **texts: str | None) -> None:
    folder = place / "experiences"
    folder.mkdir(exist_ok=True)
    for name, text in texts.items():
        if text is None:
            (folder / f"{name}.md").unlink()
        else:
            (folder / f"{name}.md").write_bytes(text.encode())
    git(place, "add", "-A")
    git(place, "commit", "-q", "-m", "By hand")


def taken(place: Path, *, parsed: bool = False) -> ExperienceSet:
    """Return the snapshot that a new process takes."""
    return snapshot(Location.find(place), "main", parsed=parsed)


def file(place: Path) -> Path:
    loc = Location.find(place)
    return derived.path(loc.repo, f"pages-{loc.config.id}")


def without_git(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return the list of blobs that are read from git from now on."""
    asked: list[str] = []
    original = Repo.blob

    def blob(self: Repo, blob_id: str) -> bytes:
        asked.append(blob_id)
        return original(self, blob_id)

    monkeypatch.setattr(Repo, "blob", blob)
    return asked


@pytest.mark.parametrize("parsed", [False, True])
def test_a_new_process_reads_only_what_changed(
    store: Path, monkeypatch: pytest.MonkeyPatch, *, parsed: bool
) -> None:
    first = taken(store, parsed=parsed)
    asked = without_git(monkeypatch)
    again = taken(store, parsed=parsed)
    assert again == first
    assert {e.name: e.text for e in again.policies} == TEXTS
    assert asked == []
    put(store, b="Changed.", e=None)
    monkeypatch.setattr(pages, "MANY", 5)
    later = taken(store, parsed=parsed)
    assert [e.name for e in later.policies] == ["a", "b", "bad", "c", "d", "empty"]
    assert later.by_name["b"].text == "Changed."
    assert len(asked) == 1


def test_what_is_parsed_is_what_the_file_says(store: Path) -> None:
    taken(store, parsed=True)
    for experience in taken(store, parsed=True).policies:
        if experience.name == "bad":
            with pytest.raises(DocumentError, match=r"experiences/bad\.md"):
                _ = experience.document
            continue
        fresh = type(experience)(name=experience.name, text=experience.text)
        for what in ("text", "front", "source", "body", "sections"):
            assert getattr(experience.document, what) == getattr(fresh.document, what)
        assert experience == fresh


def test_front_matter_is_not_shared(store: Path) -> None:
    taken(store, parsed=True)
    one, other = (taken(store, parsed=True).by_name["d"] for _ in range(2))
    one.document.front["x"].append(3)  # type: ignore[union-attr]
    assert other.metadata["x"] == [1, 2.5, None]


def test_few_changes_write_nothing_many_do(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    taken(store)
    monkeypatch.setattr(pages, "MANY", 2)
    before = file(store).read_bytes()
    put(store, b="1", c="2")
    taken(store)
    assert file(store).read_bytes() == before
    put(store, d="3")
    taken(store)
    assert b"Empty\r\n" not in file(store).read_bytes()  # nothing but the last snapshot is kept


def test_few_pages_make_no_file(tmp_path: Path) -> None:
    make_store(tmp_path / "s")
    put(tmp_path / "s", **TEXTS)
    taken(tmp_path / "s")
    assert not file(tmp_path / "s").exists()


def test_what_git_no_longer_has_is_not_kept(store: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    put(store, private="password: hunter2")
    taken(store)
    monkeypatch.setattr(pages, "MANY", 100)
    git(store, "reset", "-q", "--hard", "HEAD~1")
    taken(store)
    assert b"hunter2" in file(store).read_bytes()  # git has it too
    git(store, "reflog", "expire", "--expire=now", "--all")
    git(store, "gc", "-q", "--prune=now")
    taken(store)
    assert b"hunter2" not in file(store).read_bytes()


def test_a_damaged_file_is_written_anew(store: Path) -> None:
    first = taken(store, parsed=True)
    whole = file(store).read_bytes()
    file(store).write_bytes(whole.replace(b"Body", b"Ydob"))
    assert taken(store, parsed=True) == first
    assert file(store).read_bytes() == whole


def test_other_limits_look_at_every_page_again(store: Path) -> None:
    taken(store)
    toml = store / "xp.toml"
    toml.write_text(toml.read_text().replace("file_lines = 1000", "file_lines = 3"))
    found = taken(store)
    assert "a.md" in found.metadata["skipped"]
