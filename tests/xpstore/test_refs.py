from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, identify
from xpstore import refs
from xpstore.git import Busy, Repo
from xpstore.objects import Person
from xpstore.refs import Move, PlainRefs

if TYPE_CHECKING:
    from collections.abc import Sequence
    from pathlib import Path

WHO = Person("Pat\n<x>", "pat@example.org", 1_700_000_000, -90)


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    """Two commits, two branches on the first of them, main checked out on the second."""
    made = Repo.create(tmp_path / "r", "main")
    identify(made.place)
    for text in ("one", "two"):
        git(made.place, "commit", "-q", "--allow-empty", "-m", text)
    for name in ("a", "b"):
        git(made.place, "branch", name, "main~1")
    return made


def ids(repo: Repo) -> tuple[str, str]:
    return repo.resolve("main~1"), repo.resolve("main")


def attempt(repo: Repo, moves: Sequence[Move]) -> bool:
    plain = PlainRefs(str(repo.common_dir), moves)
    try:
        if not plain.lock():
            return False
        plain.move(WHO)
    finally:
        plain.release()
    return True


def locks(repo: Repo) -> list[Path]:
    return list(repo.common_dir.glob("refs/**/*.lock"))


def test_moved_as_git_moves_them(repo: Repo) -> None:
    one, two = ids(repo)
    assert attempt(repo, [Move(f"refs/heads/{n}", one, two, f"xp:\n{n} ü") for n in "ab"])
    assert repo.refs("refs/heads/") == {f"refs/heads/{n}": two for n in ("a", "b", "main")}
    assert git(repo.place, "reflog", "-1", "--format=%gs|%gn|%ge|%gd", "--date=iso", "a") == (
        "xp: a ü|Pat x|pat@example.org|a@{2023-11-14 20:43:20 -0130}"
    )
    assert git(repo.place, "rev-parse", "a@{1}") == one
    git(repo.place, "reflog", "expire", "--dry-run", "--all")
    assert locks(repo) == []


def test_what_is_not_plain_is_left_to_others(repo: Repo) -> None:
    one, two = ids(repo)
    head, place = "refs/heads/", repo.place
    git(place, "branch", "packed", one)
    git(place, "pack-refs", "--all")
    for name in ("a", "b", "loose"):
        git(place, "update-ref", "--create-reflog", head + name, two)
    git(place, "symbolic-ref", f"{head}symbolic", f"{head}a")
    (repo.common_dir / "refs/heads/link").symlink_to("a")
    (repo.common_dir / "logs/refs/heads/link").touch()
    (repo.common_dir / "logs/refs/heads/loose").unlink()
    for move in (
        Move(f"{head}new", None, one, "new"),
        Move(f"{head}a", two, None, "delete"),
        Move(f"{head}a", one, two, "another value"),
        Move(f"{head}packed", one, two, "packed"),
        Move(f"{head}symbolic", two, one, "symbolic"),
        Move(f"{head}link", two, one, "a link"),
        Move(f"{head}loose", two, one, "no log"),
        Move(f"{head}main", two, one, "checked out"),
    ):
        before = git(place, "for-each-ref")
        assert not attempt(repo, [Move(f"{head}b", two, one, "b"), move]), move
        assert git(place, "for-each-ref") == before
        assert locks(repo) == []


def test_the_value_of_a_plain_ref(repo: Repo) -> None:
    one, two = ids(repo)
    folder = repo.common_dir / "refs/heads"
    (folder / "cut").write_text(one[:20])
    assert refs.value(str(repo.common_dir), "refs/heads/a") == one
    for name in ("HEAD", "refs/heads/cut", "refs/heads/none", "refs/heads"):
        assert refs.value(str(repo.common_dir), name) == ""
    git(repo.place, "update-ref", "refs/heads/a", two)
    assert repo.ref("refs/heads/a") == two


def test_a_lock_of_another_process_stays_and_is_busy(repo: Repo) -> None:
    one, two = ids(repo)
    held = repo.common_dir / "refs/heads/b.lock"
    held.touch()
    moves = [Move(f"refs/heads/{n}", one, two, n) for n in "ab"]
    assert not attempt(repo, moves)
    assert locks(repo) == [held]
    with pytest.raises(Busy):
        repo.swap(moves)
    held.unlink()
    assert repo.swap(moves)


@pytest.mark.parametrize("at", range(4))
def test_a_full_disk_moves_a_part_from_the_front_and_no_log_is_cut_off(
    repo: Repo, monkeypatch: pytest.MonkeyPatch, at: int
) -> None:
    one, two = ids(repo)
    writes = []

    def write(handle: int, data: bytes) -> int:
        writes.append(data)
        return real(handle, data if len(writes) <= at else data[:20])

    real = os.write
    with monkeypatch.context() as patch:
        patch.setattr(refs.os, "write", write)
        with pytest.raises(OSError, match="No space"):
            attempt(repo, [Move(f"refs/heads/{n}", one, two, n) for n in "ab"])
    moved = repo.ref("refs/heads/a"), repo.ref("refs/heads/b")
    assert moved == ((two, one) if at == 3 else (one, one))
    assert locks(repo) == []
    for name in "ab":
        log = (repo.common_dir / f"logs/refs/heads/{name}").read_text()
        assert log.endswith("\n")
        assert len(log.splitlines()) == (2 if name == "a" and at == 3 else 1)
