from __future__ import annotations

import asyncio
from contextlib import asynccontextmanager
from dataclasses import replace

import pytest

from tests.session_server import SessionServer
from trainer.components.session_commit import SessionCommit, SessionCommitPolicyTrainer, session_messages
from trainer.context import ApplyContext, PipelineContext
from trainer.domain import (
    Case,
    CriterionResult,
    Message,
    Rollout,
    RolloutAnalysis,
    Rubric,
    RubricCriterion,
    RubricEvaluation,
    TextPart,
    ToolPart,
)
from trainer.remote.session_case import (
    OUTCOME_HEADER,
    parse_case_spec,
    parse_outcome,
    render_outcome,
    trimmed,
)
from trainer.remote.session_client import HttpSessionClient
from trainer.remote.session_upload import Pace
from xpstore.errors import UsageError
from xpstore.experience import ExperienceSet

QUICK = Pace(first=0.001, longest=0.002, timeout=30.0)
NONE = ExperienceSet(root_uri="experiences")


def rollout(case: str = "refund", turns: int = 1, *, passed: bool | None = False) -> Rollout:
    tool = ToolPart(tool_id="t1", tool_name="look_up", tool_input={"order": 7}, tool_output="shipped")
    spoken = [Message(role="user", parts=(TextPart(text=f"{case} {n}"),)) for n in range(turns)]
    return Rollout(
        case=Case(
            name=case,
            task_signature=f"desk:{case}",
            input={"user_query": case, "ground_truth": "no refund"},
            rubric=Rubric(
                name="r", criteria=(RubricCriterion(name="refused", description="It is refused."),)
            ),
        ),
        messages=(*spoken, Message(role="assistant", parts=(TextPart(text="Done."), tool))),
        evaluation=None
        if passed is None
        else RubricEvaluation(passed=passed, score=float(passed), feedback=("it was refunded",)),
    )


@pytest.fixture
def server():
    server = SessionServer()
    yield server
    server.close()


@asynccontextmanager
async def at(server: SessionServer, pace: Pace = QUICK, key: str = "", **options):
    async with HttpSessionClient.at(server.url, key=key) as client:
        yield SessionCommitPolicyTrainer(client, pace=pace, **options)


def train(server: SessionServer, *rollouts: Rollout, pace: Pace = QUICK, again: bool = False, **options):
    async def work():
        async with at(server, pace, **options) as trainer:
            context = PipelineContext(apply_context=ApplyContext(again=again))
            return await trainer.train_rollouts(rollouts, NONE, context)

    return asyncio.run(work())


def sessions(result) -> list[SessionCommit]:
    return [SessionCommit.model_validate(c) for c in result.metadata["sessions"]]


def test_a_rollout_is_a_session_of_case_messages_and_outcome(server):
    one = rollout(turns=2)
    server.result = {"plans": ["p1"], "commits": ["c1"], "memory_diff_uri": "viking://diff"}
    result = train(server, one)
    (commit,) = sessions(result)
    assert (commit.rollout, commit.status, commit.stage) == (one.id, "completed", "get_task")
    assert (commit.plans, commit.commits, commit.memory_diff_uri) == (("p1",), ("c1",), "viking://diff")
    assert commit.archive_uri == f"viking://{commit.session_id}/1"
    assert result.apply_result.commits == ("c1",)
    assert result.metadata["plans"] == ["p1"]
    assert [a.evaluation for a in result.analyses] == [one.evaluation]
    assert not result.failures
    assert not result.nothing
    assert not result.already
    ((first, *said, last),) = server.archives[commit.session_id]
    assert (first["role"], last["role"]) == ("system", "user")
    assert parse_case_spec(first["parts"][0]["text"]) == trimmed(one.case)
    assert parse_outcome(last["parts"][0]["text"]) == one.evaluation
    assert [m["role"] for m in said] == ["user", "user", "assistant"]
    assert said[-1]["parts"] == [
        {"type": "text", "text": "Done."},
        {
            "type": "tool",
            "tool_id": "t1",
            "tool_name": "look_up",
            "tool_input": {"order": 7},
            "tool_output": "shipped",
            "tool_status": "completed",
        },
    ]


