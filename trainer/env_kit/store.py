"""What has ended, on disk: an execution that a client was promised is there after a restart, too.

Only ended executions are kept. One that was waiting or running when the service ended is unknown to the next
one, which answers 404: the client submits it again under the same key, and it runs once more.
"""

from __future__ import annotations

import json
import os
import sqlite3
from contextlib import contextmanager
from threading import Lock
from typing import TYPE_CHECKING

from trainer.remote.protocol import Execution
from xpstore.errors import RepositoryError

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

KEPT = 5_000
"""Executions; the oldest go first. A client asks for its own within seconds, or after a restart."""
_SCHEMA = """
create table if not exists ended (
    number integer primary key,
    id text not null unique,
    caller text not null,
    key text not null,
    digest text not null,
    state text not null,
    rollout text
);
create index if not exists ended_by_key on ended (caller, key);
"""
_PUT = "insert or replace into ended (id, caller, key, digest, state, rollout) values (?, ?, ?, ?, ?, ?)"
_PRUNE = "delete from ended where number <= (select max(number) from ended) - ?"
_BY_ID = "select state, rollout, digest from ended where id = ? and caller = ?"
_BY_KEY = "select state, rollout, digest from ended where caller = ? and key = ? order by number desc limit 1"


class ExecutionStore:
    """Ended executions of one service, in one file. Bears calls from several threads."""

    def __init__(self, path: Path | None, kept: int = KEPT) -> None:
        """Open the file, or make it; None keeps everything in memory. Raises RepositoryError."""
        self._path = path
        self._kept = kept
        self._lock = Lock()
        with self._failures("opened"):
            if path is not None:
                path.parent.mkdir(parents=True, exist_ok=True)
                os.close(os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600))  # its owner's alone
            self._db = sqlite3.connect(path or ":memory:", check_same_thread=False, isolation_level=None)
            self._db.execute("pragma journal_mode = wal")
            self._db.execute("pragma synchronous = full")
            self._db.executescript(_SCHEMA)

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def put(self, execution: Execution, caller: str, key: str, digest: str) -> None:
        """Keep an execution that has ended; it is on disk on return. Raises RepositoryError."""
        state = execution.model_dump(mode="json", exclude={"rollout"})
        rollout = None if execution.rollout is None else json.dumps(execution.rollout)
        row = (execution.execution_id, caller, key, digest, json.dumps(state), rollout)
        with self._failures("written"), self._lock, self._db:
            self._db.execute("begin immediate")
            self._db.execute(_PUT, row)
            self._db.execute(_PRUNE, [self._kept])

    def get(self, execution_id: str, caller: str) -> Execution | None:
        """Return an execution of a caller. Raises RepositoryError."""
        found = self._one(_BY_ID, execution_id, caller)
        return None if found is None else found[0]

    def by_key(self, caller: str, key: str) -> tuple[Execution, str] | None:
        """Return what a caller has submitted under a key, and the digest of that. Raises RepositoryError."""
        return self._one(_BY_KEY, caller, key)

    def _one(self, query: str, *values: str) -> tuple[Execution, str] | None:
        with self._failures("read"):
            with self._lock:
                row = self._db.execute(query, values).fetchone()
            return None if row is None else (_execution(row[0], row[1]), row[2])

    @contextmanager
    def _failures(self, what: str) -> Iterator[None]:
        try:
            yield
        except (sqlite3.Error, OSError, ValueError, TypeError, RecursionError) as error:
            raise RepositoryError(
                f"the executions in {self._path} cannot be {what}: {error}",
                hint="check permissions and free space; --state names another file",
            ) from error


def _execution(state: str, rollout: str | None) -> Execution:
    value = json.loads(state)
    return Execution.model_validate({**value, "rollout": None if rollout is None else json.loads(rollout)})
