from __future__ import annotations

import multiprocessing

import pytest

from hooks.install_lock import installing

AT_ONCE, TIMES = 4, 25


def count(folder):
    for _ in range(TIMES):
        with installing(folder):
            file = folder / "count"
            file.write_text(str(int(file.read_text()) + 1))


def test_one_at_a_time_and_nothing_is_left(tmp_path):
    (tmp_path / "count").write_text("0")
    context = multiprocessing.get_context("fork")
    processes = [context.Process(target=count, args=(tmp_path,)) for _ in range(AT_ONCE)]
    for process in processes:
        process.start()
    for process in processes:
        process.join()
    assert (tmp_path / "count").read_text() == str(AT_ONCE * TIMES)
    assert [file.name for file in tmp_path.iterdir()] == ["count"]


def test_the_file_of_a_dead_process_is_no_lock(tmp_path):
    (tmp_path / ".xpstore-lock").touch()
    with pytest.raises(KeyError), installing(tmp_path):
        raise KeyError
    assert list(tmp_path.iterdir()) == []