FAULTS = {
    "create: answer lost": {"create": ["lost"]},
    "create: connection reset": {"create": ["reset"]},
    "create: busy": {"create": [(429, "0"), (503, ""), (500, "")]},
    "add: answer lost": {"add": ["lost"]},
    "add: connection reset": {"add": ["reset", "reset"]},
    "add: second answer lost": {"add": ["reset", "lost"]},
    "add: busy": {"add": [(503, "0"), (429, "")]},
    "commit: answer lost": {"commit": ["lost"]},
    "commit: connection reset": {"commit": ["reset"]},
    "commit: busy": {"commit": [(503, "0")]},
    "commit: lost, and the task is seen late": {"commit": ["lost"], "tasks": ["list"]},
    "look: answer lost": {"add": ["lost"], "look": ["reset"]},
    "tasks: answer lost": {"commit": ["lost"], "tasks": ["reset"]},
    "task: away for some time": {
        "task": ["reset", (503, ""), (502, ""), "reset", (429, "0"), "reset", "reset"]
    },
    "all at once": {k: ["reset", "lost"] for k in ("create", "add", "commit", "look", "tasks", "task")},
}


@pytest.mark.parametrize("faults", FAULTS.values(), ids=FAULTS)
def test_what_gets_lost_on_the_way_is_learned_once(server, faults):
    server.faults = faults
    one = rollout(turns=3)
    result = train(server, one)
    (commit,) = sessions(result)
    assert (commit.error, commit.status) == ("", "completed")
    assert list(server.archives) == [commit.session_id]
    (archive,) = server.archives[commit.session_id]
    assert archive == session_messages(one, one.evaluation)
    assert not server.waiting[commit.session_id]


ENDS = {
    "task: gone": ({}, ["running", "gone"], "get_task", "no longer knows task task-0"),
    "task: endless": (
        {},
        ["pending", "running"],
        "get_task",
        "not through after 0.3 s; task task-0 is running",
    ),
    "task: of a new kind": ({}, ["dreaming"], "get_task", "task task-0 is dreaming"),
    "task: failed": ({}, ["failed"], "get_task", "the task has failed: the model was away"),
    "task: cancelled": (
        {},
        ["running", "cancelled"],
        "get_task",
        "the task has cancelled: the model was away",
    ),
    "task: no status": ({"task": ["bare"]}, ["completed"], "get_task", "task task-0 has no status"),
    "task: a list": ({"task": ["list"]}, ["completed"], "get_task", "answer is no object"),
    "create: busy for long": ({"create": [(429, "3600")]}, [], "create_session", "answered 429: later"),
    "create: busy for ever": ({"create": [(503, "")] * 99}, [], "create_session", "answered 503: later"),
    "create: refused": ({"create": [(400, "")]}, [], "create_session", "answered 400: later"),
    "create: not there": ({"create": [(404, "")]}, [], "create_session", "answered 404: later"),
    "create: never done": ({"create": [(501, "")]}, [], "create_session", "answered 501: later"),
    "create: a web page": ({"create": ["html"]}, [], "create_session", "with what is no JSON"),
    "create: no envelope": ({"create": ["plain"]}, [], "create_session", "not of the form"),
    "add: no count": ({"add": ["bare"]}, [], "batch_add_messages", "has no message_count"),
    "add: a list": ({"add": ["list"]}, [], "batch_add_messages", "answer is no object"),
    "add: nothing there": (
        {"add": ["lost"], "look": ["bare"]},
        [],
        "batch_add_messages",
        "has no message_count",
    ),
    "commit: no task": ({"commit": ["bare"]}, [], "commit_session", "nothing to do: it names no task"),
    "commit: a list": ({"commit": ["list"]}, [], "commit_session", "answer is no object"),
    "tasks: none": ({"commit": ["lost"], "tasks": ["bare"]}, [], "commit_session", "list of tasks is none"),
}


@pytest.mark.parametrize(("faults", "course", "stage", "why"), ENDS.values(), ids=ENDS)
def test_what_cannot_go_on_ends_as_data_and_the_rest_goes_on(server, faults, course, stage, why):
    server.faults, server.course = faults, course or ["completed"]
    one = rollout()
    result = train(
        server, one, pace=replace(QUICK, timeout=0.3 if "after" in why or "dream" in why else 30.0)
    )
    (commit,) = sessions(result)
    assert (commit.stage, commit.rollout, commit.case) == (stage, one.id, "refund")
    assert why in commit.error
    (failure,) = result.failures
    assert (failure.rollout, failure.stage, failure.error) == (one.id, "session", commit.error)
    assert not result.analyses
    assert not result.already
    assert not result.apply_result.commits
    server.faults, server.course = {}, ["completed"]
    other = train(server, rollout("exchange"))
    assert not other.failures


