from __future__ import annotations

import asyncio
import stat
import threading

import pytest

from trainer.service.session_db import Database
from xpstore.errors import FormatError, RepositoryError, UsageError

SCHEMA = "CREATE TABLE word (text TEXT NOT NULL)"


def opened(path, version=1):
    return Database(path / "x.db", SCHEMA, version)


def add(text):
    return lambda db: db.execute("INSERT INTO word VALUES (?)", (text,)).rowcount


def words(db):
    return [row["text"] for row in db.execute("SELECT text FROM word ORDER BY rowid")]


def test_what_was_written_is_there_after_another_start_and_nobody_else_reads_it(tmp_path):
    first = opened(tmp_path)
    assert asyncio.run(first.run(add("a"))) == 1
    modes = {stat.S_IMODE(file.stat().st_mode) for file in tmp_path.iterdir()}
    assert modes == {0o600}
    first.close()
    first.close()
    again = opened(tmp_path)
    assert asyncio.run(again.run(words)) == ["a"]
    again.close()
    with pytest.raises(RepositoryError, match=r"x\.db is closed"):
        asyncio.run(again.run(words))


def test_who_fails_has_written_nothing_and_harms_nobody_beside(tmp_path):
    db = opened(tmp_path)
    held = threading.Event()

    def half(connection):
        add("half")(connection)
        raise UsageError("no")

    async def main():
        waiting = asyncio.ensure_future(db.run(lambda _: held.wait(60)))
        await asyncio.sleep(0)
        together = [asyncio.ensure_future(db.run(work)) for work in (add("a"), half, add("b"))]
        await asyncio.sleep(0)
        held.set()
        await waiting
        results = await asyncio.gather(*together, return_exceptions=True)
        assert [results[0], results[2]] == [1, 1]
        assert isinstance(results[1], UsageError)
        return await db.run(words)

    assert asyncio.run(main()) == ["a", "b"]
    db.close()


def test_those_that_wait_together_are_one_transaction(tmp_path):
    db = opened(tmp_path)
    commits = []
    begun, go_on = threading.Event(), threading.Event()

    def hold(connection):
        begun.set()
        connection.set_trace_callback(lambda sql: commits.append(sql) if sql == "COMMIT" else None)
        go_on.wait(60)

    async def main():
        waiting = asyncio.ensure_future(db.run(hold))
        await asyncio.to_thread(begun.wait)
        many = [asyncio.ensure_future(db.run(add(str(n)))) for n in range(50)]
        await asyncio.sleep(0)
        go_on.set()
        await asyncio.gather(waiting, *many)
        assert len(await db.run(words)) == 50

    asyncio.run(main())
    assert len(commits) == 3  # of the one that held it up, of the fifty, of the one that reads
    db.close()


def test_who_went_away_in_time_is_not_written(tmp_path):
    db = opened(tmp_path)
    begun, go_on = threading.Event(), threading.Event()

    async def main():
        waiting = asyncio.ensure_future(db.run(lambda _: (begun.set(), go_on.wait(60))))
        await asyncio.to_thread(begun.wait)
        gone = asyncio.ensure_future(db.run(add("gone")))
        await asyncio.sleep(0)
        gone.cancel()
        await asyncio.sleep(0)
        go_on.set()
        await waiting
        return await db.run(words)

    assert asyncio.run(main()) == []
    db.close()


def test_what_was_deleted_is_nowhere_in_the_files(tmp_path):
    db = opened(tmp_path)
    rare = "a-rather-rare-word"

    async def main():
        await db.run(add(rare))
        await db.run(lambda db: db.execute("DELETE FROM word"))
        await db.forget_pages()

    asyncio.run(main())
    db.close()
    assert all(rare.encode() not in file.read_bytes() for file in tmp_path.iterdir())


def test_a_full_disk_is_an_error_of_all_who_wait(tmp_path):
    db = opened(tmp_path)

    async def main():
        await db.run(lambda c: c.execute("PRAGMA max_page_count = 3").fetchall())
        results = await asyncio.gather(db.run(add("x" * 100_000)), return_exceptions=True)
        assert isinstance(results[0], RepositoryError)
        assert "full" in results[0].message
        assert await db.run(add("y")) == 1

    asyncio.run(main())
    db.close()


def test_a_newer_format_and_what_is_no_database_are_told(tmp_path):
    opened(tmp_path, version=2).close()
    with pytest.raises(FormatError, match="has format 2"):
        opened(tmp_path)
    (tmp_path / "x.db").write_bytes(b"not a database at all" * 100)
    with pytest.raises(RepositoryError, match="not a database") as damaged:
        opened(tmp_path)
    assert "move it away" in damaged.value.hint
    (tmp_path / "x.db").unlink()
    (tmp_path / "x.db").symlink_to(tmp_path / "elsewhere")
    with pytest.raises(RepositoryError):
        opened(tmp_path)
    assert not (tmp_path / "elsewhere").exists()


@pytest.mark.parametrize("is_replaced", [False, True])
def test_nothing_is_promised_where_the_file_was_deleted_meanwhile(tmp_path, is_replaced):
    db = opened(tmp_path)

    async def main():
        await db.run(add("kept"))
        (tmp_path / "x.db").rename(tmp_path / "y.db")
        if is_replaced:
            (tmp_path / "x.db").touch()
        with pytest.raises(RepositoryError, match="deleted or replaced"):
            await db.run(add("lost"))
        (tmp_path / "y.db").rename(tmp_path / "x.db")
        await db.run(add("kept, too"))

    asyncio.run(main())
    db.close()


def test_it_is_synced(tmp_path):
    db = opened(tmp_path)

    def pragmas(connection):
        names = ("journal_mode", "synchronous", "secure_delete")
        return [connection.execute(f"PRAGMA {name}").fetchone()[0] for name in names]

    assert asyncio.run(db.run(pragmas)) == ["wal", 2, 1]
    db.close()
