from __future__ import annotations

import asyncio
import json
import os

import pytest

import trainer.service.sessions
from tests.builders import make_store
from tests.session_world import begun, called, committed, opened, quick, run, said, session
from trainer.domain import Case, Rubric, RubricEvaluation
from trainer.service.case_finding import ExtractedCase, FoundCases
from trainer.service.session_learning import Learned, RolloutState, failed
from trainer.service.session_messages import WireMessage, to_messages
from xpstore import evidence, inbox
from xpstore.ledger import ledgers
from xpstore.location import Location


@pytest.fixture
def store(tmp_path, monkeypatch):
    quick(monkeypatch)
    return make_store(tmp_path / "s").repo.workdir


def rollouts(store):
    loc = Location.find(store)
    found = [json.loads(evidence.read(loc, path)) for path in evidence.listing(loc, "rollouts")]
    return {row["metadata"]["session"]: row for row in found}


class Finder:
    """Finds another case whenever it is asked; two in a session that says so."""

    asked = 0

    async def find(self, spoken, about):
        Finder.asked += 1
        count = 2 if "two" in spoken.messages[0].text else 1
        cases = [
            Case(name=f"page-{n}", task_signature=os.urandom(4).hex(), rubric=Rubric(name="r"))
            for n in range(count)
        ]
        scored = RubricEvaluation(passed=True, score=1.0)
        return FoundCases(cases=tuple(ExtractedCase(case=c, evaluation=scored) for c in cases))


@pytest.fixture
def finder(monkeypatch):
    monkeypatch.setattr(trainer.service.sessions, "OfflineCaseFinder", Finder)
    Finder.asked = 0
    return Finder


def test_a_rollout_is_what_was_said_pinned_to_a_commit(store):
    run(store, lambda service: committed(service, "s", session("refund")))
    (row,) = rollouts(store).values()
    assert row["case"]["name"] == "refund"
    assert [m["role"] for m in row["messages"]] == ["user", "assistant"]
    assert row["policy_snapshot_id"] == "session-commit:archive_001"
    assert row["metadata"] == {
        "session": "s",
        "archive_uri": "viking://user/default/sessions/s/history/archive_001",
        "policy_commit": Location.find(store).tip_of("main"),
    }


def test_what_an_agent_was_given_to_read_is_on_record(store):
    """As a context part of the session, or by a call of its own."""
    base = "viking://user/default/memories/experiences"
    given = [{"type": "context", "uri": f"{base}/{name}.md"} for name in ("given", "-->", "../x")]
    parts = [*given, {"type": "context", "uri": "viking://user/default/memories/profile.md"}]
    looked = called("mcp_read_experience", tool_input={"uri": f"{base}/asked.md"})
    first, *rest = session()
    messages = [first, WireMessage.model_validate({"role": "user", "parts": parts}), looked, *rest]
    run(store, lambda service: committed(service, "s", messages))
    loc = Location.find(store)
    ((_, events),) = ledgers(loc)
    (used,) = [e for e in events if e["event"] == "used"]
    assert used["experiences"] == ["asked", "given"]
    assert (used["snapshot"], used["passed"]) == (loc.tip_of("main"), True)


@pytest.mark.usefixtures("finder")
def test_cases_that_were_found_are_on_record_and_each_is_a_rollout(store):
    async def work(service):
        return await committed(service, "s", [said("two things, please"), called()])

    done = run(store, work)
    assert len(done["result"]["rollouts"]) == len(done["result"]["plans"]) == 2
    loc = Location.find(store)
    assert len(evidence.listing(loc, "cases")) == len(evidence.listing(loc, "rollouts")) == 2


