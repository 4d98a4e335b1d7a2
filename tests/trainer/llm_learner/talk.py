"""Messages and answers for the tests of what a model is asked."""

from __future__ import annotations

import json
from dataclasses import dataclass, field

from trainer.asking.asker import ModelAsker
from trainer.asking.budget import Budget
from trainer.asking.chat import ChatReply, ChatRequest
from trainer.domain import Message, TextPart, ToolPart
from xpstore.settings import LlmSettings


def say(role: str, text: str) -> Message:
    return Message(role=role, parts=(TextPart(text=text),))


def call(tool: str, arguments: object, output: str, status: str = "completed") -> Message:
    part = ToolPart.model_validate(
        {
            "tool_id": "1",
            "tool_name": tool,
            "tool_input": arguments,
            "tool_output": output,
            "tool_status": status,
        }
    )
    return Message(role="assistant", parts=(part,))


@dataclass
class Chat:
    """Stands for an endpoint: gives these answers (or what they return) in turn, keeps the questions."""

    answers: list[object]
    asked: list[ChatRequest] = field(default_factory=list)

    async def chat(self, request: ChatRequest) -> ChatReply:
        self.asked.append(request)
        answer = self.answers.pop(0)
        answer = answer(request) if callable(answer) else answer
        return ChatReply(text=answer if isinstance(answer, str) else json.dumps(answer, ensure_ascii=False))

    @property
    def content(self) -> str:
        """What the first question shows."""
        return self.asked[0].messages[1].content

    @property
    def complaint(self) -> str:
        """What the second question finds wrong with the first answer."""
        return self.asked[1].messages[-1].content


def asker(chat: Chat) -> ModelAsker:
    settings = LlmSettings(model="scripted")
    return ModelAsker(chat, settings, Budget(settings))
