"""Asks one model, in the form that the endpoint reads; only what was checked comes back.

An answer that is wrong is asked for once more, with what is wrong about it. A question that was answered
before, in this run or an earlier one, is answered from the record.
"""

from __future__ import annotations

import asyncio
from typing import TYPE_CHECKING, TypeVar

from pydantic import ValidationError

from trainer.asking.abilities import Abilities
from trainer.asking.answer_text import find_object, is_bare
from trainer.asking.answers import Answers
from trainer.asking.budget import BYTES_PER_TOKEN, prompt_tokens
from trainer.asking.chat import ChatError, ChatReply, ChatRequest, Message
from trainer.asking.form import problems_of, schema_of, schema_text
from trainer.asking.question import Answer, Asker, AskError, Usage
from trainer.asking.quoting import excerpt
from xpstore.hashing import content_id
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

    from pydantic import JsonValue

    from trainer.asking.budget import Budget
    from trainer.asking.chat import Chat
    from trainer.asking.question import Fault, Question, Stage
    from trainer.asking.tape import Tape
    from trainer.asking.vectors import Vectors
    from xpstore.settings import LlmSettings

T = TypeVar("T", bound=Frozen)

SHOWN = 4_000
"""Characters of a wrong answer that the model is shown again, where the question leaves room for it."""
LEAST_SHOWN = 200
"""Characters of it that are worth showing."""
TOLD = 500
"""Characters of what is wrong with an answer, in an error."""


class _Wrong(Exception):  # noqa: N818  # it is not raised to callers
    """An answer that may be asked for again."""

    def __init__(self, fault: Fault, problems: Sequence[str]) -> None:
        super().__init__("; ".join(problems))
        self.fault: Fault = fault
        self.problems = problems


class ModelAsker(Asker):
    """Asks the model of the settings through a chat."""

    def __init__(  # noqa: PLR0913  # what a run brings along
        self,
        chat: Chat,
        settings: LlmSettings,
        budget: Budget,
        *,
        vectors: Vectors | None = None,
        tape: Tape | None = None,
        answers: Answers | None = None,
        abilities: Abilities | None = None,
    ) -> None:
        self.settings = settings
        self.budget = budget
        """What was used and what failed, by stage, is read from it."""
        self.vectors = vectors
        """Embeddings by the endpoint; None where the settings name no model for them."""
        self._chat = chat
        self._tape = tape
        self._answers = answers or Answers(None)
        self._abilities = abilities or Abilities()
        self._asked: dict[str, asyncio.Lock] = {}
        self._missed: AskError | None = None

    @property
    def missed(self) -> AskError | None:
        """The first question, or text to embed, that the recording did not have; None = it had all."""
        return self._missed or (self.vectors.missed if self.vectors else None)

    @property
    def model(self) -> str:
        """The model's name, as the endpoint knows it."""
        return self.settings.model

    async def ask(self, question: Question[T]) -> Answer[T]:
        """Return a checked answer. Raises AskError."""
        request = first_request(question, self.model)
        digest = content_id([request.digest, schema_text(question.form)])
        try:
            async with self._asked.setdefault(digest, asyncio.Lock()):  # the same question is paid for once
                answer = self._on_record(question, request, digest) or await self._answered(
                    question, request, digest
                )
        except AskError as error:
            self.budget.add_fault(question.stage, error.fault)
            if error.fault == "replay":
                self._missed = self._missed or error
            raise
        return answer

    async def converse(self, request: ChatRequest) -> tuple[ChatReply, Usage]:
        """Return the next message of a conversation, and what it used; nothing of it is checked.

        For conversations with tools, which have no form. Raises AskError.
        """
        try:
            reply = await self._sent(request, None)
        except AskError as error:
            self.budget.add_fault(request.stage, error.fault)
            raise
        return reply, self.budget.usage_of(request, reply)

    def _on_record(self, question: Question[T], request: ChatRequest, digest: str) -> Answer[T] | None:
        """Return the answer on record, if it is still right: what is asked of answers may have changed."""
        text = self._answers.find(digest)
        if text is None:
            return None
        reply = ChatReply(text=text)
        try:
            value = _value(question, reply, last=True)
            if self._tape and not self._tape.replays:
                value = _value(question, self._tape.keep(request, reply), last=True)
        except _Wrong:
            return None
        used = Usage(reused=1)
        self.budget.add(question.stage, used)
        return Answer(value, used)

    async def _answered(self, question: Question[T], request: ChatRequest, digest: str) -> Answer[T]:
        """Ask, and once more with what is wrong about the answer."""
        schema = schema_of(question.form)
        first = await self._sent(request, schema)
        used = self.budget.usage_of(request, first)
        try:
            return self._accepted(question.stage, digest, first, _value(question, first), used)
        except _Wrong as wrong:
            if wrong.fault == "refusal":
                raise _failed(wrong, used) from None
            self.budget.add_mended(question.stage, wrong.fault)
            request = _again(request, first, wrong, self.settings.context_tokens)
            # what only the check says no to is better than no answer, where the question says so
            usable = first if wrong.fault == "wrong" and _stands(question, first) else None
        repaired = Usage(repaired=1)
        self.budget.add(question.stage, repaired)
        used += repaired
        try:
            second = await self._sent(request, schema)
        except AskError as error:
            if usable and error.fault != "replay":  # not kept: the next run may get a better one
                return Answer(_value(question, usable, last=True), used)
            error.usage += used
            raise
        used += self.budget.usage_of(request, second)
        try:
            return self._accepted(question.stage, digest, second, _value(question, second, last=True), used)
        except _Wrong as wrong:
            if usable:
                return self._accepted(
                    question.stage, digest, usable, _value(question, usable, last=True), used
                )
            raise _failed(wrong, used) from None

    def _accepted(self, stage: Stage, digest: str, reply: ChatReply, value: T, used: Usage) -> Answer[T]:
        self._answers.keep(digest, reply.text)
        if not is_bare(reply.text):
            self.budget.add_mended(stage, "wrapped")
        return Answer(value, used)

    async def _sent(self, request: ChatRequest, schema: Mapping[str, JsonValue] | None) -> ChatReply:
        """Send the request in the best form that the endpoint takes."""
        ability = self._abilities.of(self.model)
        while True:
            try:
                reply = await self._metered(ability.applied(request, request.stage, schema))
            except ChatError as error:
                plainer = ability.plainer(error.status, error.said, formed=schema is not None)
                if plainer is None:
                    raise
                ability = plainer
                continue
            self._abilities.learned(self.model, ability)
            return reply

    async def _metered(self, request: ChatRequest) -> ChatReply:
        """Send one request within the budget, and put down what it used and what came back."""
        if self._tape and self._tape.replays:  # what there was no budget for is on the tape as that
            reply = await self._chat.chat(request)
            self._count(request, reply)
            return reply
        try:
            async with self.budget.call(self.budget.most(request)):
                if self._tape:
                    self._tape.check_whole()
                reply = await self._chat.chat(request)
                try:
                    if self._tape:
                        reply = self._tape.keep(request, reply)
                finally:  # it is paid for, also where it cannot be recorded
                    self._count(request, reply)
        except AskError as error:
            if self._tape:
                self._tape.keep_error(request, error)
            raise
        return reply

    def _count(self, request: ChatRequest, reply: ChatReply) -> None:
        self.budget.add(request.stage, self.budget.usage_of(request, reply))
        if reply.attempts > 1:
            self.budget.add_mended(request.stage, "retried", reply.attempts - 1)


