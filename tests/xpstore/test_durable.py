from __future__ import annotations

import os
from typing import TYPE_CHECKING

import pytest

from xpstore.durable import sync

if TYPE_CHECKING:
    from pathlib import Path


def test_files_and_folders_are_synced_and_missing_ones_skipped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "a").write_text("x")
    synced: list[int] = []
    monkeypatch.setattr(os, "fsync", lambda handle: synced.append(os.fstat(handle).st_ino))
    sync([f"{tmp_path}/a", f"{tmp_path}", f"{tmp_path}/gone"])
    assert sorted(synced) == sorted([(tmp_path / "a").stat().st_ino, tmp_path.stat().st_ino])


def test_what_the_disk_says_is_raised(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(handle: int) -> None:
        raise OSError(28, f"no space for {handle}")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="no space"):
        sync([f"{tmp_path}"] * 2)
    (tmp_path / "file").write_text("x")
    with pytest.raises(NotADirectoryError):
        sync([f"{tmp_path}/file/x"])
