"""An asker without an endpoint: a function answers, and its answers go through the question's own checks."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field

from pydantic import ValidationError

from trainer.asking.question import Answer, AskError, Question, Usage

Reply = Callable[[Question, int], object]
"""Gets the question and how many answers it has had; returns the answer as JSON, or an AskError."""


@dataclass
class FunctionAsker:
    """Asks a function, and once more where its first answer is wrong."""

    reply: Reply
    model: str = "a/model"
    asked: list[Question] = field(default_factory=list)
    calls: int = 0

    async def ask(self, question: Question) -> Answer:
        self.asked.append(question)
        problems: list[str] = []
        for attempt in range(2):
            self.calls += 1
            made = self.reply(question, attempt)
            if isinstance(made, AskError):
                raise made
            try:
                value = question.form.model_validate(made)
            except ValidationError as error:
                problems = [str(error)]
                continue
            problems = list(question.check(value))
            if not problems or (attempt and question.stands(value)):
                return Answer(value, Usage(calls=attempt + 1))
        raise AskError("wrong", "; ".join(problems))
