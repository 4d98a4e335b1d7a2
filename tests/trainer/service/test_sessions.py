from __future__ import annotations

import asyncio
import json

import pytest

from tests.builders import make_store
from tests.session_world import begun, called, committed, opened, quick, run, said, session
from trainer.service.session_errors import ExistsError, InvalidRequestError, StateError, UnknownError
from trainer.service.sessions import SessionService
from xpstore.errors import NotAStoreError, RefusedError

USER = "default"


@pytest.fixture
def store(tmp_path, monkeypatch):
    quick(monkeypatch)
    return make_store(tmp_path / "s").repo.workdir


def test_a_session_from_its_first_message_to_its_lesson(store):
    async def work(service):
        made = await service.create_session(USER, {"session_id": "s"})
        assert made["uri"] == "viking://user/default/sessions/s"
        added = await service.add_messages(USER, "s", session())
        assert (added["message_count"], added["added"]) == (4, 4)
        accepted = await service.commit(USER, "s")
        assert accepted["archive_uri"] == f"{made['uri']}/history/archive_001"
        done = await service.wait(USER, accepted["task_id"])
        assert (done["status"], done["resource_id"]) == ("completed", "s")
        told = await service.session(USER, "s")
        assert (told["message_count"], told["total_message_count"], told["commit_count"]) == (0, 4, 1)
        assert await service.commit(USER, "s") == {
            "session_id": "s",
            "status": "skipped",
            "task_id": None,
            "archive_uri": None,
            "archived": False,
            "reason": "no_messages",
        }
        lines = (
            await service.read_file(USER, "s", ("history", "archive_001", "messages.jsonl"))
        ).splitlines()
        assert [json.loads(line)["role"] for line in lines] == ["system", "user", "assistant", "user"]
        archive = await service.archive(USER, "s", "archive_001")
        assert len(archive["messages"]) == 4

    run(store, work)


def test_the_newest_messages_may_stay(store):
    async def work(service):
        await service.create_session(USER, {"session_id": "s"})
        await service.add_messages(USER, "s", [said("a"), called(), said("b")])
        await service.commit(USER, "s", keep_recent=1)
        assert [m["parts"][0]["text"] for m in await service.messages(USER, "s")] == ["b"]
        assert (await service.context(USER, "s", 100))["messages"][0]["role"] == "user"
        assert (await service.context(USER, "s", 0))["messages"] == []

    run(store, work)


def test_a_large_output_is_kept_aside_and_can_be_read(store):
    async def work(service):
        await service.create_session(USER, {"session_id": "s"})
        await service.add_messages(USER, "s", [called(output="x" * 30_000)])
        (message,) = await service.messages(USER, "s")
        reference = message["parts"][0]["tool_output_ref"]
        assert await service.read_file(USER, "s", ("tool-results", reference)) == "x" * 30_000

    run(store, work)


def test_users_do_not_see_each_other(store):
    async def work(service):
        task = await committed(service, "s", session(), "alice")
        await service.create_session("bob", {"session_id": "s"})
        for asked in (
            service.task("bob", task["task_id"]),
            service.cancel("bob", task["task_id"]),
            service.wait("bob", task["task_id"]),
            service.archive("bob", "s", "archive_001"),
            service.delete("carol", "s"),
        ):
            with pytest.raises(UnknownError):
                await asked
        assert [row["session_id"] for row in await service.sessions("alice")] == ["s"]
        assert await service.sessions("carol") == await service.tasks("bob") == []
        assert await service.tasks("alice", task_type="other") == []

    run(store, work)


def test_what_is_not_of_the_form_is_refused(store):
    async def work(service):
        made = await service.create_session(USER, {})
        assert len(made["session_id"]) == 32
        for settings in ({"session_id": "../x"}, {"memory_policy": {"memory_types": ["nope"]}}):
            with pytest.raises(InvalidRequestError):
                await service.create_session(USER, settings)
        with pytest.raises(ExistsError):
            await service.create_session(USER, {"session_id": made["session_id"]})
        with pytest.raises(InvalidRequestError, match="101 messages"):
            await service.add_messages(USER, made["session_id"], [said()] * 101)
        for asked in (
            service.session(USER, "nix"),
            service.commit(USER, "nix"),
            service.messages(USER, "nix"),
        ):
            with pytest.raises(UnknownError):
                await asked
        assert (await service.session(USER, "new", create=True))["message_count"] == 0
        for parts in (
            (),
            ("history",),
            ("history", "archive_001", "x"),
            ("history", "..", "memory_diff.json"),
        ):
            with pytest.raises(UnknownError):
                await service.read_file(USER, "new", parts)

    run(store, work)


def test_a_difference_is_there_when_it_was_learned(store):
    async def work(service):
        accepted = await begun(service, "s", session())
        parts = ("history", "archive_001", "memory_diff.json")
        await service.wait(USER, accepted["task_id"])
        assert json.loads(await service.read_file(USER, "s", parts))["summary"]["total_adds"] == 1
        await service._store.move(accepted["task_id"], ("completed",), "running")
        with pytest.raises(StateError, match="is running"):
            await service.read_file(USER, "s", parts)

    run(store, work)


def test_settings_can_be_changed_and_a_session_deleted(store):
    async def work(service):
        await committed(service, "s", session())
        changed = await service.configure(USER, "s", {"memory_policy": {"memory_types": ["cases"]}})
        assert changed["memory_policy"] == {"memory_types": ["cases"]}
        with pytest.raises(InvalidRequestError):
            await service.configure(USER, "s", {"memory_policy": {"memory_types": ["nope"]}})
        assert (await service.delete(USER, "s"))["deleted"] is True
        with pytest.raises(UnknownError):
            await service.session(USER, "s")

    run(store, work)


def test_one_process_serves_a_store(store):
    async def main():
        async with opened(store):
            with pytest.raises(RefusedError, match="another xp serve"):
                async with SessionService.open(store):
                    pass
        async with SessionService.open(store, store=None):
            pass

    asyncio.run(main())


def test_where_no_store_is_nothing_is_opened(tmp_path):
    async def main():
        async with SessionService.open(tmp_path):
            pass

    with pytest.raises(NotAStoreError):
        asyncio.run(main())