def first_request(question: Question[T], model: str) -> ChatRequest:
    """Return the request that a question begins with. The schema is told too: not every endpoint shows it."""
    system = (
        f"{question.prompt.system}\n\n"
        "Answer with one JSON object that fits this schema, and with nothing else:\n"
        f"{schema_text(question.form)}"
    )
    return ChatRequest(
        stage=question.stage,
        about=question.about,
        model=model,
        messages=(Message(role="system", content=system), Message(role="user", content=question.content)),
        max_tokens=question.max_tokens,
    )


def _again(request: ChatRequest, reply: ChatReply, wrong: _Wrong, context_tokens: int) -> ChatRequest:
    """Return the request with what is wrong about an answer, and as much of that as there is room for."""
    told = "\n".join(f"- {problem}" for problem in wrong.problems)
    asked = f"This answer cannot be used:\n{told}\nGive the whole answer again, as one JSON object."

    def with_answer(shown: str) -> ChatRequest:
        turns = (Message(role="assistant", content=shown), Message(role="user", content=asked))
        return request.model_copy(update={"messages": (*request.messages, *turns)})

    bare = with_answer("(no answer)" if not reply.text else "(your answer)")
    left = (context_tokens - request.max_tokens - prompt_tokens(bare)) * BYTES_PER_TOKEN
    data = reply.text.encode("utf-8", "surrogatepass")
    shown = data[: max(left, 0)].decode("utf-8", "ignore")[:SHOWN]
    if shown == reply.text:
        return with_answer(shown) if shown else bare
    return with_answer(f"{shown} […]") if len(shown) > LEAST_SHOWN else bare


def _value(question: Question[T], reply: ChatReply, *, last: bool = False) -> T:
    """Return the value of a reply; of the last one, a stage that can takes what is right. Raises _Wrong."""
    if reply.refusal or reply.finish_reason == "content_filter":
        why = f": {excerpt(reply.refusal)}" if reply.refusal else ""
        raise _Wrong("refusal", [f"it will not answer{why}"])
    cut = reply.finish_reason == "length"
    if not reply.text.strip() and not cut:
        raise _Wrong("empty", ["it is empty"])
    try:
        value = question.form.model_validate(find_object(reply.text))
    except ValidationError as error:
        problems = problems_of(error)
    except ValueError as error:
        problems = [str(error)]
    else:
        problems = list(question.check(value))
        if problems and not (last and question.stands(value)):
            raise _Wrong("wrong", problems)
        return value
    if cut:
        raise _Wrong("length", [f"it was cut after {question.max_tokens} tokens; be much shorter"])
    raise _Wrong("form", problems)


def _stands(question: Question[T], reply: ChatReply) -> bool:
    """Return whether something of a reply of the form can be used."""
    return question.stands(question.form.model_validate(find_object(reply.text)))


def _failed(wrong: _Wrong, used: Usage) -> AskError:
    why = {
        "refusal": "the model refused",
        "empty": "the model answered nothing, twice",
        "length": "the model's answer was cut, twice",
        "form": "the model's answer is not of the form that was asked for, also after repair",
        "wrong": "the model's answer is wrong, also after repair",
    }[wrong.fault]
    told = str(wrong)
    return AskError(
        wrong.fault, f"{why}: {told if len(told) <= TOLD else f'{told[: TOLD - 1]}…'}", usage=used
    )
