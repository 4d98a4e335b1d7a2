"""The scripted agent: what to do next, from the conversation alone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.domain import Message, TextPart, ToolPart
from trainer.environments.scripted.conversation import Conversation
from trainer.environments.scripted.habits import LOOKS, RECORDS, Dice, understand
from trainer.environments.scripted.way import Step, Way
from trainer.offline.grammar import CallAfter, DoCall
from trainer.offline.masking import changes_something

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from trainer.asking.tape import Tape
    from trainer.environments.agent import AgentMaker, ToolSchema
    from trainer.environments.scripted.habits import Habits
    from trainer.interfaces import RolloutExecutor
    from xpstore.settings import LlmSettings

UNCLEAR = "I am sorry, I do not understand what you need."
DECLINED = "I am sorry, we cannot do that."
DONE = "That is done."
ASK = "Shall I go ahead?"


@dataclass(frozen=True)
class ScriptedAgents:
    """AgentMaker and Player: agents with the same habits and whims of their own."""

    habits: Habits
    slip_rate: float

    name = "scripted/1"
    model = ""
    modules = ()

    @property
    def version(self) -> str:
        """How often they slip."""
        return f"slip_rate={self.slip_rate}"

    def with_model(self, llm: LlmSettings, tape: Tape | None = None) -> ScriptedAgents:  # noqa: ARG002
        """Return the same agents: no model is behind them."""
        return self

    def executor(self, run: Callable[[AgentMaker], RolloutExecutor]) -> RolloutExecutor:
        """Return the environment's own executor: there is nothing to open."""
        return run(self)

    def start(self, seed: str, *, training: bool) -> ScriptedAgent:
        """Return an agent; equal seeds and conversations give equal replies."""
        return ScriptedAgent(self.habits, Dice(seed, self.slip_rate, training))


class ScriptedAgent:
    """Agent without memory of its own: every reply is a function of the messages, the tools and the seed."""

    def __init__(self, habits: Habits, dice: Dice) -> None:
        self._habits = habits
        self._dice = dice

    async def reply(self, messages: Sequence[Message], tools: Sequence[ToolSchema]) -> Message:
        """Return the next message."""
        talk = Conversation(messages)
        wish = understand(talk.request, self._habits, tools)
        if wish is None:
            return _say(UNCLEAR)
        way = Way(talk, {t.name: t for t in tools}, wish, self._habits, self._dice)
        if talk.has_called(wish.tool):
            return self._finish(talk, way, DONE)
        for tool in self._looks(tools):
            if way.is_open(tool) and (step := way.toward(tool)) is not None:
                return _act(talk, step)
        if self._dice.declines() or (step := way.toward(wish.tool)) is None:
            return self._finish(talk, way, DECLINED)
        return _act(talk, step)

    def _looks(self, tools: Sequence[ToolSchema]) -> Iterator[str]:
        yield self._habits.first_look
        for tool in tools:
            if not changes_something(tool.name) and self._dice.tries(f"look {tool.name}", LOOKS):
                yield tool.name

    def _finish(self, talk: Conversation, way: Way, words: str) -> Message:
        """Do what is left to do after the change, or after the decision against it; then say so."""
        for tool in self._left(talk, way):
            if not talk.has_called(tool) and (step := way.toward(tool)) is not None:
                return _act(talk, step)
        return _say(words)

    def _left(self, talk: Conversation, way: Way) -> Iterator[str]:
        for lesson in talk.lessons:
            if isinstance(lesson, DoCall | CallAfter) and not self._dice.ignores(lesson.sentence()):
                tool = lesson.then if isinstance(lesson, CallAfter) else lesson.tool
                if lesson.judge(talk.facts) == "violates" and tool in way.tools:
                    yield tool
        for tool in way.tools if talk.has_called(way.wish.tool) else ():
            is_extra = changes_something(tool) and tool not in self._habits.requests
            if is_extra and self._dice.tries(f"record {tool}", RECORDS):
                yield tool


def _act(talk: Conversation, step: Step) -> Message:
    if step.asks:
        return _say(ASK)
    number = f"call-{len(talk.facts.calls) + 1}"
    part = ToolPart(
        tool_id=number, tool_name=step.tool, tool_input=dict(step.arguments), tool_status="pending"
    )
    return Message(role="assistant", parts=(part,))


def _say(text: str) -> Message:
    return Message(role="assistant", parts=(TextPart(text=text),))
