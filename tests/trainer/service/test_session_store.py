from __future__ import annotations

import asyncio
from itertools import count

import pytest

from trainer.service.session_errors import ExistsError, StateError, UnknownError
from trainer.service.session_rows import NewMessage
from trainer.service.session_store import SessionStore
from trainer.service.tool_results import ToolResult
from xpstore.errors import RefusedError, RepositoryError


@pytest.fixture
def store(tmp_path):
    ticks = count(1)
    made = SessionStore(tmp_path, "id", clock=lambda: float(next(ticks)))
    yield made
    made.close()


def new(name, text="Hi", *results):
    return NewMessage(
        name, {"id": name, "role": "user", "parts": [{"type": "text", "text": text}]}, 1, results
    )


def names(rows):
    return [row["id"] for row in rows]


async def filled(store, *messages, owner="u", session="s"):
    await store.create(owner, session, {})
    return await store.add(owner, session, messages, 100, 100)


def test_one_process_has_the_sessions_of_a_store(store, tmp_path):
    with pytest.raises(RefusedError, match="another xp serve"):
        SessionStore(tmp_path, "id")
    SessionStore(tmp_path, "other").close()
    store.close()
    store.close()
    SessionStore(tmp_path, "id").close()


def test_where_nothing_can_be_written_it_is_said(tmp_path):
    (tmp_path / "xpstore.service").write_text("a file")
    with pytest.raises(RepositoryError, match=r"cannot use .*xpstore\.service"):
        SessionStore(tmp_path, "id")


def test_a_session_is_made_once_and_is_its_owners(store):
    async def main():
        await store.create("u", "s", {"a": 1})
        with pytest.raises(ExistsError):
            await store.create("u", "s", {})
        assert (await store.create("u", "s", {}, may_exist=True)).settings == {"a": 1}
        await store.create("v", "s", {"b": 2})
        await store.configure("u", "s", {"c": 3})
        assert (await store.session("u", "s")).settings == {"a": 1, "c": 3}
        assert [row.id for row in await store.sessions("u")] == ["s"]
        with pytest.raises(UnknownError):
            await store.session("w", "s")

    asyncio.run(main())


def test_the_same_message_twice_is_there_once_and_another_one_with_its_id_is_refused(store):
    async def main():
        row, added = await filled(store, new("a"), new("b"))
        assert (row.messages, row.tokens, added) == (2, 2, 2)
        row, added = await store.add("u", "s", [new("b"), new("c"), new("c")], 100, 100)
        assert (row.messages, added) == (3, 1)
        with pytest.raises(ExistsError, match="another message has the id a"):
            await store.add("u", "s", [new("d"), new("a", "Ho")], 100, 100)
        assert names(await store.messages("u", "s")) == ["a", "b", "c"]
        for most, tokens in ((3, 100), (100, 3)):
            with pytest.raises(StateError, match="is full"):
                await store.add("u", "s", [new("e")], most, tokens)
        with pytest.raises(UnknownError):
            await store.add("u", "nix", [new("a")], 100, 100)

    asyncio.run(main())


def test_a_commit_freezes_in_one_step_and_the_next_one_what_came_after(store):
    async def main():
        await filled(store, *(new(n) for n in "abcd"))
        assert await store.commit("u", "s", 1, task="t1", policy="p1", trace="x") == 1
        assert await store.commit("u", "s", 1, task="t2", policy="p2", trace="x") == 0
        assert names(await store.messages("u", "s")) == ["d"]
        await store.add("u", "s", [new("a"), new("e")], 100, 100)  # what was frozen is known, too
        assert await store.commit("u", "s", 0, task="t3", policy="p3", trace="x") == 2
        first, second = await store.archived("u", "s", 1), await store.archive_of("t3")
        assert [names(a.messages) for a in (first, second)] == [["a", "b", "c"], ["d", "e"]]
        assert [(a.number, a.policy, a.task) for a in (first, second)] == [(1, "p1", "t1"), (2, "p3", "t3")]
        assert await store.count((await store.session("u", "s")).key) == 5
        assert [t.id for t in await store.tasks("u")] == ["t3", "t1"]
        with pytest.raises(UnknownError):
            await store.archived("u", "s", 3)
        with pytest.raises(UnknownError):
            await store.task("t2")

    asyncio.run(main())


