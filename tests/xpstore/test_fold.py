from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from tests.builders import every_object, fsck, git, make_plan, make_store, page, texts, upsert
from xpstore import fold, pack
from xpstore.commit import commit
from xpstore.errors import RepositoryError
from xpstore.objects import make

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    """A store with six small packs."""
    loc = make_store(tmp_path)
    for name in "abcde":
        commit(loc, [make_plan(loc, upsert(name, page(name)))], "main")
    return loc


def small(loc: Location) -> list[fold.PackFile]:
    return [p for p in fold.packs(loc.repo.pack_dir) if p.is_small]


def test_one_pack_has_all_that_many_had(loc: Location) -> None:
    before, content = every_object(loc.repo.place), texts(loc, "main")
    sources = small(loc)
    assert fold.fold(loc.repo.pack_dir, sources) == len(sources) == 6
    (one,) = fold.packs(loc.repo.pack_dir)
    assert sorted(every_object(loc.repo.place)) == sorted(before)
    assert texts(loc, "main") == content  # whoever has the old ones open reads on
    git(loc.repo.place, "verify-pack", f"{one.stem}.idx")
    fsck(loc.repo.place)
    assert fold.fold(loc.repo.pack_dir, small(loc)) == 0


def test_an_object_in_several_packs_is_there_once(loc: Location) -> None:
    for _ in range(2):
        with pack.kept(loc.repo.pack_dir, [make("blob", b"same"), make("blob", os.urandom(9))]):
            pass
    fold.fold(loc.repo.pack_dir, small(loc))
    fsck(loc.repo.place)
    assert git(loc.repo.place, "cat-file", "blob", make("blob", b"same").id) == "same"


def test_what_cannot_be_copied_stays(loc: Location) -> None:
    folder = loc.repo.pack_dir
    sources = small(loc)
    kept, broken, other, gone = (p.stem for p in sources[:4])
    (folder / f"{kept}.keep").touch()
    os.chmod(f"{broken}.pack", 0o644)  # noqa: PTH101
    with open(f"{broken}.pack", "r+b") as stream:  # noqa: PTH123
        stream.seek(40)
        stream.write(b"\0\0\0")
    (folder / f"{other}.promisor").touch()
    os.rename(f"{gone}.pack", f"{gone}.away")  # noqa: PTH104
    left = [p for p in small(loc) if p.stem != gone]
    assert {p.stem for p in left} == {p.stem for p in sources[4:]} | {broken}
    assert fold.fold(folder, [*left, next(p for p in sources if p.stem == gone)]) == 2
    assert {p.stem for p in fold.packs(folder)} > {broken, other}
    assert sum(p.stem not in {broken, other} for p in fold.packs(folder)) == 1


def test_packs_with_deltas_are_left_to_git(loc: Location) -> None:
    text = page("a", *(f"Line {n} of a long page." for n in range(200)))
    for number in range(4):
        tip = texts(loc, "main")["a"]
        commit(loc, [make_plan(loc, upsert("a", f"{text}- {number}\n", tip))], "main")
    git(loc.repo.place, "repack", "-q", "-a", "-d")
    git(loc.repo.place, "config", "pack.writeReverseIndex", "false")
    commit(loc, [make_plan(loc, upsert("f", page("f")))], "main")
    commit(loc, [make_plan(loc, upsert("g", page("g")))], "main")
    assert fold.fold(loc.repo.pack_dir, small(loc)) == 2
    assert len(fold.packs(loc.repo.pack_dir)) == 2
    fsck(loc.repo.place)


def test_a_full_disk_leaves_everything_as_it_was(loc: Location, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    before = sorted(loc.repo.pack_dir.iterdir())
    with monkeypatch.context() as patch:
        patch.setattr(pack.os, "fsync", full)
        with pytest.raises(RepositoryError, match="No space"):
            fold.fold(loc.repo.pack_dir, small(loc))
    assert sorted(loc.repo.pack_dir.iterdir()) == before


def test_no_packs(tmp_path: Path) -> None:
    assert fold.packs(tmp_path / "none") == []
    assert fold.fold(tmp_path, []) == 0
