"""Executors with a model behind them (RFC §6.2). A fault of the endpoint is a failure, and no reward of 0."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from trainer.asking.answer_text import spoken
from trainer.asking.chat import ChatRequest
from trainer.asking.chat import Message as ChatMessage
from trainer.asking.prompts import prompt
from trainer.asking.question import AskError
from trainer.domain import READ, Message, Rollout, TextPart
from trainer.environments.llm_agent import LLMAgents, seed_of
from trainer.suite import LABELS
from xpstore.serving import read_for

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from contextlib import AbstractAsyncContextManager

    from trainer.asking.asker import ModelAsker
    from trainer.context import ExecutionContext
    from trainer.domain import Case
    from trainer.environments.agent import AgentMaker
    from trainer.environments.llm_agent import Converser, Manner
    from trainer.interfaces import RolloutEvaluator, RolloutExecutor
    from xpstore.experience import ExperienceSet

BUDGET = 4_000
"""Tokens of experience that a model is given, as `xp context` gives them."""
MAX_TOKENS = 2_048


class LLMAgentRolloutExecutor:
    """RolloutExecutor of an environment in which agents with a model act; every call opens the model anew."""

    def __init__(
        self,
        open_model: Callable[[], AbstractAsyncContextManager[Converser]],
        manner: Manner,
        run: Callable[[AgentMaker], RolloutExecutor],
    ) -> None:
        self._open = open_model
        self._manner = manner
        self._run = run

    async def execute(
        self, cases: Sequence[Case], policy_set: ExperienceSet, context: ExecutionContext
    ) -> list[Rollout]:
        """Return one rollout per case, in order. Raises AskError, and what the environment raises."""
        async with self._open() as model:
            return await self._run(LLMAgents(model, self._manner)).execute(cases, policy_set, context)


class SingleTurnLLMRolloutExecutor:
    """RolloutExecutor: one prompt, one answer. Cases need no environment; their scores need an evaluator."""

    def __init__(
        self,
        asker: ModelAsker,
        evaluator: RolloutEvaluator | None = None,
        *,
        budget: int = BUDGET,
        max_tokens: int = MAX_TOKENS,
        temperature: float = 0,
    ) -> None:
        """`budget` is in tokens of experience, `max_tokens` bounds the answer."""
        self._asker = asker
        self._evaluator = evaluator
        self._budget = budget
        self._max_tokens = max_tokens
        self._temperature = temperature

    async def execute(
        self, cases: Sequence[Case], policy_set: ExperienceSet, context: ExecutionContext
    ) -> list[Rollout]:
        """Return one rollout per case, in order, without an evaluation where there is no evaluator.

        Raises AskError where the model gives no answer.
        """
        return [await self._rollout(case, policy_set, context) for case in cases]

    async def _rollout(self, case: Case, policy_set: ExperienceSet, context: ExecutionContext) -> Rollout:
        task = task_of(case)
        pages = read_for(policy_set, task, self._budget).pages
        told = "\n\n".join((prompt("answer").system, *(page.text for page in pages)))
        seed = seed_of(f"{context.seed} {case.id}")
        rollout = Rollout(
            case=case,
            messages=(_say("system", told), _say("user", task), await self._answer(case, told, task, seed)),
            policy_snapshot_id=context.policy_snapshot_id,
            metadata={
                **context.metadata,
                "seed": context.seed,
                "training": context.training,
                "model": self._asker.model,
                READ: [page.name for page in pages],
            },
        )
        if self._evaluator is None:
            return rollout
        return rollout.model_copy(update={"evaluation": await self._evaluator.evaluate(rollout)})

    async def _answer(self, case: Case, told: str, task: str, seed: int) -> Message:
        request = ChatRequest(
            stage="answer",
            about=f"case {case.name}",
            model=self._asker.model,
            messages=(ChatMessage(role="system", content=told), ChatMessage(role="user", content=task)),
            max_tokens=self._max_tokens,
            temperature=self._temperature,
            seed=seed,
        )
        reply, used = await self._asker.converse(request)
        if text := spoken(reply.text) or reply.refusal.strip():
            return _say("assistant", text)
        if reply.finish_reason == "length":
            raise AskError(
                "length", f"the answer was cut at {self._max_tokens} tokens before it began", usage=used
            )
        raise AskError("empty", "the model answered nothing", usage=used)


def task_of(case: Case) -> str:
    """Return the task of a case as an agent is shown it: the text of its input, or its fields; no labels."""
    given = {key: value for key, value in case.input.items() if key not in LABELS}
    if len(given) == 1 and isinstance(only := next(iter(given.values())), str):
        return only
    lines = (
        f"{key}: {value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)}"
        for key, value in given.items()
    )
    return "\n".join(lines) or case.task_signature or case.name


def _say(role: str, text: str) -> Message:
    return Message(role=role, parts=(TextPart(text=text),))
