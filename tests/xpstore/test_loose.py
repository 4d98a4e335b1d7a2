from __future__ import annotations

import zlib
from typing import TYPE_CHECKING

import pytest

from xpstore.loose import CHUNK, LooseObjects, branch_value, has_log, ref_files

if TYPE_CHECKING:
    from pathlib import Path

WHOLE = zlib.compress(b"blob 5\0hello")
ID = "ab" + "0" * 38


def put(folder: Path, data: bytes) -> LooseObjects:
    (folder / ID[:2]).mkdir()
    (folder / ID[:2] / ID[2:]).write_bytes(data)
    return LooseObjects(folder)


@pytest.mark.parametrize(
    ("data", "words"),
    [
        (WHOLE, ""),
        (zlib.compress(b"blob 3145728\0" + bytes(3 * CHUNK)), ""),
        (b"", "is empty"),
        (WHOLE[:-1], "is cut off"),
        (WHOLE[:5], "is cut off"),
        (bytes(64), "is no git object"),
        (b"rubbish", "is no git object"),
        (WHOLE[:8] + bytes(len(WHOLE) - 8), "is no git object"),
    ],
)
def test_what_is_wrong_with_a_loose_object(tmp_path: Path, data: bytes, words: str) -> None:
    problem = put(tmp_path, data).problem(ID)
    assert problem.endswith(words)
    assert bool(problem) == bool(words)


def test_a_broken_one_stays_broken_and_a_whole_one_is_looked_at_once(tmp_path: Path) -> None:
    loose = put(tmp_path, b"")
    assert loose.problem(ID) == loose.problem(ID) != ""
    (tmp_path / ID[:2] / ID[2:]).write_bytes(WHOLE)
    assert not loose.problem(ID)
    (tmp_path / ID[:2] / ID[2:]).write_bytes(b"")
    assert not loose.problem(ID)


def test_objects_in_packs_have_no_file(tmp_path: Path) -> None:
    loose = put(tmp_path, WHOLE)
    assert not loose.problem("cd" + "0" * 38)
    assert not loose.problem("ab" + "1" * 38)
    (tmp_path / ID[:2] / ID[2:]).unlink()
    assert not loose.problem(ID)


def test_a_log_with_entries_outlives_only_a_ref_that_was_lost(tmp_path: Path) -> None:
    log = tmp_path / "logs" / "refs" / "heads" / "x"
    log.parent.mkdir(parents=True)
    assert not has_log(tmp_path, "refs/heads/x")
    log.write_bytes(b"")
    assert not has_log(tmp_path, "refs/heads/x")
    log.write_bytes(b"entry\n")
    assert has_log(tmp_path, "refs/heads/x")


def test_a_branch_is_lost_where_only_its_log_is_left(tmp_path: Path) -> None:
    name = "refs/heads/x"
    log = tmp_path / "logs" / name
    log.parent.mkdir(parents=True)
    (tmp_path / "refs" / "heads").mkdir(parents=True)
    assert branch_value(tmp_path, name) == ""
    log.write_bytes(b"entry\n")
    assert branch_value(tmp_path, name) is None
    (tmp_path / "packed-refs").write_bytes(f"{'1' * 40} refs/heads/xy\n{'2' * 40} {name}\n^{ID}\n".encode())
    assert branch_value(tmp_path, name) == "2" * 40  # packed since libgit2 looked
    (tmp_path / name).write_bytes(b"3" * 40 + b"\n")
    assert branch_value(tmp_path, name) == "3" * 40
    assert branch_value(tmp_path, "HEAD") == ""


def test_files_of_refs_are_named_whatever_is_in_them(tmp_path: Path) -> None:
    (tmp_path / "refs" / "heads" / "train").mkdir(parents=True)
    for name in ("main", "train/x", "train/y"):
        (tmp_path / "refs" / "heads" / name).write_bytes(b"\0")
    assert sorted(ref_files(tmp_path, "refs/heads/train/")) == ["refs/heads/train/x", "refs/heads/train/y"]
    assert list(ref_files(tmp_path, "refs/heads/m")) == ["refs/heads/main"]
    assert list(ref_files(tmp_path, "refs/none/")) == []
