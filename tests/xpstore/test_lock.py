from __future__ import annotations

import errno
import os
import subprocess
import sys
import threading
from typing import TYPE_CHECKING

import pytest

from xpstore import lock
from xpstore.errors import RepositoryError

if TYPE_CHECKING:
    from pathlib import Path

HOLDER = """
import sys
from pathlib import Path
from xpstore import lock
with lock.store_lock(Path(sys.argv[1])):
    lock.write_intents(Path(sys.argv[1]), (lock.Intent("refs/heads/x", None, "1" * 40, ("/w",)),))
    print("held", flush=True)
    sys.stdin.read()
"""


def test_threads_wait_for_each_other_and_one_may_take_it_again(tmp_path: Path) -> None:
    inside: list[int] = []
    most = []

    def work() -> None:
        for _ in range(20):
            with lock.store_lock(tmp_path), lock.store_lock(tmp_path):
                inside.append(1)
                most.append(len(inside))
                inside.pop()

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert (len(most), max(most)) == (80, 1)


def test_lock_dies_with_its_process_and_tells_what_it_did(tmp_path: Path) -> None:
    holder = subprocess.Popen(
        [sys.executable, "-c", HOLDER, str(tmp_path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert holder.stdout is not None
    assert holder.stdout.readline() == "held\n"
    entered = threading.Event()

    def wait() -> None:
        with lock.store_lock(tmp_path):
            entered.set()

    waiter = threading.Thread(target=wait)
    waiter.start()
    assert not entered.wait(0.1)
    holder.kill()
    holder.communicate()
    assert entered.wait(10)
    waiter.join()
    with lock.store_lock(tmp_path):
        assert lock.read_intents(tmp_path) == (lock.Intent("refs/heads/x", None, "1" * 40, ("/w",)),)
        lock.write_intents(tmp_path, (lock.Intent("refs/heads/x", None, "1" * 40),))
        lock.mark_locked(tmp_path)
        assert lock.read_intents(tmp_path) == (lock.Intent("refs/heads/x", None, "1" * 40, is_locked=True),)
        lock.write_intents(tmp_path, ())
        assert lock.read_intents(tmp_path) == ()
        for left in (
            b' [["refs/he',
            bytes(64),
            b"\xff",
            b'!{"a": 1}',
            b' ["refs/x"]',
            b" [[1, 2, 3, 4]]",
            b" 7",
            b"!",
        ):
            (tmp_path / lock.FILE).write_bytes(left)
            assert lock.read_intents(tmp_path) == ()


def test_stale_ref_locks(tmp_path: Path) -> None:
    file = tmp_path / "refs" / "x.lock"
    assert lock.clear_stale(tmp_path, "refs/x", lock.STALE)
    file.parent.mkdir()
    file.touch()
    assert not lock.clear_stale(tmp_path, "refs/x", lock.STALE_OF_DEAD)
    os.utime(file, (1, file.stat().st_mtime - 5))
    assert not lock.clear_stale(tmp_path, "refs/x", lock.STALE)
    assert file.exists()
    assert lock.clear_stale(tmp_path, "refs/x", lock.STALE_OF_DEAD)
    assert not file.exists()


def test_directory_that_cannot_be_written(tmp_path: Path) -> None:
    with pytest.raises(RepositoryError, match="cannot open"), lock.store_lock(tmp_path / "missing"):
        pass


def test_a_full_disk_is_an_error_for_people(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: object) -> int:
        raise OSError(errno.ENOSPC, "No space left on device")

    with lock.store_lock(tmp_path):
        monkeypatch.setattr(os, "pwrite", full)
        with pytest.raises(RepositoryError, match="No space left"):
            lock.write_intents(tmp_path, (lock.Intent("refs/heads/x", None, "1" * 40),))


def test_a_forked_child_has_no_part_in_it(tmp_path: Path) -> None:
    told, stay = os.pipe(), os.pipe()
    with lock.store_lock(tmp_path):
        child = os.fork()
        if child == 0:
            with lock.store_lock(tmp_path, wait=False) as is_held:
                os.write(told[1], b"held" if is_held else b"free")
            os.read(stay[0], 1)
            os._exit(0)
        assert os.read(told[0], 4) == b"free"
    with lock.store_lock(tmp_path, wait=False) as is_held:
        assert is_held  # the child still has the file open
    os.write(stay[1], b".")
    os.waitpid(child, 0)
    for handle in (*told, *stay):
        os.close(handle)
