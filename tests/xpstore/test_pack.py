from __future__ import annotations

import errno
import os
import subprocess
import zlib
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import git
from xpstore import pack
from xpstore.errors import RepositoryError
from xpstore.objects import make

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q")
    return tmp_path / ".git" / "objects" / "pack"


def test_git_reads_every_object_and_finds_nothing_wrong(folder: Path) -> None:
    blobs = [
        make("blob", bytes([n % 256]) * size) for n, size in enumerate((0, 1, 15, 16, 2047, 2048, 300_000))
    ]
    with pack.kept(folder, [*blobs, *blobs]):
        assert [p.suffix for p in sorted(folder.iterdir())] == [".idx", ".keep", ".pack"]
    assert [p.suffix for p in sorted(folder.iterdir())] == [".idx", ".pack"]
    (index,) = folder.glob("*.idx")
    git(folder, "verify-pack", str(index))
    for blob in blobs:
        out = subprocess.run(
            ["git", "cat-file", "blob", blob.id], cwd=folder.parents[2], capture_output=True, check=True
        )
        assert out.stdout == blob.data


@settings(max_examples=20, deadline=None)
@given(st.lists(st.binary(max_size=300), min_size=1, max_size=40))
def test_index_is_what_git_makes_of_the_pack(contents: list[bytes]) -> None:
    data, index = pack.encode([make("blob", c) for c in contents])
    assert data[:4] == b"PACK"
    count = int.from_bytes(data[8:12], "big")
    assert count == len(set(contents)) == int.from_bytes(index[8 + 4 * 255 : 8 + 4 * 256], "big")


def test_index_equals_index_pack(tmp_path: Path) -> None:
    data, index = pack.encode([make("blob", os.urandom(n)) for n in range(50)])
    (tmp_path / "p.pack").write_bytes(data)
    git(tmp_path, "index-pack", "p.pack")
    assert (tmp_path / "p.idx").read_bytes() == index


def test_two_attempts_never_have_one_name(folder: Path) -> None:
    for _ in range(2):
        with pack.kept(folder, [make("blob", b"same")]):
            pass
    assert len(list(folder.glob("*.pack"))) == 2


def test_nothing_to_write(folder: Path) -> None:
    with pack.kept(folder, []):
        assert list(folder.iterdir()) == []


def test_full_disk_leaves_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(_: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(pack.os, "fsync", full)
    with (
        pytest.raises(RepositoryError, match="No space left") as caught,
        pack.kept(folder, [make("blob", b"x")]),
    ):
        pass
    assert "space" in caught.value.hint
    assert list(folder.iterdir()) == []


def test_pack_without_takers_stays_for_gc(folder: Path) -> None:
    with pytest.raises(KeyboardInterrupt), pack.kept(folder, [make("blob", b"x")]):
        raise KeyboardInterrupt
    assert [p.suffix for p in sorted(folder.iterdir())] == [".idx", ".pack"]


def test_sweep_removes_what_killed_writers_left(folder: Path) -> None:
    for name in ("pack-1.keep", "pack-2.idx.part", "pack-3.keep", "pack-4.pack"):
        (folder / name).write_text(pack.KEEP_NOTE if name != "pack-3.keep" else "a person's")
        os.utime(folder / name, (1, 1))
    (folder / "pack-5.keep").write_text(pack.KEEP_NOTE)
    assert pack.sweep(folder, 600) == 2
    assert sorted(p.name for p in folder.iterdir()) == ["pack-3.keep", "pack-4.pack", "pack-5.keep"]


def test_a_disk_that_refuses_everything_is_one_error(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object, **__: object) -> int:
        raise OSError(errno.EROFS, "Read-only file system")

    monkeypatch.setattr(pack.os, "open", refuse)
    monkeypatch.setattr(type(folder), "unlink", refuse)
    with pytest.raises(RepositoryError, match="Read-only"), pack.kept(folder, [make("blob", b"x")]):
        pass


@pytest.mark.parametrize("size", [0, 1, 99, 101, 4_000, pack.STORED, pack.STORED + 1, 70_000])
@pytest.mark.parametrize("kind", ["blob", "tree"])
def test_zlib_reads_every_stream(kind: str, size: int) -> None:
    data = os.urandom(size)
    assert zlib.decompress(pack.deflated(data, kind)) == data


def test_an_interrupt_while_the_keep_file_is_removed_leaves_none(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pressed: list[str] = []
    real = os.unlink

    def unlink(file: str) -> None:
        if not pressed:
            pressed.append(file)
            raise KeyboardInterrupt
        real(file)

    monkeypatch.setattr(os, "unlink", unlink)
    with pytest.raises(KeyboardInterrupt), pack.kept(folder, [make("blob", b"a")]):
        pass
    assert [p.suffix for p in sorted(folder.iterdir())] == [".idx", ".pack"]
