from __future__ import annotations

import os
import threading
from typing import TYPE_CHECKING

import pytest

from xpstore import lock, waiting

if TYPE_CHECKING:
    from collections.abc import Iterator
    from contextlib import AbstractContextManager
    from pathlib import Path


class Owner(threading.Thread):
    """Somebody who waits for a turn; `is_waiting` once the question is there to be seen."""

    def __init__(self, common_dir: Path, question: bytes, monkeypatch: pytest.MonkeyPatch) -> None:
        super().__init__()
        self._dir, self._question = common_dir, question
        self.is_waiting = threading.Event()
        self.heard: bytes | None = b"not yet"
        real = lock.store_lock

        def store_lock(path: Path, *, wait: bool = True) -> AbstractContextManager[bool]:
            if wait and threading.current_thread() is self:
                self.is_waiting.set()
            return real(path, wait=wait)

        monkeypatch.setattr(lock, "store_lock", store_lock)

    def run(self) -> None:
        with waiting.turn(self._dir, lambda: self._question) as turn:
            self.heard = turn.answer


def files(common_dir: Path) -> list[str]:
    folder = common_dir / waiting.FOLDER
    return [path.name for path in folder.iterdir()] if folder.is_dir() else []


def never() -> bytes:
    raise AssertionError("nobody waits")


def turns(common_dir: Path) -> Iterator[list[bytes]]:
    with waiting.turn(common_dir, never) as turn:
        yield [asked.data for asked in turn.others()]


def test_a_free_lock_is_taken_without_a_question(tmp_path: Path) -> None:
    with waiting.turn(tmp_path, never) as turn:
        assert turn.answer is None
        assert list(turn.others()) == []
    assert files(tmp_path) == []


def test_the_holder_answers_who_waits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    with waiting.turn(tmp_path, never) as turn:
        owner = Owner(tmp_path, b"please", monkeypatch)
        owner.start()
        owner.is_waiting.wait()
        [asked] = turn.others()
        assert asked.data == b"please"
        asked.answer(b"done")
        assert list(turn.others()) == []
    owner.join()
    assert owner.heard == b"done"
    assert files(tmp_path) == []


def test_who_comes_meanwhile_is_taken_along(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    owners = [Owner(tmp_path, name, monkeypatch) for name in (b"one", b"two")]
    seen = []
    with waiting.turn(tmp_path, never) as turn:
        owners[0].start()
        owners[0].is_waiting.wait()
        for asked in turn.others():
            seen.append(asked.data)
            if asked.data == b"one":
                owners[1].start()
                owners[1].is_waiting.wait()
    for owner in owners:
        owner.join()
    assert seen == [b"one", b"two"]


@pytest.mark.parametrize("question", [b"", b"x" * (waiting.LONG + 1)])
def test_what_nobody_else_can_do_is_only_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, question: bytes
) -> None:
    with waiting.turn(tmp_path, never) as turn:
        owner = Owner(tmp_path, question, monkeypatch)
        owner.start()
        owner.is_waiting.wait()
        assert list(turn.others()) == []
    owner.join()
    assert owner.heard is None


def test_a_folder_that_cannot_be_made_is_no_error(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / waiting.FOLDER).write_text("in the way")
    with waiting.turn(tmp_path, never) as turn:
        owner = Owner(tmp_path, b"please", monkeypatch)
        owner.start()
        owner.is_waiting.wait()
        assert list(turn.others()) == []
    owner.join()
    assert owner.heard is None


@pytest.mark.parametrize(
    "left", [["a.ask"], ["a.ask", "a.answer"], ["a.answer"], ["a.draft"], ["a.ask", "a.draft"]]
)
def test_what_killed_owners_left_is_removed_and_not_done(tmp_path: Path, left: list[str]) -> None:
    folder = tmp_path / waiting.FOLDER
    folder.mkdir()
    for name in left:
        (folder / name).write_text("please")
    assert list(turns(tmp_path)) == [[]]
    assert files(tmp_path) == []


def test_a_link_is_not_followed(tmp_path: Path) -> None:
    folder = tmp_path / waiting.FOLDER
    folder.mkdir()
    (tmp_path / "secret").write_text("s")
    (folder / "a.ask").symlink_to(tmp_path / "secret")
    assert list(turns(tmp_path)) == [[]]
    assert (tmp_path / "secret").read_text() == "s"


def test_a_pipe_stops_nobody(tmp_path: Path) -> None:
    folder = tmp_path / waiting.FOLDER
    folder.mkdir()
    os.mkfifo(folder / "a.ask")
    assert list(turns(tmp_path)) == [[]]
    assert files(tmp_path) == []


def test_no_more_are_taken_along_than_can_be_waited_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "MANY", 2)
    owners = [Owner(tmp_path, b"please", monkeypatch) for _ in range(3)]
    with waiting.turn(tmp_path, never) as turn:
        for owner in owners:
            owner.start()
            owner.is_waiting.wait()
        for asked in turn.others():
            asked.answer(b"done")
    for owner in owners:
        owner.join()
    assert sorted(owner.heard or b"" for owner in owners) == [b"", b"done", b"done"]
