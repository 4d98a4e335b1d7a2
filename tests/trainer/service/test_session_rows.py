from __future__ import annotations

import asyncio

import pytest

from trainer.service.session_db import Database
from trainer.service.session_errors import UnknownError
from trainer.service.session_rows import SCHEMA, NewMessage, add_message, archive_row, messages_of, task_row


def test_messages_belong_to_their_session_and_come_in_order(tmp_path):
    db = Database(tmp_path / "x.db", SCHEMA, 1)

    def work(connection):
        for name in ("a", "b"):
            connection.execute(
                "INSERT INTO session (owner, id, created, updated, settings) VALUES ('u', ?, 0, 0, '{}')",
                (name,),
            )
        for key in (1, 2):
            for number in (2, 1):
                message = NewMessage(f"m{number}", {"n": key * 10 + number, "created_at": "now"}, 1)
                assert add_message(connection, key, message) == 1
        later = NewMessage("m1", {"n": 11, "created_at": "later"}, 1)
        assert add_message(connection, 1, later) == 0  # the time is the server's, and not what was said
        assert [row["n"] for row in messages_of(connection, 1, 0)] == [12, 11]
        for missing in (archive_row, lambda c, t: task_row(c, t, None)):
            with pytest.raises(UnknownError, match="Task not found or expired"):
                missing(connection, "nix")

    asyncio.run(db.run(work))
    db.close()
