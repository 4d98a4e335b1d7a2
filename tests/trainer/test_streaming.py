from __future__ import annotations

import asyncio

import pytest

from tests.builders import git
from tests.trainer.doubles import rollout
from trainer.components.streaming_trainer import StreamingPolicyTrainerConfig
from trainer.context import ApplyContext
from trainer.errors import ClosedError
from trainer.inbox import GitInbox
from trainer.store_door import StoreDoor
from trainer.strategies import ModelChoice
from trainer.streaming import (
    StreamingPolicyTrainerKey,
    get_streaming_policy_trainer,
    make_streaming_policy_trainer_key,
)
from xpstore import inbox
from xpstore.errors import NotAStoreError, UsageError
from xpstore.init import init
from xpstore.location import Location

LEARNER = "offline/1"


@pytest.fixture
def store(tmp_path):
    init(tmp_path / "s")
    return tmp_path / "s"


def test_one_trainer_for_all_who_ask_and_another_one_when_all_have_left(store):
    (store / "code").mkdir()

    async def main():
        async with get_streaming_policy_trainer(store) as first:
            async with get_streaming_policy_trainer(store / "code") as second:
                assert first is second
            async with get_streaming_policy_trainer(store, branch="main") as other:
                assert other is not first
            await first.submit_rollout(rollout("a"))  # still open for whoever is left
        with pytest.raises(ClosedError):
            await first.submit_rollout(rollout("a"))
        async with get_streaming_policy_trainer(store) as third:
            assert third is not first

    asyncio.run(main())


@pytest.mark.parametrize(
    "other",
    [
        {"config": StreamingPolicyTrainerConfig(max_gradients_per_update=3)},
        {"choice": ModelChoice(model="m")},
        {"start": "main"},
    ],
)
def test_other_settings_are_an_error_and_not_those_of_the_first(store, other):
    async def main():
        async with get_streaming_policy_trainer(store) as trainer:
            with pytest.raises(UsageError, match="train/live is open with other settings"):
                async with get_streaming_policy_trainer(store, **other):
                    pass
            await trainer.submit_rollout(rollout("a"))

    asyncio.run(main())


def test_another_event_loop_is_an_error_unless_the_first_one_is_over(store):
    kept = []

    async def leave_open():
        opened = get_streaming_policy_trainer(store)
        kept.append(opened)
        await opened.__aenter__()

    loop = asyncio.new_event_loop()
    loop.run_until_complete(leave_open())

    async def here():
        async with get_streaming_policy_trainer(store) as trainer:
            await trainer.submit_rollout(rollout("a"))

    with pytest.raises(UsageError, match="another event loop"):
        asyncio.run(here())
    loop.run_until_complete(loop.shutdown_asyncgens())
    loop.close()
    asyncio.run(here())


def test_what_is_open_is_taken_up_at_the_start(store):
    loc = Location.find(store)

    async def left_behind():
        async with StoreDoor(store) as door:
            box = GitInbox(door, "train/live")
            await box.admit([rollout("a"), rollout("b")], LEARNER, again=False)
            await box.close()

    async def start(*, recover):
        async with get_streaming_policy_trainer(store, recover=recover) as trainer:
            if recover:
                await trainer.recover()  # the same one

    asyncio.run(left_behind())
    asyncio.run(start(recover=False))
    assert len(inbox.entries(loc)) == 2
    asyncio.run(start(recover=True))
    assert inbox.entries(loc) == []


def test_a_learner_that_cannot_be_opened_is_an_error_and_leaves_nothing_open(store):
    async def main():
        for _ in range(2):
            with pytest.raises(UsageError, match="no model is named"):
                async with get_streaming_policy_trainer(store, choice=ModelChoice()):
                    pass
        async with get_streaming_policy_trainer(store):
            pass

    asyncio.run(main())


def test_where_is_no_store_and_what_is_no_branch_is_an_error(store, tmp_path):
    async def main(place, branch=""):
        async with get_streaming_policy_trainer(place, branch=branch):
            pass

    with pytest.raises(NotAStoreError):
        asyncio.run(main(tmp_path))
    with pytest.raises(UsageError):
        asyncio.run(main(store, "a..b"))


def test_the_key_names_policy_and_branch():
    key = make_streaming_policy_trainer_key("desk", ApplyContext(branch="main", run_id="x"))
    assert key == StreamingPolicyTrainerKey("desk", "main")


def test_the_lessons_of_a_stream_are_a_candidate(store):
    async def main():
        async with get_streaming_policy_trainer(store) as trainer:
            return await trainer.submit_rollout(rollout("a"))

    result = asyncio.run(main())
    assert result.nothing
    assert git(store, "branch", "--list", "train/live") == ""  # one rollout teaches nothing here
