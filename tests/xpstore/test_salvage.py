from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_store
from tests.e2e.bad import loose, unpack
from xpstore.salvage import Attic, loose_faults, mend_pack, pack_faults, set_derived_aside

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    made = make_store(tmp_path / "s")
    unpack(tmp_path / "s")
    return made


def test_loose_objects_that_are_not_what_their_names_say(loc: Location) -> None:
    place = loc.repo.place
    assert list(loose_faults(loc.repo)) == []
    empty, cut = loose(place, "HEAD")[0], loose(place, "HEAD^{tree}")[0]
    other = loose(place, "HEAD:xp.toml")[0]
    other.write_bytes(cut.read_bytes())
    cut.write_bytes(cut.read_bytes()[:-4])
    empty.write_bytes(b"")
    found = {file: fault.problem for file, fault in loose_faults(loc.repo)}
    assert found == {
        empty: "its file is empty",
        cut: "its file is cut off or garbage",
        other: "its file holds something else",
    }


def test_packs_whose_index_can_be_made_again_and_those_of_which_a_part_is_kept(loc: Location) -> None:
    git(loc.repo.place, "repack", "-qad")
    (pack,) = loc.repo.pack_dir.glob("*.pack")
    pack.chmod(0o644)
    attic = Attic(loc.repo.common_dir)
    assert list(pack_faults(loc.repo)) == []
    pack.with_suffix(".idx").unlink()
    pack.with_suffix(".keep").touch()  # somebody writes it at this moment
    assert list(pack_faults(loc.repo)) == []
    pack.with_suffix(".keep").unlink()
    assert [(f, fault.problem) for f, fault in pack_faults(loc.repo)] == [(pack, "its index is missing")]
    assert mend_pack(loc.repo, attic, pack) == "its index was made again"
    pack.write_bytes(pack.read_bytes()[:-30])
    assert [f for f, _ in pack_faults(loc.repo)] == [pack]
    assert " objects of it were kept" in mend_pack(loc.repo, attic, pack)
    assert list(pack_faults(loc.repo)) == []
    assert git(loc.repo.place, "cat-file", "-t", "HEAD") == "commit"
    assert attic.folder is not None
    assert (attic.folder / "objects" / "pack" / pack.name).is_file()


@pytest.mark.parametrize("has_index", [True, False])
def test_one_damaged_byte_costs_one_object_of_a_pack(loc: Location, has_index: bool) -> None:  # noqa: FBT001
    place = loc.repo.place
    git(place, "repack", "-qadf", "--depth=0")
    (pack,) = loc.repo.pack_dir.glob("*.pack")
    lost = git(place, "rev-parse", "HEAD")  # the newest commit is the first entry of a pack
    count = len(git(place, "cat-file", "--batch-all-objects", "--batch-check").splitlines())
    pack.chmod(0o644)
    data = pack.read_bytes()
    pack.write_bytes(data[:20] + bytes(4) + data[24:])
    if not has_index:
        pack.with_suffix(".idx").unlink()
    done = mend_pack(loc.repo, Attic(loc.repo.common_dir), pack)
    left = git(place, "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    assert len(left) == count - 1
    assert not any(lost in line for line in left)
    assert done == f"{count - 1} objects of it were kept" + (f", but not commit {lost}" if has_index else "")
    assert list(pack_faults(loc.repo)) == []


def test_an_index_without_its_pack_and_what_is_derived_move_aside(loc: Location) -> None:
    place = loc.repo.place
    git(place, "repack", "-qad")
    git(place, "commit-graph", "write", "--reachable")
    (pack,) = loc.repo.pack_dir.glob("*.pack")
    pack.unlink()
    attic = Attic(loc.repo.common_dir)
    assert [fault.problem for _, fault in pack_faults(loc.repo)] == ["it is missing, only its index is there"]
    assert mend_pack(loc.repo, attic, pack) == "its index was set aside"
    set_derived_aside(loc.repo, attic)
    assert attic.folder is not None
    assert (attic.folder / "objects" / "info" / "commit-graph").is_file()
    assert list(pack_faults(loc.repo)) == []


def test_the_attic_is_made_when_something_goes_there_and_never_used_twice(loc: Location) -> None:
    first, second = Attic(loc.repo.common_dir), Attic(loc.repo.common_dir)
    assert first.folder is None
    head = loc.repo.common_dir / "HEAD"
    first.rewrite(head, b"ref: refs/heads/other\n")
    second.take(loc.repo.common_dir / "description")
    assert [p.name for p in sorted((loc.repo.common_dir / "xpstore.lost").iterdir())] == ["1", "2"]
    assert head.read_text() == "ref: refs/heads/other\n"
    assert first.folder is not None
    assert [p.name for p in first.folder.iterdir()] == ["HEAD"]
    assert (first.folder / "HEAD").read_text() == "ref: refs/heads/main\n"
    assert not (loc.repo.common_dir / "description").exists()
