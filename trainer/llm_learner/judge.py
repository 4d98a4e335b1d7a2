"""RubricJudge: a model says how a rollout met each criterion, and quotes what it saw (RFC §6.3).

Nobody believes a judge that quotes what is not there: every quote is looked up in the transcript. What is
still wrong after one repair fails its criterion, with the reason as feedback; it never passes it.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import TYPE_CHECKING, Annotated

from pydantic import Field, create_model

from trainer.asking.budget import tokens_of
from trainer.asking.prompts import prompt
from trainer.asking.question import Question, anything
from trainer.asking.quoting import Quoting
from trainer.domain import CriterionResult
from trainer.llm_learner.room import CONTEXT, LEAST, room
from trainer.llm_learner.transcript import transcript, whole_text, why_no_quote
from trainer.rubric import evaluate
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from trainer.asking.question import Asker
    from trainer.domain import Rollout, RubricCriterion, RubricEvaluation

AT_ONCE = 8
"""Criteria in one question."""
BEST = 10
"""The highest score of the form."""
UNPROVEN = "unproven"
"""Key of a result's metadata: what the judge said of it could not be believed."""
_TOKENS_FOR_ONE = 700  # a full verdict in a script of one character per token
_LONGEST = 1_000  # characters of a criterion that are shown


class Verdict(Frozen):
    """How one criterion was met. What decides comes first: a model writes in this order."""

    criterion: int = Field(ge=1, le=AT_ONCE)
    quotes: tuple[Annotated[str, Field(max_length=120)], ...] = Field(max_length=3)
    reason: str = Field(max_length=240)
    passed: bool
    score: int = Field(ge=0, le=BEST)


class Judgement(Frozen):
    """The verdicts on the criteria of one question."""

    verdicts: tuple[Verdict, ...] = Field(max_length=AT_ONCE)


@dataclass(frozen=True)
class RubricJudge:
    """RolloutEvaluator: asks once for up to AT_ONCE criteria of a rubric."""

    asker: Asker
    context_tokens: int = CONTEXT
    """What a question and its answer may have. A longer transcript is cut; quotes from all of it count."""
    salt: str = ""
    """Of the marks around quoted data, such as the store's id."""

    async def evaluate(self, rollout: Rollout) -> RubricEvaluation | None:
        """Return how the rollout came out against its case's rubric; None where that has no criteria.

        Raises AskError where the model gives no answer, ComponentError as `trainer.rubric.evaluate`.
        """
        rubric, results = rollout.case.rubric, list[CriterionResult]()
        if not rubric.criteria:
            return None
        whole = whole_text(rollout.messages)
        for start in range(0, len(rubric.criteria), AT_ONCE):
            criteria = rubric.criteria[start : start + AT_ONCE]
            question, case = self._question(rollout, criteria, whole)
            results += case.results((await self.asker.ask(question)).value)
        source = {"judge": self.asker.model, "prompt": f"judge/{prompt('judge').version}"}
        return evaluate(rubric, results, dict(source))

    def _question(
        self, rollout: Rollout, criteria: Sequence[RubricCriterion], whole: str
    ) -> tuple[Question[Judgement], _Case]:
        rubric = rollout.case.rubric
        asked = "\n".join(_shown(n, c.name, c.description) for n, c in enumerate(criteria, 1))
        about = _line(rubric.name, rubric.description)
        form, tokens = _form(len(criteria)), min(_TOKENS_FOR_ONE * len(criteria), self.context_tokens // 2)
        left = room("judge", prompt("judge"), form, tokens, self.context_tokens) - tokens_of(asked + about)
        seen = transcript(rollout.messages, max(LEAST, left)).text
        quoting = Quoting(about, asked, seen, salt=self.salt)
        blocks = [("rubric", about), ("criteria", asked), ("transcript", seen)]
        case = _Case(criteria, whole, quoting.mark)
        question = Question(
            stage="judge",
            about=f"rollout {rollout.id} of case {rollout.case.name}",
            prompt=prompt("judge"),
            content="\n\n".join(quoting.block(label, text) for label, text in blocks),
            form=form,
            max_tokens=tokens,
            check=case.findings,
            stands=anything,  # what is wrong after repair fails its criterion alone
        )
        return question, case


@dataclass(frozen=True, slots=True)
class _Case:
    """What verdicts are held against."""

    criteria: Sequence[RubricCriterion]
    whole: str
    """The whole transcript, cut nowhere."""
    mark: str

    def findings(self, answer: Judgement) -> list[str]:
        """Return what is wrong with an answer, in sentences that name the criterion."""
        strangers = sorted({v.criterion for v in answer.verdicts if v.criterion > len(self.criteria)})
        lines = [f"there is no criterion {number}, only 1 to {len(self.criteria)}" for number in strangers]
        for number in range(1, len(self.criteria) + 1):
            lines += [f"criterion {number}: {problem}" for problem in self._problems(answer, number)]
        return lines

    def results(self, answer: Judgement) -> Iterator[CriterionResult]:
        """Yield one result per criterion; a verdict that does not hold is a failure that says so."""
        for number, criterion in enumerate(self.criteria, 1):
            if problems := self._problems(answer, number):
                yield CriterionResult(
                    criterion_name=criterion.name,
                    passed=False,
                    score=0.0,
                    feedback=(f"the judge's verdict does not hold: {'; '.join(problems)}",),
                    metadata={UNPROVEN: True},
                )
                continue
            verdict = next(v for v in answer.verdicts if v.criterion == number)
            yield CriterionResult(
                criterion_name=criterion.name,
                passed=verdict.passed,
                score=verdict.score / BEST,
                feedback=(verdict.reason,) if verdict.reason.strip() else (),
                evidence=verdict.quotes,
            )

    def _problems(self, answer: Judgement, number: int) -> list[str]:
        found = [v for v in answer.verdicts if v.criterion == number]
        if len(found) != 1:
            return [f"there are {len(found)} verdicts on it, and it needs one"]
        return list(self._doubts(found[0]))

    def _doubts(self, verdict: Verdict) -> Iterator[str]:
        for quote in verdict.quotes:
            if why := why_no_quote(quote, self.whole):
                yield why
        if verdict.passed and not verdict.quotes:
            yield "it is met, and no quote shows it"
        if verdict.passed and not verdict.score:
            yield "it is met, and its score is 0"
        if not verdict.passed and verdict.score == BEST:
            yield f"it is not met, and its score is {BEST}"
        if self.mark in verdict.reason:
            yield "the mark around the data belongs to no text"


@cache
def _form(count: int) -> type[Judgement]:
    """Return the form with no more verdicts than criteria: where there is room, small models fill it."""
    verdicts = (tuple[Verdict, ...], Field(max_length=count))
    return create_model("Judgement", __base__=Judgement, verdicts=verdicts)


def _shown(number: int, name: str, description: str) -> str:
    return f"{number}. {_line(name, description)}"


def _line(name: str, description: str) -> str:
    return " ".join(f"{name}: {description}".split())[:_LONGEST]
