"""The door to SQLite: one thread, one connection; requests that wait together share one synced transaction.

What a caller is told has happened is on the disk, and survives the process and the machine.
"""

from __future__ import annotations

import asyncio
import os
import sqlite3
import threading
from concurrent.futures import Future
from queue import SimpleQueue
from typing import TYPE_CHECKING, Generic, TypeVar

from xpstore.errors import FormatError, RepositoryError

if TYPE_CHECKING:
    from collections.abc import Callable
    from pathlib import Path

T = TypeVar("T")
Connection = sqlite3.Connection

TOGETHER = 256
"""As many requests share a transaction at most."""
_PRAGMAS = (
    "PRAGMA journal_mode=WAL",
    "PRAGMA synchronous=FULL",
    "PRAGMA foreign_keys=ON",
    "PRAGMA secure_delete=ON",  # what is deleted is overwritten: it was said in confidence
    "PRAGMA trusted_schema=OFF",
)


class Database:
    """A database file of one format, read and written by this process alone."""

    def __init__(self, path: Path, schema: str, version: int) -> None:
        """Open or make it, readable by its owner alone.

        Raises RepositoryError where it cannot be opened, FormatError for one of a newer format.
        """
        self._jobs: SimpleQueue[_Job[object] | None] = SimpleQueue()
        self._place = path
        self._connection = self._connect(path, schema, version)
        self._identity = _identity(path)
        self._thread = threading.Thread(target=self._work, name="xpstore-sessions", daemon=True)
        self._thread.start()
        self._closing = threading.Lock()
        self._is_closed = False

    async def run(self, function: Callable[[Connection], T]) -> T:
        """Return `function(connection)`, whose writes are all on the disk, or, where it raises, none of them.

        It must be quick. Raises RepositoryError where the disk says no, and what the function raises.
        """
        job = _Job(function)
        with self._closing:
            if self._is_closed:
                raise RepositoryError(f"{self._place} is closed")
            self._jobs.put(job)  # type: ignore[arg-type]  # the result goes back to who knows its type
        return await asyncio.wrap_future(job.future)

    async def forget_pages(self) -> None:
        """Leave nothing of what was deleted in the journal beside the file."""
        await self.run(lambda _: None)  # what is under way is written
        await self.run(_Outside(lambda db: db.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchall()))

    def close(self) -> None:
        """Finish what was asked, and close the file. Idempotent."""
        with self._closing:
            if not self._is_closed:
                self._is_closed = True
                self._jobs.put(None)
        self._thread.join()

    def _connect(self, path: Path, schema: str, version: int) -> Connection:
        try:
            os.close(os.open(path, os.O_CREAT | os.O_RDWR | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600))
            path.chmod(0o600)
            db = sqlite3.connect(path, isolation_level=None, check_same_thread=False)
            db.row_factory = sqlite3.Row
            for pragma in _PRAGMAS:
                db.execute(pragma)
            found = int(db.execute("PRAGMA user_version").fetchone()[0])
            if found == 0:
                db.executescript(f"BEGIN; {schema}; PRAGMA user_version={version}; COMMIT;")
        except (OSError, sqlite3.Error) as error:
            raise _unusable(path, error) from error
        if found > version:
            db.close()
            raise FormatError(
                f"{path} has format {found}, and this program knows {version}", hint="use a newer program"
            )
        return db

    def _work(self) -> None:
        while True:
            jobs = [self._jobs.get()]
            while len(jobs) < TOGETHER and not self._jobs.empty():
                jobs.append(self._jobs.get())
            self._together([job for job in jobs if job is not None])
            if None in jobs:
                self._connection.close()
                return

    def _together(self, jobs: list[_Job[object]]) -> None:
        begun = [job for job in jobs if job.future.set_running_or_notify_cancel()]
        inside = [job for job in begun if not isinstance(job.function, _Outside)]
        try:
            self._check_place()
            self._transaction(inside)
            for job in begun:
                if isinstance(job.function, _Outside):
                    job.do(self._connection)
        except sqlite3.Error as error:  # the disk is full, or the file is damaged
            for job in begun:
                job.fail(_unusable(self._place, error))
        for job in begun:
            job.tell()

    def _check_place(self) -> None:
        """Raise sqlite3.Error where the file was deleted or replaced: what is written would be lost."""
        if _identity(self._place) != self._identity:
            raise sqlite3.OperationalError("it was deleted or replaced meanwhile; start xp serve again")

    def _transaction(self, jobs: list[_Job[object]]) -> None:
        if not jobs:
            return
        db = self._connection
        db.execute("BEGIN IMMEDIATE")
        try:
            for job in jobs:
                db.execute("SAVEPOINT one")
                if job.do(db):
                    db.execute("RELEASE one")
                else:
                    db.execute("ROLLBACK TO one")
                    db.execute("RELEASE one")
            db.execute("COMMIT")
        except BaseException:
            if db.in_transaction:
                db.execute("ROLLBACK")
            raise


class _Outside(Generic[T]):
    """What cannot be done within a transaction."""

    def __init__(self, function: Callable[[Connection], T]) -> None:
        self._function = function

    def __call__(self, db: Connection) -> T:
        return self._function(db)


class _Job(Generic[T]):
    """A function that waits for its turn, and who waits for its result."""

    def __init__(self, function: Callable[[Connection], T]) -> None:
        self.function = function
        self.future: Future[T] = Future()
        self._done: list[T] = []
        self._error: BaseException | None = None

    def do(self, db: Connection) -> bool:
        """Call it; whether it worked. Raises sqlite3.Error where the disk says no."""
        try:
            self._done = [self.function(db)]
        except sqlite3.Error:
            raise
        except BaseException as error:  # noqa: BLE001  # it is who asked who hears of it
            self._error = error
        return self._error is None

    def fail(self, error: BaseException) -> None:
        """Make it fail with the transaction it was in."""
        self._error = self._error or error

    def tell(self) -> None:
        """Give who waits the result, now that it is on the disk."""
        if self._error is not None:
            self.future.set_exception(self._error)
        else:
            self.future.set_result(self._done[0])


def _identity(path: Path) -> tuple[int, int] | None:
    """Return which file is at a place; None where none can be seen."""
    try:
        found = path.lstat()
    except OSError:
        return None
    return found.st_dev, found.st_ino


def _unusable(path: Path, error: Exception) -> RepositoryError:
    is_damaged = getattr(error, "sqlite_errorname", "") in {"SQLITE_NOTADB", "SQLITE_CORRUPT"}
    advice = (
        "it is damaged: move it away, and xp serve begins another one; what was learned is in git"
        if is_damaged
        else "the folder must be writable, the disk not full"
    )
    return RepositoryError(f"cannot use {path}: {error}", hint=f"it holds the sessions of xp serve: {advice}")
