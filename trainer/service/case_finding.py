"""Which cases a session is about, and how they came out (RFC §11.1, §11.2).

A CaseSpec as first message is the case, and an OutcomeEvaluation as last message is how it came out. Where a
session has no CaseSpec, somebody has to find its cases: rules here, or a model (case_question.py). A case
needs a concrete task and an outcome that can be seen; without both there is none, and it is said why.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Protocol

from pydantic import ConfigDict

from trainer.domain import (
    Case,
    CriterionResult,
    Message,
    Rollout,
    Rubric,
    RubricCriterion,
    RubricEvaluation,
    TextPart,
)
from trainer.offline.facts import read_facts
from trainer.offline.masking import changes_something, is_name
from trainer.remote.session_case import OUTCOME_HEADER, parse_case_spec, parse_outcome
from trainer.rubric import evaluate
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Sequence

NO_TASK = "nobody asked for anything in it: no message of a user has text"
NO_OUTCOME = (
    "nothing shows how it came out: no call that changes something was answered, and there is no"
    " OutcomeEvaluation"
)
NO_WORK = "there is no message beside CaseSpec and OutcomeEvaluation"
LONGEST = 2_000
"""Characters of a task that a case keeps."""
_UNSCORED = RubricEvaluation(passed=True, score=1.0)


@dataclass(frozen=True, slots=True)
class Spoken:
    """A session's messages, with what they declare taken out."""

    messages: tuple[Message, ...]
    """What agent and user did."""
    case: Case | None
    outcome: RubricEvaluation | None


class ExtractedCase(Frozen):
    """A case of a session, and how it came out; None = whoever judges says so."""

    case: Case
    evaluation: RubricEvaluation | None = None


class FoundCases(Frozen):
    """The cases of a session; where there is none, why."""

    model_config = ConfigDict(extra="ignore")  # kept in a database, perhaps by a newer program

    cases: tuple[ExtractedCase, ...] = ()
    why: str = ""


class CaseFinder(Protocol):
    """Finds the cases of a session that declares none. The messages are redacted."""

    async def find(self, spoken: Spoken, about: str) -> FoundCases:
        """Return the cases, or why there is none; `about` names the session in errors. Raises AskError."""
        ...


def spoken_of(messages: Sequence[Message]) -> Spoken:
    """Take CaseSpec and OutcomeEvaluation out of messages. Raises FormatError for a malformed one.

    Only the first message can be the one, only the last can be the other: what is said between is data.
    A trainer, which declares a case, says exactly who called a tool. Plug-ins of agents, which declare none,
    write what tools answered into messages of the user: there all calls are the agent's.
    """
    body = list(messages)
    case = parse_case_spec(body[0].text) if body else None
    if case is not None:
        del body[0]
    outcome = parse_outcome(body[-1].text) if body else None
    if body and (outcome is not None or body[-1].text.lstrip("\ufeff \t\r\n").startswith(OUTCOME_HEADER)):
        del body[-1]  # the other form says that nobody scored it
    said = body if case else [part for message in body for part in _of_agent(message)]
    return Spoken(tuple(said), case, outcome)


def _of_agent(message: Message) -> tuple[Message, ...]:
    """Return a message of the user without its calls, and these as the agent's."""
    if message.role != "user" or not message.tools:
        return (message,)
    texts = tuple(part for part in message.parts if isinstance(part, TextPart))
    calls = Message(role="assistant", parts=message.tools)
    return (message.model_copy(update={"parts": texts}), calls) if texts else (calls,)


class OfflineCaseFinder:
    """CaseFinder by rules.

    The task is the first text of a user. The outcome is the declared one; else whether the last call that
    changes something was accepted, which is what such a transcript shows without anybody's opinion.
    """

    async def find(self, spoken: Spoken, about: str) -> FoundCases:
        """Return one case, or why there is none."""
        del about
        task = next((m.text.strip() for m in spoken.messages if m.role == "user" and m.text.strip()), "")
        if not task:
            return FoundCases(why=NO_TASK)
        blank = Case(name="session", rubric=Rubric(name="session"))
        facts = read_facts(Rollout(case=blank, messages=spoken.messages), _UNSCORED)
        parts = [t for m in spoken.messages for t in m.calls if changes_something(t.tool_name)]
        is_answered = bool(parts) and parts[-1].tool_status != "pending"
        changing = [c for c in facts.calls if changes_something(c.tool) and is_name(c.tool)]
        last = changing[-1] if changing else None
        name = f"session-{last.tool}" if last else "session-talk"
        if spoken.outcome is not None:
            rubric = _rubric(name, [(r.criterion_name, "") for r in spoken.outcome.criterion_results])
            return _found(name, task, rubric, spoken.outcome)
        if last is None or not is_answered:
            return FoundCases(why=NO_OUTCOME)
        rubric = _rubric(name, [(f"{last.tool} accepted", f"The last call of `{last.tool}` is accepted.")])
        result = CriterionResult(
            criterion_name=rubric.criteria[0].name,
            passed=not last.refused,
            score=0.0 if last.refused else 1.0,
            feedback=(f"`{last.tool}` was refused.",) if last.refused else (),
        )
        return _found(name, task, rubric, evaluate(rubric, [result], {"source": "tool status"}))


def _rubric(name: str, criteria: Sequence[tuple[str, str]]) -> Rubric:
    found = tuple(RubricCriterion(name=criterion, description=text) for criterion, text in criteria)
    return Rubric(name=f"{name}_rubric", description="What the session itself shows.", criteria=found)


def _found(name: str, task: str, rubric: Rubric, outcome: RubricEvaluation) -> FoundCases:
    case = Case(
        name=name,
        task_signature=name,
        input={"user_query": task[:LONGEST]},
        rubric=rubric,
        metadata={"source": "session"},
    )
    return FoundCases(cases=(ExtractedCase(case=case, evaluation=outcome),))
