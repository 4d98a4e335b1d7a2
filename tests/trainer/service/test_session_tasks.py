from __future__ import annotations

import asyncio
import threading

import pytest

from tests.builders import make_store
from tests.fickle import Fickle
from tests.session_world import begun, committed, opened, quick, run, said, session
from trainer.errors import ComponentError
from trainer.inbox import GitInbox
from trainer.service import session_tasks
from trainer.service.session_errors import StateError, UnknownError
from trainer.service.session_tasks import BROKEN
from xpstore import inbox
from xpstore.errors import RepositoryError
from xpstore.ledger import ledgers
from xpstore.location import Location

USER = "default"
BROKEN_SPEC = said("# OpenViking Batch Training CaseSpec v1")


class Waiting(Fickle):
    """Thinks until it is told to go on."""

    begun: asyncio.Event
    go_on: asyncio.Event

    @classmethod
    def reset(cls):
        cls.begun, cls.go_on = asyncio.Event(), asyncio.Event()

    async def edit(self, analyses, experience_set, context):
        Waiting.begun.set()
        await Waiting.go_on.wait()
        return await super().edit(analyses, experience_set, context)


@pytest.fixture
def store(tmp_path, monkeypatch):
    quick(monkeypatch, Waiting)
    return make_store(tmp_path / "s").repo.workdir


def test_a_task_that_is_cancelled_ends_and_its_rollout_is_learned_by_nobody(store):
    async def work():
        Waiting.reset()
        async with opened(store) as service:
            task = (await begun(service, "s", session()))["task_id"]
            await Waiting.begun.wait()
            await service.cancel(USER, task)
            cancelled = await service.wait(USER, task)
            Waiting.go_on.set()
        async with opened(store) as service:  # the next start takes nothing up
            with pytest.raises(StateError, match="is cancelled"):
                await service.cancel(USER, task)
            with pytest.raises(StateError, match="is cancelled"):
                await service.retry(USER, task)
        return cancelled

    done = asyncio.run(work())
    assert (done["status"], done["result"]["plans"]) == ("cancelled", [])
    loc = Location.find(store)
    assert inbox.entries(loc) == []
    assert loc.tip_of("train/live") is None


def at_drop(monkeypatch, service, go_on):
    """Set an event when the rollouts of a cancelled task are about to be dropped."""
    trainer = service._learner._trainer
    settled = trainer.settled

    async def settling():
        go_on.set()
        await settled()

    monkeypatch.setattr(trainer, "settled", settling)


def test_a_cancelled_task_tells_of_the_plan_that_was_being_applied(store, monkeypatch):
    async def work(service):
        Waiting.reset()
        Waiting.go_on.set()
        begun_to, go_on = asyncio.Event(), asyncio.Event()
        engine = service._learner._trainer._engine
        apply = engine.plan_and_apply

        async def slow(*args):
            begun_to.set()
            await go_on.wait()
            return await apply(*args)

        monkeypatch.setattr(engine, "plan_and_apply", slow)
        task = (await begun(service, "s", session()))["task_id"]
        await begun_to.wait()
        at_drop(monkeypatch, service, go_on)
        await service.cancel(USER, task)
        ended = await service.wait(USER, task)
        go_on.set()
        return ended

    done = run(store, work)
    assert done["status"] == "cancelled"
    assert done["result"]["commits"] == [Location.find(store).tip_of("train/live")]


def test_what_goes_on_record_while_it_is_cancelled_is_learned_by_nobody_either(store, monkeypatch):
    begun_to, go_on = threading.Event(), threading.Event()
    receive = GitInbox._receive

    def slow(self, location, fresh):
        begun_to.set()
        go_on.wait()
        receive(self, location, fresh)

    async def work(service):
        Waiting.reset()
        monkeypatch.setattr(GitInbox, "_receive", slow)
        task = (await begun(service, "s", session()))["task_id"]
        await asyncio.to_thread(begun_to.wait)
        at_drop(monkeypatch, service, go_on)
        await service.cancel(USER, task)
        ended = await service.wait(USER, task)
        go_on.set()
        return ended

    assert run(store, work)["status"] == "cancelled"
    loc = Location.find(store)
    assert inbox.entries(loc) == []
    assert len(dict(ledgers(loc))) == 1


def test_what_was_being_learned_when_the_service_ended_is_finished(store):
    async def work():
        Waiting.reset()
        async with opened(store) as service:
            task = (await begun(service, "s", session()))["task_id"]
            await Waiting.begun.wait()
            asyncio.get_running_loop().call_later(0, Waiting.go_on.set)
        async with opened(store) as service:
            return await service.task(USER, task)

    assert asyncio.run(work())["status"] == "completed"