def test_the_first_answer_counts_whoever_asks_again(store, finder, monkeypatch):
    """A model that answers something else after a kill makes no second rollout."""

    class Killed(BaseException):
        """The process ends here."""

    async def work():
        async with opened(store) as service:
            write = evidence.write

            def dies(loc, files, message):
                write(loc, files, message)
                if message.startswith("Keep the cases"):
                    raise Killed

            monkeypatch.setattr(evidence, "write", dies)
            task = await begun(service, "s", [said(), called()])
            with pytest.raises(Killed):
                await service._tasks._works[task["task_id"]]
            monkeypatch.setattr(evidence, "write", write)
        async with opened(store) as service:
            return await service.wait("default", task["task_id"])

    done = asyncio.run(work())
    assert done["status"] == "completed"
    assert finder.asked == 1
    loc = Location.find(store)
    assert len(evidence.listing(loc, "cases")) == len(evidence.listing(loc, "rollouts")) == 1


def test_what_was_learned_by_a_process_that_has_died_is_told_with_plan_and_commit(store, monkeypatch):
    async def work():
        async with opened(store) as service:
            move = service._store.move

            async def forgets(task, expected, status, **_):
                return await move(task, expected, "running" if status == "completed" else status)

            monkeypatch.setattr(service._store, "move", forgets)
            task = await committed(service, "s", session())
            assert task["status"] == "running"
        async with opened(store) as service:
            return await service.wait("default", task["task_id"])

    done = asyncio.run(work())
    assert done["status"] == "completed"
    loc = Location.find(store)
    assert done["result"]["commits"] == [loc.tip_of("train/live")]
    ((rollout, events),) = ledgers(loc)
    assert done["result"]["plans"] == [e["plan"] for e in events if e["event"] == "planned"]
    assert done["result"]["rollouts"][0]["rollout"] == rollout


def test_the_same_session_again_is_another_attempt_and_secrets_are_masked_alike(store):
    async def work(service):
        text = "Write to ann.lee@example.com."
        first = await committed(service, "a", session(text=text))
        await committed(service, "b", session(text=text))
        return first

    run(store, work)
    found = rollouts(store)
    assert found["a"]["case"] == found["b"]["case"]
    assert found["a"]["messages"] == found["b"]["messages"]
    assert "example.com" not in json.dumps(found)


def test_train_from_extracted_cases_is_an_entry_point_of_its_own(store):
    async def work(service):
        task = await begun(service, "s", [said("nothing to see")])
        await service.wait("default", task["task_id"])
        archive = await service._store.archive_of(task["task_id"])
        case = ExtractedCase(
            case=Case(name="page-1", rubric=Rubric(name="r")),
            evaluation=RubricEvaluation(passed=True, score=1),
        )
        learner = service._learner
        messages = session()[1:3]
        talk = to_messages([m.stored(str(n), "now") for n, m in enumerate(messages)])
        first = await learner.train_from_extracted_cases([case], talk, archive)
        again = await learner.train_from_extracted_cases([case], talk, archive)
        return first, again

    first, again = run(store, work)
    assert first.rollouts[0].plans == again.rollouts[0].plans
    assert len(evidence.listing(Location.find(store), "rollouts")) == 1


def test_what_is_taken_back_before_it_was_learned_is_dropped(store):
    async def work(service):
        task = await committed(service, "s", session())
        archive = await service._store.archive_of(task["task_id"])
        kept = await service._learner.drop(archive, "why")
        return task, kept

    task, kept = run(store, work)
    assert list(kept.rollouts[0].plans) == task["result"]["plans"]
    assert inbox.entries(Location.find(store)) == []


def test_what_failed_is_said_once_with_how_to_go_on():
    states = [RolloutState(str(n), "c", {}, failure=why) for n, why in enumerate(["down", "down", "bad"])]
    learned = Learned(rollouts=tuple(states))
    assert learned.failures == ["down", "bad"]
    error = failed(learned)
    assert error.message == "down (and 1 more)"
    assert "retry" in error.hint


def test_why_nothing_was_learned_is_said_only_where_nothing_was():
    nothing = RolloutState("a", "c", {}, nothing="no contrast")
    some = RolloutState("b", "c", {"p": "1"})
    assert Learned(rollouts=(nothing,)).as_json()["why_nothing"] == "no contrast"
    told = Learned(rollouts=(nothing, some)).as_json()
    assert (told["why_nothing"], told["nothing"], told["commits"]) == ("", {"a": "no contrast"}, ["1"])
    assert Learned(why="no case").as_json()["why_nothing"] == "no case"