def test_the_newest_task_comes_first_whatever_the_clock_says(tmp_path):
    ticks = count(1_000, -1)
    store = SessionStore(tmp_path, "back", clock=lambda: float(next(ticks)))

    async def main():
        await filled(store, new("a"))
        await store.commit("u", "s", 0, task="t1", policy="p", trace="x")
        await store.add("u", "s", [new("b")], 100, 100)
        await store.commit("u", "s", 0, task="t2", policy="p", trace="x")
        return [task.id for task in await store.tasks("u")]

    assert asyncio.run(main()) == ["t2", "t1"]
    store.close()


def test_all_of_it_survives_another_start(store, tmp_path):
    async def before():
        await filled(store, new("a", "Hi", ToolResult("tr_1", "long", "text/plain")), new("b"))
        await store.commit("u", "s", 1, task="t", policy="p", trace="x")
        await store.move("t", ("pending",), "running")

    async def after(again):
        assert (await again.task("t", "u")).status == "running"
        assert names((await again.archive_of("t")).messages) == ["a"]
        assert names(await again.messages("u", "s")) == ["b"]
        assert await again.tool_result("u", "s", "tr_1") == ("long", "text/plain")
        with pytest.raises(UnknownError):
            await again.tool_result("u", "s", "tr_2")

    asyncio.run(before())
    store.close()
    again = SessionStore(tmp_path, "id")
    asyncio.run(after(again))
    again.close()


def test_the_first_cases_that_were_found_stay(store):
    async def main():
        await filled(store, new("a"))
        await store.commit("u", "s", 0, task="t", policy="p", trace="x")
        assert (await store.archive_of("t")).cases is None
        assert await store.found("t", {"cases": [1]}) == {"cases": [1]}
        assert await store.found("t", {"cases": [2]}) == {"cases": [1]}
        assert (await store.archive_of("t")).cases == {"cases": [1]}
        with pytest.raises(UnknownError):
            await store.found("nix", {})

    asyncio.run(main())


def test_a_task_moves_only_from_where_it_is_expected(store):
    async def main():
        await filled(store, new("a"))
        await store.commit("u", "s", 0, task="t", policy="p", trace="x")
        running = await store.move("t", ("pending",), "running")
        assert (running.status, running.ended) == ("running", None)
        assert (await store.move("t", ("pending",), "failed", error="no")).status == "running"
        done = await store.move("t", ("running",), "completed", result={"plans": []})
        assert (done.status, done.result, done.started, done.error) == (
            "completed",
            {"plans": []},
            running.started,
            None,
        )
        assert done.ended == done.updated > done.created
        assert [t.id for t in await store.tasks("u", status=["completed"], session="s")] == ["t"]
        assert await store.tasks("u", status=["failed"]) == await store.tasks("v") == []
        with pytest.raises(UnknownError):
            await store.task("t", "v")

    asyncio.run(main())


def test_a_session_goes_with_all_that_was_said_unless_it_is_at_work(store, tmp_path):
    async def main():
        await filled(
            store, new("a", "a-rather-rare-word", ToolResult("tr_1", "another-rare-word", "text/plain"))
        )
        await store.commit("u", "s", 0, task="t", policy="p", trace="x")
        with pytest.raises(StateError, match="task t of session s is not done"):
            await store.delete("u", "s")
        await store.move("t", ("pending",), "completed")
        await store.delete("u", "s")
        for asked in (store.session("u", "s"), store.task("t"), store.delete("u", "s")):
            with pytest.raises(UnknownError):
                await asked
        files = b"".join(file.read_bytes() for file in (tmp_path / "xpstore.service").iterdir())
        assert b"rare-word" not in files

    asyncio.run(main())