def test_a_task_that_is_done_is_neither_tried_again_nor_stopped(store):
    async def work(service):
        Waiting.reset()
        Waiting.go_on.set()
        task = (await committed(service, "s", session()))["task_id"]
        for change in (service.retry, service.cancel):
            with pytest.raises(StateError, match="is completed"):
                await change(USER, task)
            with pytest.raises(UnknownError):
                await change(USER, "nix")

    run(store, work)


def test_a_fault_of_this_program_leaves_nobody_waiting(store, monkeypatch, caplog):
    async def breaks(archive):
        raise ZeroDivisionError(archive.session)

    async def work(service):
        Waiting.reset()
        Waiting.go_on.set()
        monkeypatch.setattr(service._learner, "learn", breaks)
        failed = await committed(service, "s", session())
        monkeypatch.undo()
        return failed

    done = run(store, work)
    assert (done["status"], done["error"]) == ("failed", BROKEN)
    assert "ZeroDivisionError" in caplog.text


def test_what_a_full_disk_kept_from_the_record_is_tried_again_and_nobody_waits_for_ever(
    store, monkeypatch, caplog
):
    monkeypatch.setattr(session_tasks, "PAUSE", 0)
    said_no = []

    async def work(service):
        Waiting.reset()
        Waiting.go_on.set()
        move = service._store.move

        async def full(task, expected, status, **more):
            if status == "completed" and len(said_no) < 2:
                said_no.append(task)
                raise RepositoryError("the disk is full")
            return await move(task, expected, status, **more)

        monkeypatch.setattr(service._store, "move", full)
        return await committed(service, "s", session())

    done = run(store, work)
    assert (done["status"], len(done["result"]["plans"])) == ("completed", 1)
    assert len(said_no) == 2
    assert "the disk is full" in caplog.text


def test_a_service_whose_disk_stays_full_ends_and_the_next_one_takes_the_task_up(store, monkeypatch):
    async def work():
        Waiting.reset()
        Waiting.go_on.set()
        tried = asyncio.Event()

        async def full(*_, **__):
            tried.set()
            raise RepositoryError("the disk is full")

        async with opened(store) as service:
            monkeypatch.setattr(service._store, "move", full)
            task = (await begun(service, "s", session()))["task_id"]
            await tried.wait()
        async with opened(store) as service:
            return await service.wait(USER, task)

    assert asyncio.run(work())["status"] == "completed"


def test_a_session_on_record_that_cannot_be_read_fails_its_task(store, monkeypatch):
    async def damaged(_):
        raise ValueError("no JSON")

    async def work(service):
        monkeypatch.setattr(service._store, "archive_of", damaged)
        return await committed(service, "s", session())

    done = run(store, work)
    assert (done["status"], done["error"]) == ("failed", BROKEN)


def test_a_retry_of_what_is_under_way_changes_nothing(store):
    async def work(service):
        Waiting.reset()
        task = (await begun(service, "s", session()))["task_id"]
        await Waiting.begun.wait()
        assert (await service.retry(USER, task))["status"] == "running"
        Waiting.go_on.set()
        return await service.wait(USER, task)

    assert run(store, work)["status"] == "completed"


def test_a_session_without_a_case_is_done_at_once(store):
    assert run(store, lambda service: committed(service, "s", [said()]))["status"] == "completed"


class Away(Fickle):
    """Cannot be reached."""

    async def edit(self, analyses, experience_set, context):
        raise ComponentError("the model is away")


def test_what_failed_for_a_reason_that_may_be_gone_is_tried_by_the_next_start(store, monkeypatch, caplog):
    async def work():
        quick(monkeypatch, Away)
        async with opened(store) as service:
            failed = [
                await committed(service, "s", session()),
                await committed(service, "bad", [BROKEN_SPEC]),
            ]
        assert [(task["status"], task["result"]["retryable"]) for task in failed] == [
            ("failed", True),
            ("failed", False),
        ]
        assert "next start" in failed[0]["error"]
        (logged,) = [r.getMessage() for r in caplog.records if r.name == session_tasks.trace.name]
        assert "the model is away" in logged  # of the other one only its client can mend the reason
        quick(monkeypatch)
        async with opened(store) as service:
            return [await service.wait(USER, task["task_id"]) for task in failed]

    done, bad = asyncio.run(work())
    assert (done["status"], len(done["result"]["plans"])) == ("completed", 1)
    assert bad["status"] == "failed"
    assert inbox.entries(Location.find(store)) == []
