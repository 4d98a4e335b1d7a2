from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING

import pytest

from tests.llm_server import Fault, LlmServer
from tests.trainer.contract import check_executor
from trainer import SingleTurnLLMRolloutExecutor
from trainer.asking.open import open_asker
from trainer.asking.question import AskError
from trainer.components.rollout_executor import LLMAgentRolloutExecutor, task_of
from trainer.context import ExecutionContext
from trainer.domain import READ, Case, CriterionResult, Rollout, Rubric, RubricCriterion, RubricEvaluation
from trainer.environments.llm_agent import Manner
from trainer.rubric import evaluate
from xpstore.experience import Experience, ExperienceSet
from xpstore.settings import LlmSettings

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.environments.agent import AgentMaker

RUBRIC = Rubric(name="answers", criteria=(RubricCriterion(name="capital"),))
CASES = [
    Case(name=f"case {n}", rubric=RUBRIC, input={"question": text, "expected_actions": [{"name": "SECRET"}]})
    for n, text in enumerate(("What is the capital of France?", "And of Peru?"))
]
PAGE = "---\nname: capitals\nstatus: production\n---\n\n## Approach\n\n- Name the capital of France twice.\n"
PAGES = ExperienceSet(root_uri="experiences", policies=(Experience(name="capitals", text=PAGE),))
CONTEXT = ExecutionContext(policy_snapshot_id="abc", seed=3, metadata={"trial": 0})


class Strict:
    """An evaluator that wants Paris."""

    async def evaluate(self, rollout: Rollout) -> RubricEvaluation:
        good = "Paris" in rollout.messages[-1].text
        result = CriterionResult(criterion_name="capital", passed=good, score=float(good))
        return evaluate(rollout.case.rubric, [result])


class Single:
    """The executor with a connection for every call: tests run loop after loop."""

    def __init__(self, server: LlmServer, evaluator: Strict | None = None, **options: int) -> None:
        self._settings = LlmSettings(model="scripted", base_url=server.url, retries=0, timeout=20.0)
        self._evaluator = evaluator
        self._options = options

    async def execute(
        self, cases: Sequence[Case], policy_set: ExperienceSet, context: ExecutionContext
    ) -> list[Rollout]:
        async with open_asker(self._settings) as asker:
            executor = SingleTurnLLMRolloutExecutor(asker, self._evaluator, **self._options)
            return await executor.execute(cases, policy_set, context)


def answer(server: LlmServer, **options: int) -> list[Rollout]:
    return asyncio.run(Single(server, Strict(), **options).execute(CASES, PAGES, CONTEXT))


def test_it_is_an_executor_like_any_other(llm_server):
    llm_server.on("answer", lambda seen: f"Paris, says {seen.body['seed']}.")
    check_executor(Single(llm_server, Strict()), CASES, PAGES)


def test_one_prompt_has_the_task_and_what_was_learned_and_no_label(llm_server):
    llm_server.on("answer", ["Paris. Paris.", "Lima."])
    first, second = answer(llm_server)
    assert [m.role for m in first.messages] == ["system", "user", "assistant"]
    assert first.messages[1].text == "What is the capital of France?"
    assert "Name the capital of France twice." in first.messages[0].text
    assert (first.evaluation.passed, second.evaluation.passed) == (True, False)
    assert first.policy_snapshot_id == "abc"
    told = {"trial": 0, "seed": 3, "training": False, "model": "scripted"}
    assert first.metadata == {**told, READ: ["capitals"]}
    assert len(llm_server.requests) == 2
    assert "SECRET" not in str([seen.body for seen in llm_server.requests])
    assert llm_server.requests[0].body["seed"] != llm_server.requests[1].body["seed"]


def test_without_an_evaluator_nobody_has_scored_it(llm_server):
    llm_server.on("answer", "Paris.")
    found = asyncio.run(Single(llm_server).execute(CASES, PAGES, CONTEXT))
    assert [r.evaluation for r in found] == [None, None]


def test_experiences_are_read_within_their_budget(llm_server):
    llm_server.on("answer", "Paris.")
    assert "twice" not in answer(llm_server, budget=0)[0].messages[0].text


@pytest.mark.parametrize(
    ("given", "shown"),
    [
        ({"user_query": "Hello?"}, "Hello?"),
        ({"user_query": "Hello?", "expected_actions": []}, "Hello?"),
        ({"city": "Lima", "size": 3, "tags": ["é"]}, 'city: Lima\nsize: 3\ntags: ["é"]'),
        ({"size": 3}, "size: 3"),
        ({}, "a task"),
    ],
)
def test_a_task_is_the_text_or_the_fields_of_a_cases_input(given, shown):
    assert task_of(Case(name="n", task_signature="a task", input=given, rubric=RUBRIC)) == shown
    assert task_of(Case(name="n", rubric=RUBRIC)) == "n"


@pytest.mark.parametrize(
    ("fault", "name"),
    [
        (Fault("status", 500), "http"),
        (Fault("empty"), "empty"),
        (Fault("length", answer=""), "length"),
        (Fault("length", answer="<think>" + "I see. " * 20), "length"),
    ],
)
def test_no_answer_is_no_rollout(llm_server, fault, name):
    llm_server.on("answer", fault)
    with pytest.raises(AskError) as caught:
        answer(llm_server)
    assert caught.value.fault == name


def test_what_a_model_thinks_aloud_is_no_part_of_its_answer(llm_server):
    llm_server.on("answer", Fault("thinking", answer="Paris."))
    assert answer(llm_server)[0].messages[-1].text == "Paris."


def test_a_refusal_is_an_answer(llm_server):
    llm_server.on("answer", Fault("refusal"))
    assert answer(llm_server)[0].messages[-1].text == "I cannot help with that."


def test_agents_of_an_environment_get_the_open_model(llm_server):
    settings = LlmSettings(model="scripted", base_url=llm_server.url)
    seen: list[AgentMaker] = []

    class Environment:
        async def execute(
            self, cases: Sequence[Case], policy_set: ExperienceSet, context: ExecutionContext
        ) -> list[Rollout]:
            reply = await seen[-1].start("1", training=False).reply([], [])
            return [Rollout(case=case, messages=(reply,)) for case in cases]

    def run(agents: AgentMaker) -> Environment:
        seen.append(agents)
        return Environment()

    llm_server.on("act", "Hello.")
    manner = Manner("scripted", 0, 50)
    executor = LLMAgentRolloutExecutor(lambda: open_asker(settings), manner, run)
    (rollout,) = asyncio.run(executor.execute(CASES[:1], PAGES, CONTEXT))
    assert rollout.messages[0].text == "Hello."
    assert (seen[0].name, seen[0].model) == ("llm/1", "scripted")
