from __future__ import annotations

import hashlib
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_store
from xpstore import pack_entries

if TYPE_CHECKING:
    from pathlib import Path

TEXT = "".join(f"line {n} of a page that git packs as a delta\n" for n in range(60))


@pytest.fixture(scope="module")
def packed(tmp_path_factory) -> tuple[Path, dict[str, str]]:
    """A pack with all kinds of objects and with deltas; id → kind of what is in it."""
    where = tmp_path_factory.mktemp("p") / "s"
    make_store(where)
    for n in range(6):
        (where / "page.txt").write_text(TEXT + f"{n}\n" * (n + 1))
        git(where, "add", ".")
        git(where, "commit", "-qm", f"Number {n}")
    git(where, "tag", "-a", "-m", "A tag", "v1")
    git(where, "repack", "-qadf")
    (pack,) = (where / ".git" / "objects" / "pack").glob("*.pack")
    rows = git(where, "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    return pack, {row.split()[0]: row.split()[1] for row in rows}


@pytest.mark.parametrize("has_index", [True, False])
def test_a_whole_pack_is_read_with_an_index_and_without(packed, has_index):
    pack, kinds = packed
    index = pack.with_suffix(".idx").read_bytes() if has_index else b"cut off"
    found = pack_entries.read(pack.read_bytes(), index)
    assert {name: item.kind for name, item in found.objects.items()} == kinds
    assert all(item.id == name for name, item in found.objects.items())
    assert found.lost == {}
    assert set(kinds.values()) == {"blob", "commit", "tag", "tree"}


@pytest.mark.parametrize("has_index", [True, False])
def test_damage_costs_the_objects_that_need_those_bytes(packed, has_index):
    pack, kinds = packed
    index = pack.with_suffix(".idx").read_bytes()
    places = pack_entries.parse_index(index)
    blob = next(name for name, kind in kinds.items() if kind == "commit")
    data = bytearray(pack.read_bytes())
    data[places[blob] + 6 : places[blob] + 10] = bytes(4)
    found = pack_entries.read(bytes(data), index if has_index else b"")
    assert set(kinds) - set(found.objects) == {blob}
    assert found.lost == ({blob: "commit"} if has_index else {})


@pytest.mark.parametrize("count", [1, 1000, 2**32 - 1])
def test_an_index_that_only_has_its_checksum_right_is_none(packed, count):
    pack, kinds = packed
    index = pack.with_suffix(".idx").read_bytes()
    head = index[: pack_entries.FAN - 4] + count.to_bytes(4, "big")
    forged = head + hashlib.sha1(head, usedforsecurity=False).digest()
    assert pack_entries.parse_index(forged) == {}
    assert set(pack_entries.read(pack.read_bytes(), forged).objects) == set(kinds)


def test_every_byte_may_be_damaged_and_nothing_is_made_up(packed):
    pack, kinds = packed
    index = pack.with_suffix(".idx").read_bytes()
    whole = pack.read_bytes()
    for at in range(0, len(whole), 97):
        found = pack_entries.read(whole[:at] + b"\xff" + whole[at + 1 :], index)
        assert {*found.objects, *found.lost} == set(kinds)
        assert all(kinds[name] == item.kind for name, item in found.objects.items())
    assert pack_entries.read(whole[:100], index).lost.keys() <= set(kinds)


def test_what_is_written_git_reads(packed, tmp_path):
    pack, kinds = packed
    git(tmp_path, "init", "-q", "r")
    folder = tmp_path / "r" / ".git" / "objects" / "pack"
    items = pack_entries.read(pack.read_bytes(), pack.with_suffix(".idx").read_bytes()).objects
    data, index = pack_entries.encode(items)
    (folder / "pack-1.pack").write_bytes(data)
    (folder / "pack-1.idx").write_bytes(index)
    git(tmp_path / "r", "verify-pack", str(folder / "pack-1.idx"))
    rows = git(tmp_path / "r", "cat-file", "--batch-all-objects", "--batch-check").splitlines()
    assert {row.split()[0]: row.split()[1] for row in rows} == kinds
