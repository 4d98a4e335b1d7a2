from __future__ import annotations

import os
import signal

import pytest

from xpstore import alive
from xpstore.alive import Presence, clear, dead, state
from xpstore.errors import RepositoryError


def test_who_lives_is_alive_and_then_gone(tmp_path):
    mine = Presence(tmp_path)
    assert state(tmp_path, mine.token) == "alive"
    mine.end(is_done=True)
    mine.end(is_done=True)
    assert state(tmp_path, mine.token) == "elsewhere"
    assert list((tmp_path / alive.FOLDER).iterdir()) == []


def test_who_leaves_work_behind_is_seen_to_have_been_here(tmp_path):
    mine = Presence(tmp_path)
    mine.end(is_done=False)
    assert state(tmp_path, mine.token) == "dead"
    assert dead(tmp_path) == {mine.token}
    clear(tmp_path, dead(tmp_path))
    assert state(tmp_path, mine.token) == "elsewhere"


def test_who_is_killed_is_dead_at_once(tmp_path):
    read_end, write_end = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.write(write_end, Presence(tmp_path).token.encode())
        os.kill(os.getpid(), signal.SIGKILL)
    os.waitpid(pid, 0)
    token = os.read(read_end, 100).decode()
    os.close(read_end)
    os.close(write_end)
    assert state(tmp_path, token) == "dead"


def test_the_living_are_not_dead(tmp_path):
    assert dead(tmp_path) == frozenset()
    mine = Presence(tmp_path)
    assert dead(tmp_path) == frozenset()
    mine.end(is_done=True)


@pytest.mark.parametrize("token", ["", "../config", "a/b", "deadbeef"])
def test_a_token_of_somebody_else_is_of_elsewhere(tmp_path, token):
    assert state(tmp_path, token) == "elsewhere"


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path):
    (tmp_path / alive.FOLDER).write_text("a file")
    with pytest.raises(RepositoryError, match=r"cannot write below .*xpstore\.alive"):
        Presence(tmp_path)


def test_a_file_that_is_cleared_before_it_is_locked_is_made_again(tmp_path, monkeypatch):
    flock, taken = alive.fcntl.flock, []

    def late(handle, how):
        if how == alive.fcntl.LOCK_EX and not taken:
            taken.extend(dead(tmp_path))
            monkeypatch.setattr(alive.fcntl, "flock", flock)
            clear(tmp_path, taken)
        flock(handle, how)

    monkeypatch.setattr(alive.fcntl, "flock", late)
    mine = Presence(tmp_path)
    assert len(taken) == 1
    assert state(tmp_path, taken[0]) == "elsewhere"
    assert state(tmp_path, mine.token) == "alive"
    clear(tmp_path, [mine.token, "deadbeef"])
    assert state(tmp_path, mine.token) == "alive"
    mine.end(is_done=True)
