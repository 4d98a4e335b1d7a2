"""LLMCaseFinder: a model says which tasks a session holds, and how one sees whether they were done well.

A case counts only with quotes that occur in the transcript: where the task was asked, and where its outcome
shows. What is still invented after one repair is left out.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, JsonValue

from trainer.asking.budget import tokens_of
from trainer.asking.prompts import prompt
from trainer.asking.question import Question
from trainer.asking.quoting import Quoting
from trainer.domain import Case, Rubric, RubricCriterion
from trainer.llm_learner.extractor import result
from trainer.llm_learner.room import CONTEXT, room
from trainer.llm_learner.transcript import clipped, transcript, whole_text, why_no_quote
from trainer.llm_learner.wording import is_name, name_of, tidy
from trainer.service.case_finding import NO_WORK, ExtractedCase, FoundCases
from xpstore.model import Frozen
from xpstore.names import without_invisible
from xpstore.redact import find_secrets

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trainer.asking.question import Asker
    from trainer.service.case_finding import Spoken

ANSWER = 1_500
"""Tokens that an answer may have."""
NOTHING = "the model found no task in it"
_SHARE = 8  # the outcome may have this part of the room
_WORDS: dict[str, JsonValue] = {"minLength": 8}
_SOME: dict[str, JsonValue] = {"minItems": 1}


class Criterion(Frozen):
    """One thing that can be seen."""

    name: str = Field(max_length=80)
    description: str = Field(max_length=300, json_schema_extra=_WORDS)


class AskedFor(Frozen):
    """A task of the transcript."""

    asked: str = Field(max_length=200, json_schema_extra=_WORDS)
    seen: str = Field(max_length=200, json_schema_extra=_WORDS)
    task: str = Field(max_length=400, json_schema_extra=_WORDS)
    criteria: tuple[Criterion, ...] = Field(max_length=5, json_schema_extra=_SOME)
    name: str = Field(max_length=80)


class Cases(Frozen):
    """What tasks a transcript has."""

    cases: tuple[AskedFor, ...] = Field(max_length=3)
    nothing: Annotated[str, Field(max_length=240)]


@dataclass(frozen=True)
class LLMCaseFinder:
    """CaseFinder that asks once for each session."""

    asker: Asker
    context_tokens: int = CONTEXT
    """Tokens that the question and its answer may have; a longer transcript is cut."""
    salt: str = ""
    """Of the marks around quoted data, such as the store's id."""

    async def find(self, spoken: Spoken, about: str) -> FoundCases:
        """Return at most three cases. Raises AskError where the model gives no answer of which one stands."""
        if not spoken.messages:
            return FoundCases(why=NO_WORK)
        asked = prompt("case")
        tokens = min(ANSWER, self.context_tokens // 4)
        left = room("case", asked, Cases, tokens, self.context_tokens)
        outcome = clipped(result(spoken.outcome), left // _SHARE) if spoken.outcome else ""
        seen = transcript(spoken.messages, left - tokens_of(outcome)).text
        quoting = Quoting(outcome, seen, salt=self.salt)
        reading = _Reading(whole_text(spoken.messages), quoting.mark)
        told = {"result": outcome, "transcript": seen}
        question = Question(
            stage="case",
            about=about,
            prompt=asked,
            content="\n\n".join(quoting.block(label, text) for label, text in told.items() if text),
            form=Cases,
            max_tokens=tokens,
            check=reading.findings,
            stands=reading.stands,
        )
        answer = (await self.asker.ask(question)).value
        kept = [case for case in answer.cases if not list(reading.doubts(case))]
        if not kept:
            return FoundCases(why=_line(answer.nothing) or NOTHING)
        # of several tasks nobody knows which one the outcome was about: each is judged by itself
        declared = spoken.outcome if len(kept) == 1 else None
        return FoundCases(cases=tuple(ExtractedCase(case=_case(c), evaluation=declared) for c in kept))


@dataclass(frozen=True, slots=True)
class _Reading:
    """What an answer is held against."""

    whole: str
    mark: str

    def findings(self, answer: Cases) -> list[str]:
        """Return what is wrong with an answer, in sentences that name the case."""
        if not answer.cases and not answer.nothing.strip():
            return ["there is neither a case nor a reason in `nothing`"]
        return [f"case {n}: {why}" for n, case in enumerate(answer.cases, 1) for why in self.doubts(case)]

    def stands(self, answer: Cases) -> bool:
        """Return whether a case is left, or there never was one."""
        return not answer.cases or any(not list(self.doubts(case)) for case in answer.cases)

    def doubts(self, case: AskedFor) -> Iterator[str]:
        """Yield why a case cannot be kept."""
        criteria = [text for c in case.criteria for text in (c.name, c.description)]
        texts = [case.task, case.name, *criteria]
        if not any(map(str.isalpha, case.task)):
            yield "`task` says nothing"
        if not case.criteria or not all(tidy(text) for text in criteria):
            yield "it needs criteria, each with a name and a description"
        if len({_line(c.name) for c in case.criteria}) < len(case.criteria):
            yield "two of its criteria have one name"
        for quote in (case.asked, case.seen):
            if why := why_no_quote(quote, self.whole):
                yield why
        if any(self.mark in text for text in texts):
            yield "the mark around the data belongs to no text"
        if any(find_secrets(text) for text in texts):
            yield "it holds what looks like a secret, or like personal data"


def _case(found: AskedFor) -> Case:
    name = name_of(found.name) if is_name(found.name) else "session-task"
    criteria = tuple(
        RubricCriterion(name=_line(c.name), description=_line(c.description)) for c in found.criteria
    )
    return Case(
        name=name,
        task_signature=name,
        input={"user_query": _line(found.task)},
        rubric=Rubric(name=f"{name}_rubric", description=_line(found.task), criteria=criteria),
        metadata={"source": "session"},
    )


def _line(text: str) -> str:
    return without_invisible(tidy(text))
