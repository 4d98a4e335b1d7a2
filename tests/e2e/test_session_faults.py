"""What goes wrong in OpenViking's session training, in the order of research/openviking.md §8, does not here.

Faults 1 to 4, 7, 9 and 12 are about merging, undoing, review and records of pages: test_memory_diff.py and
the tests of the store have them. The batcher's (§6) are in tests/trainer/test_batcher.py by what it does;
those that show only in a service are here.
"""

from __future__ import annotations

import asyncio
import json

import pytest

from tests.builders import ROLLOUT, every_object, git, make_store, texts
from tests.e2e.llm import make_template
from tests.fickle import Fickle, lines_of
from tests.llm_server import Fault
from tests.llm_world import LESSONS, teach
from tests.session_world import begun, called, committed, outcome, quick, run, said, session, spec
from tests.trainer.doubles import SECRET
from trainer.components.streaming_trainer import StreamingPolicyTrainerConfig
from trainer.errors import ComponentError
from trainer.strategies import ModelChoice
from xpstore import evidence, layout, lock
from xpstore.location import Location

BRANCH = "train/live"
TOPIC = "refund"


@pytest.fixture
def store(tmp_path, monkeypatch):
    quick(monkeypatch)
    return make_store(tmp_path / "s").repo.workdir


@pytest.fixture
def modelled(tmp_path, llm_server, monkeypatch):
    monkeypatch.setenv("OPENAI_BASE_URL", llm_server.url)
    return make_template(tmp_path / "m", retries=0)


def letter(text=""):
    """A session that the scripted model learns from."""
    asked = said(f"Letter one, about the topic {TOPIC}, order Q0001X. {text}")
    return [
        spec(TOPIC),
        asked,
        called(TOPIC),
        said("I did it right away.", "assistant"),
        outcome(passed=False),
    ]


def rollouts_of(store):
    loc = Location.find(store)
    paths = evidence.listing(loc, "rollouts")
    return [json.loads(evidence.read(loc, path)) for path in paths]


@pytest.mark.parametrize("stage", [pytest.param("extract", marks=pytest.mark.stress), "edit"])
def test_fault_5_an_error_that_passes_loses_no_lesson_and_teaches_none_twice(modelled, llm_server, stage):
    teach(llm_server).on(stage, Fault("status", 503))

    async def work(service):
        failed = await committed(service, "s", letter())
        assert failed["status"] == "failed"
        assert "503" in failed["error"]
        assert "retry" in failed["error"]
        teach(llm_server)
        await service.retry("default", failed["task_id"])
        return await service.wait("default", failed["task_id"])

    done = run(modelled, work, choice=ModelChoice())
    assert done["status"] == "completed"
    assert len(done["result"]["plans"]) == len(done["result"]["commits"]) == 1
    pages = texts(Location.find(modelled), BRANCH)
    assert pages[TOPIC].count(LESSONS[TOPIC]) == 1
    assert len(rollouts_of(modelled)) == 1


class Stumbling(Fickle):
    """Cannot bear one page the first time."""

    stumbled = False

    async def edit(self, analyses, experience_set, context):
        if analyses[0].rollout.case.name == "bad" and not Stumbling.stumbled:
            Stumbling.stumbled = True
            raise ComponentError("that cannot be read")
        return await super().edit(analyses, experience_set, context)


def test_fault_6_one_session_that_fails_fails_alone_and_can_be_tried_again(store, monkeypatch):
    quick(monkeypatch, Stumbling)

    async def work(service):
        names = ["good-0", "bad", "good-1"]
        first = await asyncio.gather(*(committed(service, f"s-{n}", session(n)) for n in names))
        assert [task["status"] for task in first] == ["completed", "failed", "completed"]
        assert "that cannot be read" in first[1]["error"]
        await service.retry("default", first[1]["task_id"])
        return await service.wait("default", first[1]["task_id"])

    assert run(store, work)["status"] == "completed"
    pages = texts(Location.find(store), BRANCH)
    assert {name: len(lines_of(pages[name])) for name in ("good-0", "bad", "good-1")} == {
        "good-0": 1,
        "bad": 1,
        "good-1": 1,
    }


def test_fault_8_the_policy_of_a_rollout_is_a_commit_and_another_one_when_it_has_changed(store):
    loc = Location.find(store)

    async def work(service):
        await committed(service, "before", session())
        (store / "experiences").mkdir(exist_ok=True)
        (store / "experiences" / "hand.md").write_text("By hand.\n", "utf-8")
        git(store, "add", "-A")
        git(store, "commit", "-qm", "By hand")
        await committed(service, "after", session())

    before = loc.tip_of("main")
    run(store, work)
    found = {row["metadata"]["session"]: row for row in rollouts_of(store)}
    assert found["before"]["metadata"]["policy_commit"] == before
    assert found["after"]["metadata"]["policy_commit"] == git(store, "rev-parse", "main")
    assert {row["policy_snapshot_id"] for row in found.values()} == {"session-commit:archive_001"}


class Thinking(Fickle):
    """Thinks until it is told to go on."""

    begun: asyncio.Event
    go_on: asyncio.Event

    async def edit(self, analyses, experience_set, context):
        Thinking.begun.set()
        await Thinking.go_on.wait()
        return await super().edit(analyses, experience_set, context)


