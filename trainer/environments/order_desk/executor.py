"""Runs an agent on cases: a database of its own for each, the conversation, the score."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

from trainer.domain import READ, Message, Rollout, TextPart, ToolPart
from trainer.environments.order_desk.catalogue import schemas
from trainer.environments.order_desk.database import Shop
from trainer.environments.order_desk.given import read_given
from trainer.environments.order_desk.scoring import ending, score
from trainer.environments.order_desk.tools import Done, run
from xpstore.serving import read_for

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.context import ExecutionContext
    from trainer.domain import Case
    from trainer.environments.agent import Agent, AgentMaker
    from trainer.environments.order_desk.given import Given
    from trainer.environments.order_desk.policy import Policy
    from xpstore.experience import ExperienceSet
    from xpstore.serving import Page

MAX_TURNS = 40
"""Replies of the agent in one conversation."""
BUDGET = 4000
"""Tokens of experience that an agent is given, as `xp context` gives them."""
SYSTEM = (
    "You work at the order desk of a shop. It is {now}. Handle the customer's request with the tools, as the "
    "company wants it. Answer briefly."
)
LESSONS = "What was learned before:"
YES = "Yes, please go ahead."


class OrderDeskExecutor:
    """RolloutExecutor of the order desk. Every call is independent of all others."""

    def __init__(
        self, policy: Policy, agents: AgentMaker, *, turns: int = MAX_TURNS, budget: int = BUDGET
    ) -> None:
        self._policy = policy
        self._agents = agents
        self._turns = turns
        self._budget = budget
        self._tools = schemas()
        self._read: tuple[ExperienceSet | None, dict[str, tuple[Page, ...]]] = (None, {})

    async def execute(
        self, cases: Sequence[Case], policy_set: ExperienceSet, context: ExecutionContext
    ) -> list[Rollout]:
        """Return one rollout per case, in order. Raises ComponentError where one is none of the desk's."""
        given = [read_given(case) for case in cases]
        return [await self._rollout(*pair, policy_set, context) for pair in zip(cases, given, strict=True)]

    async def _rollout(
        self, case: Case, given: Given, policy_set: ExperienceSet, context: ExecutionContext
    ) -> Rollout:
        messages = [_say("system", SYSTEM.format(now=given.now))]
        pages = self._pages(policy_set, given.request)
        if pages:
            messages.append(_say("system", "\n\n".join((LESSONS, *(page.text for page in pages)))))
        messages.append(_say("user", given.request))
        agent = self._agents.start(f"{context.seed} {case.id}", training=context.training)
        with Shop(given.world) as shop:
            calls = await self._talk(agent, shop, messages)
            evaluation = score(case, self._policy, ending(shop, given.world, given.wish, calls))
        return Rollout(
            case=case,
            messages=tuple(messages),
            policy_snapshot_id=context.policy_snapshot_id,
            evaluation=evaluation,
            metadata={
                **context.metadata,
                "seed": context.seed,
                "training": context.training,
                "agent": self._agents.name,
                READ: [page.name for page in pages],
                **({"model": self._agents.model} if self._agents.model else {}),
            },
        )

    def _pages(self, policy_set: ExperienceSet, request: str) -> tuple[Page, ...]:
        """Return what `xp context` gives for a request; the trials of a case ask for the same."""
        known, found = self._read
        if known is not policy_set:
            found = {}
            self._read = policy_set, found
        if request not in found:
            found[request] = read_for(policy_set, request, self._budget).pages
        return found[request]

    async def _talk(self, agent: Agent, shop: Shop, messages: list[Message]) -> list[Done]:
        """Let the agent talk and act until it has nothing more to do; the conversation grows in place."""
        calls: list[Done] = []
        asked = False
        for _ in range(self._turns):
            reply = await agent.reply(messages, self._tools)
            messages.append(_answered(shop, reply, calls))
            if reply.tools:
                continue
            if asked or not reply.text.rstrip().endswith("?"):
                break
            asked = True
            messages.append(_say("user", YES))
        return calls


def _answered(shop: Shop, reply: Message, calls: list[Done]) -> Message:
    """Return the message with its calls answered, in order; accepted ones are added to `calls`."""
    parts: list[TextPart | ToolPart] = []
    for part in reply.parts:
        if isinstance(part, TextPart):
            parts.append(part)
            continue
        answer = run(shop, part.tool_name, part.tool_input)
        if not answer.refused:
            calls.append(Done(part.tool_name, cast("dict[str, str]", part.tool_input)))
        status = "error" if answer.refused else "completed"
        parts.append(part.model_copy(update={"tool_output": answer.text, "tool_status": status}))
    return Message(role="assistant", parts=tuple(parts))


def _say(role: str, text: str) -> Message:
    return Message(role=role, parts=(TextPart(text=text),))