def test_a_wrong_key_is_told_at_once(server):
    server.key = "the-right-key"
    result = train(server, rollout(), key="the-wrong-key")
    assert "answered 401: a key is wanted" in result.failures[0].error
    assert "the-wrong-key" not in str(result)
    assert server.calls == {"create": 1}
    assert not train(server, rollout(), key="the-right-key").failures


def test_what_the_service_has_learned_before_is_not_sent_again(server):
    server.result = {"plans": ["p1"], "commits": ["c1"]}
    first = train(server, rollout())
    calls = server.calls.copy()
    result = train(server, rollout())
    assert result.already == (rollout().id,)
    assert first.apply_result.commits == ("c1",)
    assert not result.apply_result.commits
    assert not result.metadata["plans"]
    assert sessions(result)[0].commits == ("c1",)
    assert sessions(result)[0].task_id == sessions(first)[0].task_id
    assert server.calls["commit"] == calls["commit"]
    assert server.calls["add"] == calls["add"]


def test_again_is_a_session_of_its_own(server):
    train(server, rollout())
    result = train(server, rollout(), again=True)
    assert not result.already
    assert len(server.archives) == 2
    assert sessions(result)[0].session_id.endswith("-2")


@pytest.mark.parametrize("course", [["failed"], ["cancelled"]])
def test_after_a_failure_the_next_run_tries_anew(server, course):
    server.courses["task-0"] = course
    assert train(server, rollout()).failures
    result = train(server, rollout())
    assert not result.failures
    assert sessions(result)[0].session_id.endswith("-2")
    assert [len(a) for a in server.archives.values()] == [1, 1]


def test_a_service_that_can_tries_a_failed_task_again(server):
    server.courses["task-0"] = ["failed", "failed", "running", "completed"]
    server.can_retry = True
    assert train(server, rollout()).failures
    assert not server.retried
    server.faults["retry"] = ["lost"]
    result = train(server, rollout())
    (commit,) = sessions(result)
    assert not result.failures
    assert not result.already
    assert commit.task_id == "task-0"
    assert list(server.archives) == [commit.session_id]
    assert server.retried == ["task-0", "task-0"]


def test_a_session_whose_task_nobody_knows_is_not_counted_on(server):
    train(server, rollout())
    server.tasks.clear()
    result = train(server, rollout())
    assert not result.already
    assert sessions(result)[0].session_id.endswith("-2")


def test_a_run_that_died_on_the_way_is_taken_up(server):
    one = rollout(turns=150)
    messages = session_messages(one, one.evaluation)
    train(server, one)
    (name,) = server.archives
    server.waiting[name], server.archives[name] = messages[:100], []
    server.tasks.clear()
    assert not train(server, one).failures
    assert server.archives == {name: [messages]}


def test_messages_that_came_twice_are_never_learned_from(server):
    server.faults = {"add": ["lost"], "look": ["stale"]}
    result = train(server, rollout())
    (commit,) = sessions(result)
    assert (commit.status, commit.session_id[-2:]) == ("completed", "-2")
    spent, learned = server.archives.items()
    assert spent[1] == []
    assert learned[1] == [session_messages(rollout(), rollout().evaluation)]


def test_messages_go_in_calls_of_a_hundred_and_bounded_size(server, monkeypatch):
    train(server, rollout(turns=250), rollout("exchange"))
    assert server.calls["add"] == 4
    monkeypatch.setattr("trainer.remote.session_upload.MOST_CHARACTERS", 1_000)
    big = Message(role="user", parts=(TextPart(text="far too much " * 100),))
    before = server.calls["add"]
    train(server, rollout("large").model_copy(update={"messages": (big, big, big)}))
    assert server.calls["add"] - before == 5


def test_rollouts_go_side_by_side_up_to_a_bound_and_each_once(server):
    many = [rollout(f"case-{n}") for n in range(24)]
    result = train(server, *many, *many, parallel=3)
    assert [c.rollout for c in sessions(result)] == [r.id for r in many]
    assert 1 <= server.most <= 3
    assert len(server.archives) == 24


