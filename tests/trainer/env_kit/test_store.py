from __future__ import annotations

import os
from threading import Thread

import pytest

from tests.env_world import completed, execution
from trainer.env_kit.store import ExecutionStore
from trainer.remote.protocol import Execution
from xpstore.errors import RepositoryError

DONE = Execution.model_validate(completed())


def named(name, **more):
    return Execution.model_validate(execution("failed", execution_id=name, **more))


@pytest.fixture
def path(tmp_path):
    return tmp_path / "deep" / "runs.sqlite"


def test_what_has_ended_is_there_after_a_restart(path):
    store = ExecutionStore(path)
    store.put(DONE, "desk", "key-1", "digest")
    store.close()
    store = ExecutionStore(path)
    assert store.get(DONE.execution_id, "desk") == DONE
    assert store.by_key("desk", "key-1") == (DONE, "digest")
    store.close()


def test_it_is_its_owners_alone(path):
    ExecutionStore(path).close()
    assert path.stat().st_mode & 0o777 == 0o600


def test_a_caller_sees_its_own(path):
    store = ExecutionStore(path)
    store.put(DONE, "desk", "key-1", "digest")
    assert store.get(DONE.execution_id, "other") is None
    assert store.by_key("other", "key-1") is None
    store.close()


def test_the_oldest_go_first():
    store = ExecutionStore(None, kept=3)
    for number in range(5):
        store.put(named(str(number)), "desk", "", "digest")
    assert [store.get(str(n), "desk") is None for n in range(5)] == [True, True, False, False, False]
    store.close()


def test_threads_do_not_meet(path):
    store = ExecutionStore(path)
    threads = [Thread(target=store.put, args=(named(str(n)), "desk", f"key-{n}", "digest")) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(store.by_key("desk", f"key-{n}") for n in range(8))
    store.close()


def test_what_cannot_be_opened(tmp_path):
    (tmp_path / "file").write_text("")
    with pytest.raises(RepositoryError, match="cannot be opened"):
        ExecutionStore(tmp_path / "file" / "runs.sqlite")
    (tmp_path / "page").write_text("# No database\n" * 100)
    with pytest.raises(RepositoryError, match="cannot be opened"):
        ExecutionStore(tmp_path / "page")


@pytest.mark.parametrize("text", ["", "{", "[]", '{"execution_id": 1}', "[" * 5_000])
def test_what_was_damaged_is_told(path, text):
    store = ExecutionStore(path)
    store.put(DONE, "desk", "key-1", "digest")
    store._db.execute("update ended set state = ?", [text])
    with pytest.raises(RepositoryError, match="cannot be read"):
        store.get(DONE.execution_id, "desk")
    with pytest.raises(RepositoryError, match="cannot be read"):
        store.by_key("desk", "key-1")
    store.close()


def test_two_services_on_one_file_see_what_each_has_ended(path):
    stores = ExecutionStore(path), ExecutionStore(path)
    threads = [Thread(target=stores[n % 2].put, args=(named(str(n)), "d", f"k{n}", "x")) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert all(store.by_key("d", f"k{n}") for n in range(8) for store in stores)
    for store in stores:
        store.close()


def test_a_full_disk_is_told(path):
    store = ExecutionStore(path)
    store._db.execute("pragma max_page_count = 1")
    with pytest.raises(RepositoryError, match="cannot be written"):
        store.put(Execution.model_validate(completed(metadata={"a": "b" * 1_000_000})), "desk", "", "")
    assert store.get(DONE.execution_id, "desk") is None
    store.close()
    assert os.listdir(path.parent)  # noqa: PTH208