def test_fault_10_nothing_waits_while_the_learner_thinks_and_no_commit_for_a_full_batch(store, monkeypatch):
    quick(monkeypatch, Thinking)
    common = Location.find(store).repo.common_dir

    def by_hand():
        with lock.store_lock(common, wait=False) as is_held:
            assert is_held
            git(store, "commit", "-q", "--allow-empty", "-m", "By hand")

    async def work(service):
        Thinking.begun, Thinking.go_on = asyncio.Event(), asyncio.Event()
        first = await begun(service, "first", session())
        await Thinking.begun.wait()
        await asyncio.to_thread(by_hand)
        more = [await begun(service, f"s{n}", session()) for n in range(3)]  # acknowledged meanwhile
        states = {task["status"] for task in await service.tasks("default")}
        assert states <= {"pending", "running"}
        Thinking.go_on.set()
        return [await service.wait("default", task["task_id"]) for task in (first, *more)]

    # fewer than fill a batch, and nobody waits for its time to be over
    config = StreamingPolicyTrainerConfig(max_gradients_per_update=1_000, max_wait_seconds=1e6)
    done = run(store, work, config=config)
    assert [task["status"] for task in done] == ["completed"] * 4


@pytest.mark.parametrize(
    ("messages", "policy", "why"),
    [
        ([said("Hello!")], None, "nothing shows how it came out"),
        ([said("Hi", "assistant"), outcome()], None, "nobody asked for anything"),
        ([spec(), outcome()], None, "no message beside CaseSpec and OutcomeEvaluation"),
        (session(), {"memory_types": ["cases"]}, "asks for no experiences"),
    ],
)
def test_fault_11_where_nothing_is_learned_it_is_said_why(store, messages, policy, why):
    async def work(service):
        await service.create_session("default", {"session_id": "s", "memory_policy": policy})
        await service.add_messages("default", "s", messages)
        task = await service.commit("default", "s")
        return await service.wait("default", task["task_id"])

    done = run(store, work)
    assert done["status"] == "completed"
    assert why in done["result"]["why_nothing"]
    assert done["result"]["agent_memory_skip_reason"] == done["result"]["why_nothing"]
    assert done["result"]["plans"] == done["result"]["commits"] == []


def test_fault_11_a_malformed_case_is_no_success(store):
    broken = said("# OpenViking Batch Training CaseSpec v1\n\n```json\n{\n```", "system")

    async def work(service):
        return await committed(service, "s", [broken, *session()[1:]])

    done = run(store, work)
    assert done["status"] == "failed"
    assert "CaseSpec" in done["error"]


def test_fault_13_what_agents_are_served_changes_only_when_a_gate_has_let_it_in(store):
    main = git(store, "rev-parse", "main")

    async def work(service):
        return await committed(service, "s", session())

    done = run(store, work)
    (commit,) = done["result"]["commits"]
    assert git(store, "rev-parse", "main") == main
    assert git(store, "rev-parse", BRANCH) == commit
    assert git(store, "log", "--format=%H", f"main..{BRANCH}").split() == [commit]


def test_fault_14_no_secret_leaves_the_session(modelled, llm_server):
    teach(llm_server)
    asked = f"My key is {SECRET}."

    async def work(service):
        done = await committed(service, "s", letter(asked))
        diff = await service.read_file("default", "s", ("history", "archive_001", "memory_diff.json"))
        return json.dumps(done) + diff

    told = run(modelled, work, choice=ModelChoice())
    assert "secret:" in json.dumps(rollouts_of(modelled))
    assert SECRET not in told
    assert SECRET.encode() not in every_object(modelled)
    assert llm_server.requests
    assert not any(SECRET in json.dumps(seen.body) for seen in llm_server.requests)


def test_fault_14_what_a_session_declares_as_result_is_no_part_of_what_was_said(store):
    async def work(service):
        return await committed(service, "s", session(passed=False))

    run(store, work)
    (found,) = rollouts_of(store)
    assert [message["role"] for message in found["messages"]] == ["user", "assistant"]
    assert found["evaluation"]["passed"] is False
    assert evidence.read(Location.find(store), layout.rollout_path(ROLLOUT)) is None


def test_the_batchers_view_of_one_submitter_has_what_was_done_for_it_and_nothing_else(store):
    """§6: with one result for all of a flush, a session is told of plans that do not cite it."""

    async def work(service):
        return await asyncio.gather(*(committed(service, f"s{n}", session(f"page-{n}")) for n in range(3)))

    done = run(store, work)
    plans = [task["result"]["plans"] for task in done]
    assert [len(found) for found in plans] == [1, 1, 1]
    assert len({plan for found in plans for plan in found}) == 3


def test_the_batchers_second_caller_shares_nothing_of_the_first_ones_request(store):
    """§6: the first caller's context was used for all later applies; here users share the pages."""

    async def work(service):
        first, second = await asyncio.gather(
            committed(service, "s", session(), "alice"), committed(service, "s", session(), "bob")
        )
        assert await service.tasks("alice") == [first]
        assert await service.tasks("bob") == [second]
        diff = json.loads(await service.read_file("bob", "s", ("history", "archive_001", "memory_diff.json")))
        assert diff["archive_uri"].startswith("viking://user/bob/")

    run(store, work)