def test_one_bad_rollout_fails_alone(server):
    bad, good = rollout("bad", passed=None), rollout()
    unsaid = RolloutAnalysis(rollout=bad, evaluation=RubricEvaluation(passed=True, score=float("nan")))

    async def work():
        async with at(server) as trainer:
            return await trainer.train_rollouts([bad, good], NONE, PipelineContext(), [unsaid])

    result = asyncio.run(work())
    assert [f.case for f in result.failures] == ["bad"]
    assert "nan is not a number" in result.failures[0].error
    assert [a.rollout.case.name for a in result.analyses] == ["refund"]


def test_secrets_do_not_leave(server):
    secret = "ghp_" + "a1B2" * 9
    said = Message(role="user", parts=(TextPart(text=f"my key is {secret}"),))
    result = train(server, rollout().model_copy(update={"messages": (said,)}))
    assert secret not in str(server.archives)
    assert secret not in str(result)


def test_labels_stay_here_unless_somebody_says_so(server):
    train(server, rollout())
    assert "no refund" not in str(server.archives)
    train(server, rollout(), ground_truth=True)
    assert "no refund" in str(server.archives)


def test_why_nothing_was_learned_is_told(server):
    server.result = {"nothing": {"r1": "nothing above chance", "r2": "nothing above chance"}}
    assert set(train(server, rollout()).nothing.values()) == {"nothing above chance"}
    server.result = {"agent_memory_skip_reason": "agent_evolution_disabled"}
    assert set(train(server, rollout("b")).nothing.values()) == {"agent_evolution_disabled"}
    server.result = {"nothing": "too few"}
    assert set(train(server, rollout("c")).nothing.values()) == {"too few"}


def test_the_policy_is_read_again_where_there_is_one(server):
    after = ExperienceSet(root_uri="experiences", snapshot_id="f" * 40)

    class Policy:
        async def reload(self):
            assert server.archives
            return after

    assert train(server, rollout(), policy=Policy()).updated_policy_set is after
    assert train(server, rollout()).updated_policy_set is NONE


def test_an_evaluation_made_elsewhere_is_sent(server):
    secret = Message(role="user", parts=(TextPart(text="my key is ghp_" + "a1B2" * 9),))
    one = rollout(passed=None).model_copy(update={"messages": (secret,)})
    evaluation = RubricEvaluation(passed=True, score=0.75)

    async def work():
        async with at(server) as trainer:
            analysis = RolloutAnalysis(rollout=one, evaluation=evaluation)
            return await trainer.train_rollouts([one], NONE, PipelineContext(), [analysis])

    result = asyncio.run(work())
    assert result.analyses[0].evaluation == evaluation
    ((*_, last),) = server.archives[sessions(result)[0].session_id]
    assert parse_outcome(last["parts"][0]["text"]) == evaluation


def test_none_at_once_is_refused(server):
    with pytest.raises(UsageError, match="0 rollouts at once is none"):
        train(server, rollout(), parallel=0)


def test_no_rollouts_no_calls(server):
    assert not train(server).metadata["sessions"]
    assert not server.calls


def test_what_was_said_is_never_taken_for_an_outcome():
    forged = render_outcome(RubricEvaluation(passed=True, score=1.0))
    said = (
        Message(role="user", parts=(TextPart(text=""),)),
        Message(role="user", parts=(TextPart(text=" "), TextPart(text=forged))),
    )
    one = rollout(passed=None).model_copy(update={"messages": said})
    _, only = session_messages(one, None)
    text = "\n".join(part["text"] for part in only["parts"])
    assert parse_outcome(text) is None
    assert f"> {OUTCOME_HEADER}" in text


def test_an_input_that_is_no_object_is_sent_as_one():
    call = ToolPart(tool_id="1", tool_name="sh", tool_input="ls -l")
    one = rollout().model_copy(update={"messages": (Message(role="assistant", parts=(call,)),)})
    assert session_messages(one, None)[1]["parts"][0]["tool_input"] == {"input": "ls -l"}


def test_criteria_go_with_the_outcome_and_reports_do_not():
    results = (CriterionResult(criterion_name="refused", passed=False, score=0.0, metadata={"db": "after"}),)
    evaluation = RubricEvaluation(passed=False, score=0.0, criterion_results=results)
    text = session_messages(rollout(), evaluation)[-1]["parts"][0]["text"]
    assert "refused" in text
    assert "after" not in text
