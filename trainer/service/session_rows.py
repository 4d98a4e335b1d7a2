"""The tables of the session service, and the values that their rows are. Functions on a connection."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

from trainer.service.session_errors import ExistsError, UnknownError

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from trainer.service.session_db import Connection
    from trainer.service.tool_results import ToolResult

Status = Literal["pending", "running", "cancelling", "completed", "failed", "cancelled"]
SCHEMA = """
CREATE TABLE session (key INTEGER PRIMARY KEY AUTOINCREMENT, owner TEXT NOT NULL, id TEXT NOT NULL,
  created REAL NOT NULL, updated REAL NOT NULL, settings TEXT NOT NULL, archives INTEGER NOT NULL DEFAULT 0,
  UNIQUE (owner, id));
CREATE TABLE message (key INTEGER PRIMARY KEY AUTOINCREMENT,
  session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
  id TEXT NOT NULL, data TEXT NOT NULL, tokens INTEGER NOT NULL, archive INTEGER NOT NULL DEFAULT 0,
  UNIQUE (session, id));
CREATE INDEX message_of ON message (session, archive, key);
CREATE TABLE tool_result (session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE, id TEXT NOT NULL,
  data TEXT NOT NULL, mime_type TEXT NOT NULL, PRIMARY KEY (session, id));
CREATE TABLE archive (session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE, number INTEGER NOT NULL,
  created REAL NOT NULL, policy TEXT NOT NULL, trace TEXT NOT NULL, task TEXT NOT NULL UNIQUE, cases TEXT,
  PRIMARY KEY (session, number));
CREATE TABLE task (id TEXT PRIMARY KEY, session INTEGER NOT NULL REFERENCES session ON DELETE CASCADE,
  number INTEGER NOT NULL, status TEXT NOT NULL, created REAL NOT NULL, updated REAL NOT NULL,
  started REAL, ended REAL, result TEXT, error TEXT);
CREATE INDEX task_state ON task (status)
"""


@dataclass(frozen=True, slots=True)
class SessionRow:
    """A session."""

    key: int
    owner: str
    id: str
    created: float
    updated: float
    settings: dict[str, JsonValue]
    archives: int
    messages: int
    """Of those that are in no archive yet."""
    tokens: int


@dataclass(frozen=True, slots=True)
class NewMessage:
    """A message to add, its large outputs already taken out."""

    id: str
    data: dict[str, JsonValue]
    tokens: int
    results: tuple[ToolResult, ...] = ()


@dataclass(frozen=True, slots=True)
class Archive:
    """What one commit of a session froze, and what is known of it."""

    owner: str
    session: str
    settings: dict[str, JsonValue]
    number: int
    created: float
    policy: str
    """The commit of the experiences that were served then."""
    trace: str
    task: str
    messages: tuple[dict[str, JsonValue], ...]
    cases: JsonValue
    """The cases that were found in it, with what goes with them; None = nobody has looked yet."""


@dataclass(frozen=True, slots=True)
class Task:
    """What became of a commit. Times in seconds since 1970."""

    id: str
    owner: str
    session: str
    number: int
    status: Status
    created: float
    updated: float
    started: float | None
    ended: float | None
    result: dict[str, JsonValue] | None
    error: str | None


SESSIONS = """SELECT s.*,
 (SELECT COUNT(*) FROM message m WHERE m.session = s.key AND m.archive = 0) AS messages,
 (SELECT COALESCE(SUM(tokens), 0) FROM message m WHERE m.session = s.key AND m.archive = 0) AS tokens
 FROM session s"""
TASKS = "SELECT t.*, s.owner AS owner, s.id AS session_id FROM task t JOIN session s ON s.key = t.session"


def session_row(db: Connection, owner: str, session: str) -> SessionRow:
    """Return a session. Raises UnknownError."""
    row = db.execute(f"{SESSIONS} WHERE s.owner = ? AND s.id = ?", (owner, session)).fetchone()
    if row is None:
        raise UnknownError("session", session, hint="create it first")
    return as_session(row)


def as_session(row: Mapping[str, str]) -> SessionRow:
    """Return a row of SESSIONS as a session."""
    names = ("key", "owner", "id", "created", "updated", "archives", "messages", "tokens")
    found: dict[str, object] = {name: row[name] for name in names}
    return SessionRow(**found, settings=json.loads(row["settings"]))  # type: ignore[arg-type]  # columns


def add_message(db: Connection, key: int, message: NewMessage) -> int:
    """Add a message; return 0 where it is there already. Raises ExistsError: another one has its id."""
    data = json.dumps(message.data)
    sql = "SELECT data FROM message WHERE session = ? AND id = ?"
    if known := db.execute(sql, (key, message.id)).fetchone():
        if _said(known["data"]) != _said(data):
            said = f"another message has the id {message.id}"
            raise ExistsError("message", message.id, said, hint="a message is never changed")
        return 0
    db.execute(
        "INSERT INTO message (session, id, data, tokens) VALUES (?, ?, ?, ?)",
        (key, message.id, data, message.tokens),
    )
    for result in message.results:
        sql = "INSERT OR IGNORE INTO tool_result (session, id, data, mime_type) VALUES (?, ?, ?, ?)"
        db.execute(sql, (key, result.id, result.text, result.mime_type))
    return 1


def _said(data: str) -> object:
    """Return a stored message without its time, which the server gives where the client did not."""
    return {key: value for key, value in json.loads(data).items() if key != "created_at"}


def messages_of(db: Connection, key: int, archive: int) -> list[dict[str, JsonValue]]:
    """Return the messages of an archive, in order; 0 = of none yet."""
    sql = "SELECT data FROM message WHERE session = ? AND archive = ? ORDER BY key"
    return [json.loads(row["data"]) for row in db.execute(sql, (key, archive))]


def archive_row(db: Connection, task: str) -> Archive:
    """Return the archive of a task, with its messages. Raises UnknownError."""
    sql = (
        "SELECT a.*, s.owner, s.id AS session_id, s.settings FROM archive a"
        " JOIN session s ON s.key = a.session WHERE a.task = ?"
    )
    row = db.execute(sql, (task,)).fetchone()
    if row is None:
        raise no_task(task)
    return Archive(
        owner=row["owner"],
        session=row["session_id"],
        settings=json.loads(row["settings"]),
        number=row["number"],
        created=row["created"],
        policy=row["policy"],
        trace=row["trace"],
        task=task,
        messages=tuple(messages_of(db, row["session"], row["number"])),
        cases=None if row["cases"] is None else json.loads(row["cases"]),
    )


def task_row(db: Connection, task: str, owner: str | None) -> Task:
    """Return a task (of an owner). Raises UnknownError."""
    row = db.execute(f"{TASKS} WHERE t.id = ?", (task,)).fetchone()
    if row is None or owner not in {None, row["owner"]}:
        raise no_task(task)
    return as_task(row)


def as_task(row: Mapping[str, str]) -> Task:
    """Return a row of TASKS as a task."""
    names = ("id", "owner", "number", "status", "created", "updated", "started", "ended", "error")
    found: dict[str, object] = {name: row[name] for name in names}
    result = None if row["result"] is None else json.loads(row["result"])
    return Task(**found, session=row["session_id"], result=result)  # type: ignore[arg-type]  # columns


def no_task(task: str) -> UnknownError:
    """Return that there is no such task."""
    return UnknownError("task", task, "Task not found or expired")
