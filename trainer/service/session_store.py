"""What is kept of sessions: messages, archives, large tool outputs, tasks and the cases found. Durable.

    <git directory>/xpstore.service/<store id>.db

Raw text: it is readable by its owner alone, leaves this file only redacted, and goes with its session.
"""

from __future__ import annotations

import fcntl
import json
import os
import time
from typing import TYPE_CHECKING

from trainer.service.session_db import Database
from trainer.service.session_errors import ExistsError, StateError, UnknownError
from trainer.service.session_rows import (
    SCHEMA,
    SESSIONS,
    TASKS,
    Archive,
    NewMessage,
    SessionRow,
    Status,
    Task,
    add_message,
    archive_row,
    as_session,
    as_task,
    messages_of,
    no_task,
    session_row,
    task_row,
)
from xpstore.errors import RefusedError, RepositoryError

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from pydantic import JsonValue

    from trainer.service.session_db import Connection

FOLDER = "xpstore.service"
VERSION = 1
OPEN = ("pending", "running", "cancelling")
"""The states in which something is still to be done."""
LISTED = 1_000
"""Rows that one list has at most."""


class SessionStore:
    """The sessions of a store. One process has it open."""

    def __init__(self, common_dir: Path, store_id: str, clock: Callable[[], float] = time.time) -> None:
        """Open it. Raises RefusedError where another process has it, RepositoryError, FormatError."""
        folder = common_dir / FOLDER
        try:
            folder.mkdir(mode=0o700, exist_ok=True)
            self._lock = _lock(folder / f"{store_id}.held")
        except OSError as error:
            raise RepositoryError(f"cannot use {folder}: {error}", hint="it must be writable") from error
        self._clock = clock
        try:
            self._db = Database(folder / f"{store_id}.db", SCHEMA, VERSION)
        except BaseException:
            os.close(self._lock)
            raise

    def close(self) -> None:
        """Finish what was asked, and let another process have it."""
        self._db.close()
        if self._lock >= 0:
            os.close(self._lock)
            self._lock = -1

    async def create(
        self, owner: str, session: str, settings: Mapping[str, JsonValue], *, may_exist: bool = False
    ) -> SessionRow:
        """Make a session. Raises ExistsError, unless it `may_exist`."""
        now = self._clock()

        def work(db: Connection) -> SessionRow:
            sql = "INSERT INTO session (owner, id, created, updated, settings) VALUES (?, ?, ?, ?, ?)"
            known = db.execute("SELECT 1 FROM session WHERE owner = ? AND id = ?", (owner, session))
            if known.fetchone():
                if may_exist:
                    return session_row(db, owner, session)
                message = f"session {session} exists already"
                raise ExistsError("session", session, message, hint="use it, or choose another id")
            db.execute(sql, (owner, session, now, now, json.dumps(dict(settings))))
            return session_row(db, owner, session)

        return await self._db.run(work)

    async def configure(self, owner: str, session: str, settings: Mapping[str, JsonValue]) -> None:
        """Change some of a session's settings. Raises UnknownError."""

        def work(db: Connection) -> None:
            found = session_row(db, owner, session)
            text = json.dumps({**found.settings, **settings})
            db.execute("UPDATE session SET settings = ? WHERE key = ?", (text, found.key))

        await self._db.run(work)

    async def session(self, owner: str, session: str) -> SessionRow:
        """Return a session. Raises UnknownError."""
        return await self._db.run(lambda db: session_row(db, owner, session))

    async def sessions(self, owner: str) -> list[SessionRow]:
        """Return the sessions of an owner, the newest first."""

        def work(db: Connection) -> list[SessionRow]:
            rows = db.execute(f"{SESSIONS} WHERE s.owner = ? ORDER BY s.key DESC LIMIT ?", (owner, LISTED))
            return [as_session(row) for row in rows]

        return await self._db.run(work)

    async def count(self, key: int) -> int:
        """Return how many messages a session has, archived ones included."""
        sql = "SELECT COUNT(*) FROM message WHERE session = ?"
        return await self._db.run(lambda db: int(db.execute(sql, (key,)).fetchone()[0]))

    async def add(
        self, owner: str, session: str, messages: Sequence[NewMessage], most: int, tokens: int
    ) -> tuple[SessionRow, int]:
        """Add messages, those that are there already once; return the session, and how many are new.

        Raises UnknownError; and adds none: ExistsError where another message has the id of one, StateError
        where more than `most`, or than so many tokens, would wait for a commit.
        """
        now = self._clock()

        def work(db: Connection) -> tuple[SessionRow, int]:
            key = session_row(db, owner, session).key
            added = sum(add_message(db, key, message) for message in messages)
            db.execute("UPDATE session SET updated = ? WHERE key = ?", (now, key))
            found = session_row(db, owner, session)
            if found.messages > most or found.tokens > tokens:
                raise StateError(f"session {session} is full: it has not committed yet", hint="commit it")
            return found, added

        return await self._db.run(work)

    async def messages(self, owner: str, session: str) -> list[dict[str, JsonValue]]:
        """Return the messages that are in no archive yet. Raises UnknownError."""
        return await self._db.run(lambda db: messages_of(db, session_row(db, owner, session).key, 0))

    async def archived(self, owner: str, session: str, number: int) -> Archive:
        """Return an archive. Raises UnknownError."""

        def work(db: Connection) -> Archive:
            key = session_row(db, owner, session).key
            sql = "SELECT task FROM archive WHERE session = ? AND number = ?"
            row = db.execute(sql, (key, number)).fetchone()
            if row is None:
                raise UnknownError("archive", f"archive_{number:03} of session {session}")
            return archive_row(db, row["task"])

        return await self._db.run(work)

    async def tool_result(self, owner: str, session: str, result: str) -> tuple[str, str]:
        """Return the text and the type of an output that is kept aside. Raises UnknownError."""

        def work(db: Connection) -> tuple[str, str]:
            key = session_row(db, owner, session).key
            sql = "SELECT data, mime_type FROM tool_result WHERE session = ? AND id = ?"
            row = db.execute(sql, (key, result)).fetchone()
            if row is None:
                raise UnknownError("tool result", f"{result} of session {session}")
            return row["data"], row["mime_type"]

        return await self._db.run(work)

    async def delete(self, owner: str, session: str) -> None:
        """Delete a session with all that was said in it. Raises UnknownError, StateError: it is at work."""

        def work(db: Connection) -> None:
            key = session_row(db, owner, session).key
            marks = ", ".join("?" * len(OPEN))
            sql = f"SELECT id FROM task WHERE session = ? AND status IN ({marks})"  # noqa: S608  # only marks
            if row := db.execute(sql, (key, *OPEN)).fetchone():
                raise StateError(f"task {row['id']} of session {session} is not done", hint="cancel it first")
            db.execute("DELETE FROM session WHERE key = ?", (key,))

        await self._db.run(work)
        await self._db.forget_pages()

    async def commit(  # noqa: PLR0913  # what an archive is made of
        self, owner: str, session: str, keep: int, *, task: str, policy: str, trace: str
    ) -> int:
        """Freeze all but the last `keep` messages with a pending task, in one step.

        Return the number of the archive; 0 where there was nothing to freeze. Raises UnknownError.
        """
        now = self._clock()

        def work(db: Connection) -> int:
            found = session_row(db, owner, session)
            if found.messages <= keep:
                return 0
            number = found.archives + 1
            db.execute(
                "UPDATE message SET archive = ? WHERE key IN (SELECT key FROM message"
                " WHERE session = ? AND archive = 0 ORDER BY key LIMIT ?)",
                (number, found.key, found.messages - keep),
            )
            db.execute(
                "INSERT INTO archive (session, number, created, policy, trace, task)"
                " VALUES (?, ?, ?, ?, ?, ?)",
                (found.key, number, now, policy, trace, task),
            )
            db.execute(
                "INSERT INTO task (id, session, number, status, created, updated) VALUES (?, ?, ?, ?, ?, ?)",
                (task, found.key, number, "pending", now, now),
            )
            db.execute("UPDATE session SET archives = ?, updated = ? WHERE key = ?", (number, now, found.key))
            return number

        return await self._db.run(work)

    async def archive_of(self, task: str) -> Archive:
        """Return what a task is to learn from. Raises UnknownError."""
        return await self._db.run(lambda db: archive_row(db, task))

    async def found(self, task: str, cases: JsonValue) -> JsonValue:
        """Keep the cases that were found in a task's archive; return what was kept first."""

        def work(db: Connection) -> JsonValue:
            db.execute(
                "UPDATE archive SET cases = ? WHERE task = ? AND cases IS NULL", (json.dumps(cases), task)
            )
            row = db.execute("SELECT cases FROM archive WHERE task = ?", (task,)).fetchone()
            if row is None:
                raise no_task(task)
            kept: JsonValue = json.loads(row["cases"])
            return kept

        return await self._db.run(work)

    async def task(self, task: str, owner: str | None = None) -> Task:
        """Return a task (of an owner). Raises UnknownError."""
        return await self._db.run(lambda db: task_row(db, task, owner))

    async def tasks(
        self, owner: str | None = None, *, status: Sequence[str] = (), session: str = "", limit: int = LISTED
    ) -> list[Task]:
        """Return tasks, the newest first: of an owner or of all, with one of these states, of a session."""
        where = ["1"]
        values: list[str | int] = []
        if owner is not None:
            where.append("s.owner = ?")
            values.append(owner)
        if status:
            where.append(f"t.status IN ({', '.join('?' * len(status))})")
            values += status
        if session:
            where.append("s.id = ?")
            values.append(session)
        sql = f"{TASKS} WHERE {' AND '.join(where)} ORDER BY t.rowid DESC LIMIT ?"

        def work(db: Connection) -> list[Task]:
            return [as_task(row) for row in db.execute(sql, (*values, max(0, limit)))]

        return await self._db.run(work)

    async def move(
        self,
        task: str,
        expected: Sequence[Status],
        status: Status,
        *,
        result: Mapping[str, JsonValue] | None = None,
        error: str | None = None,
    ) -> Task:
        """Give a task a new state where it is in one of the expected ones; return it as it is then.

        Raises UnknownError.
        """
        now = self._clock()

        def work(db: Connection) -> Task:
            if task_row(db, task, None).status in expected:
                started = "started = COALESCE(started, ?)" if status == "running" else "started = started + ?"
                db.execute(
                    f"UPDATE task SET status = ?, updated = ?, {started}, ended = ?, result = ?, error = ?"  # noqa: S608
                    " WHERE id = ?",
                    (
                        status,
                        now,
                        now if status == "running" else 0,
                        None if status in OPEN else now,
                        None if result is None else json.dumps(dict(result)),
                        error,
                        task,
                    ),
                )
            return task_row(db, task, None)

        return await self._db.run(work)


def _lock(file: Path) -> int:
    """Lock a file as long as this process lives. Raises RefusedError, OSError."""
    handle = os.open(file, os.O_RDWR | os.O_CREAT | os.O_NOFOLLOW | os.O_CLOEXEC, 0o600)
    try:
        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        os.close(handle)
        raise RefusedError(
            "another xp serve has the sessions of this store",
            hint="one process serves a store: use that one, or stop it",
        ) from None
    return handle
