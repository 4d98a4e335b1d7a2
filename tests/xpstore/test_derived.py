from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.builders import make_store
from xpstore import derived

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.git import Repo

HEAD = {"format": 1}


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    return make_store(tmp_path).repo


def test_what_was_written_is_read_under_the_same_head_only(repo: Repo) -> None:
    assert derived.read(repo, "x", HEAD) is None
    assert derived.write(repo, "x", HEAD, [b"one\n", b"two"])
    assert bytes(derived.read(repo, "x", HEAD) or b"") == b"one\ntwo"
    assert derived.read(repo, "x", {"format": 2}) is None
    assert derived.write(repo, "x", HEAD, [])
    assert derived.read(repo, "x", HEAD) == b""
    assert [p.name for p in derived.path(repo, "x").parent.iterdir()] == ["x"]
    derived.drop(repo)
    derived.drop(repo)
    assert derived.read(repo, "x", HEAD) is None


@pytest.mark.parametrize("at", [0, 5, -1])
def test_what_is_damaged_is_none(repo: Repo, at: int) -> None:
    derived.write(repo, "x", HEAD, [b"some text"])
    file = derived.path(repo, "x")
    data = bytearray(file.read_bytes())
    data[at] ^= 1
    for damaged in (bytes(data), file.read_bytes()[:-1], b"", b"\n", b"{}\n", bytes(40)):
        file.write_bytes(damaged)
        assert derived.read(repo, "x", HEAD) is None


def test_of_two_writers_one_does_it(repo: Repo) -> None:
    derived.write(repo, "x", HEAD, [b"before"])
    draft = derived.path(repo, "x.draft")
    draft.write_bytes(b"another process is at it")
    assert not derived.write(repo, "x", HEAD, [b"after"])
    assert derived.read(repo, "x", HEAD) == b"before"
    os.utime(draft, (1, 1))  # it was killed
    assert derived.write(repo, "x", HEAD, [b"after"])
    assert derived.read(repo, "x", HEAD) == b"after"
    assert not draft.exists()


def test_nothing_is_lost_where_it_cannot_be_written(repo: Repo, monkeypatch: pytest.MonkeyPatch) -> None:
    derived.write(repo, "x", HEAD, [b"before"])

    def full(*_: object, **__: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("pathlib.Path.replace", full)
    assert not derived.write(repo, "x", HEAD, [b"after"])
    assert derived.read(repo, "x", HEAD) == b"before"
    assert not derived.path(repo, "x.draft").exists()
    monkeypatch.setattr("pathlib.Path.mkdir", full)
    assert not derived.write(repo, "x", HEAD, [b"after"])


def test_answers_go_when_something_is_forgotten_and_not_before(repo: Repo) -> None:
    derived.forget_answers(repo)
    folder = derived.answers(repo)
    assert folder == repo.common_dir / "xpstore.answers"
    for place in (folder, folder.with_suffix(".going")):
        place.mkdir()
        (place / "ab12").write_text("a lesson", "utf-8")
    derived.drop(repo)
    assert (folder / "ab12").exists()
    derived.forget_answers(repo)
    assert not list(repo.common_dir.glob("xpstore.answers*"))
