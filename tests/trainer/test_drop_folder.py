from __future__ import annotations

import os
import shutil

import pytest

from trainer.drop_folder import DropFolder
from xpstore.errors import UsageError


class Clock:
    now = 100.0

    def __call__(self):
        return self.now


@pytest.fixture
def clock():
    return Clock()


@pytest.fixture
def root(tmp_path):
    (tmp_path / "in").mkdir()
    return tmp_path / "in"


@pytest.fixture
def folder(root, clock):
    return DropFolder(root, settle=2.0, clock=clock)


def names(folder, clock, seconds=0.0):
    clock.now += seconds
    return [path.name for path in folder.take()]


def test_a_file_is_taken_once_when_nobody_writes_to_it_any_more(root, folder, clock):
    (root / "a.jsonl").write_text("1")
    assert names(folder, clock) == []
    assert folder.is_waiting
    assert names(folder, clock, 1.9) == []
    with (root / "a.jsonl").open("a") as out:  # still being written
        out.write("2")
    assert names(folder, clock, 0.2) == []
    assert names(folder, clock, 1.9) == []
    assert names(folder, clock, 0.2) == ["a.jsonl"]
    assert not folder.is_waiting
    assert names(folder, clock, 50) == []


def test_one_look_is_never_enough(root, folder, clock):
    (root / "a.json").write_text("1")
    os.utime(root / "a.json", (1, 1))
    assert names(folder, clock, 1000) == []
    assert names(folder, clock, 2) == ["a.json"]


def test_what_is_appended_makes_it_new(root, folder, clock):
    (root / "a.jsonl").write_text("1")
    names(folder, clock)
    assert names(folder, clock, 2) == ["a.jsonl"]
    with (root / "a.jsonl").open("a") as out:
        out.write("2")
    assert names(folder, clock, 2) == []
    assert names(folder, clock, 2) == ["a.jsonl"]


def test_a_renamed_file_is_the_same_and_a_copy_is_another(root, folder, clock):
    (root / "a.jsonl").write_text("1")
    names(folder, clock)
    assert names(folder, clock, 2) == ["a.jsonl"]
    (root / "sub").mkdir()
    (root / "a.jsonl").rename(root / "sub" / "b.jsonl")
    shutil.copyfile(root / "sub" / "b.jsonl", root / "c.jsonl")
    assert names(folder, clock) == []
    assert names(folder, clock, 2) == ["c.jsonl"]
    (root / "c.jsonl").rename(root / "sub" / "b.jsonl")
    assert names(folder, clock, 5) == []
    assert names(folder, clock, 5) == []


def test_a_file_that_takes_another_ones_place_is_new(root, folder, clock):
    (root / "a.json").write_text("1")
    names(folder, clock)
    assert names(folder, clock, 2) == ["a.json"]
    (root / "a.part").write_text("2")
    (root / "a.part").rename(root / "a.json")
    names(folder, clock)
    assert names(folder, clock, 2) == ["a.json"]


def test_what_is_no_recording_is_left_alone(root, folder, clock, tmp_path):
    elsewhere = tmp_path / "elsewhere"
    elsewhere.mkdir()
    (elsewhere / "secret.json").write_text("1")
    (root / "link.json").symlink_to(elsewhere / "secret.json")
    (root / "linked").symlink_to(elsewhere)
    (root / ".hidden").mkdir()
    (root / "folder.json").mkdir()
    os.mkfifo(root / "pipe.json")  # who opens it waits for ever
    for name in (".a.json", "notes.md", "a.json.part", "a.jsonl~", ".hidden/a.json"):
        (root / name).write_text("1")
    (root / "OK.JSON").write_text("1")
    names(folder, clock)
    assert names(folder, clock, 2) == ["OK.JSON"]


def test_a_file_that_vanishes_is_no_matter_and_a_directory_that_vanishes_is(root, folder, clock):
    (root / "a.json").write_text("1")
    names(folder, clock)
    (root / "a.json").unlink()
    assert names(folder, clock, 2) == []
    assert not folder.is_waiting
    root.rmdir()
    with pytest.raises(UsageError, match="is gone"):
        folder.take()
    with pytest.raises(UsageError, match="there is no directory"):
        DropFolder(root)


@pytest.mark.parametrize(
    ("name", "taken"),
    [
        ("a.traj", True),
        ("a.eval", True),
        ("a.JSONL.GZ", True),
        ("a.gz", False),
        ("a.txt", False),
        (".gz", False),
    ],
)
def test_what_looks_like_a_recording(root, folder, clock, name, taken):
    (root / name).write_text("x")
    names(folder, clock)
    assert names(folder, clock, 3) == ([name] if taken else [])
