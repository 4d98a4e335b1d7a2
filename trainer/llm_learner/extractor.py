"""LLMExtractor: a model reads a scored rollout and notes what was asked, done, wrong and right.

Models invent evidence. A finding counts only with a quote that occurs in the transcript, and a note only with
such a finding; what is still invented after one repair is left out.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import Field, JsonValue

from trainer.asking.budget import tokens_of
from trainer.asking.prompts import prompt
from trainer.asking.question import Question
from trainer.asking.quoting import Quoting
from trainer.errors import NothingToNoteError
from trainer.llm_learner.room import CONTEXT, room
from trainer.llm_learner.transcript import clipped, is_quoted, transcript, whole_text, why_no_quote
from trainer.llm_learner.wording import is_name, name_of, tidy
from trainer.suite import LABELS
from xpstore.model import Frozen
from xpstore.names import without_invisible
from xpstore.redact import find_secrets
from xpstore.trajectory import Trajectory

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trainer.asking.question import Asker
    from trainer.domain import Rollout, RubricEvaluation
    from xpstore.trajectory import TrajectoryOutcome

ANSWER = 2_000
"""Tokens that an answer may have."""
NAME = "note"
"""Of a note whose name is none."""
MOST = 12
LONGEST = 300
"""Lines, and characters of a line, that a note has of what was said of the result."""
_SHARE = 8  # each of task, result and expected calls may have this part of the room

# What the schema asks for, and validation does not: a short word fails its note alone, and not the answer.
_WORDS: dict[str, JsonValue] = {"minLength": 8}
_SOME: dict[str, JsonValue] = {"minItems": 1}

Sentence = Annotated[str, Field(max_length=240)]


class Finding(Frozen):
    """One thing that was done wrong or right."""

    quote: str = Field(max_length=200, json_schema_extra=_WORDS)
    kind: Literal["wrong", "right"]
    what: str = Field(max_length=300, json_schema_extra=_WORDS)


class Note(Frozen):
    """What happened to one thing that was asked."""

    asked: str = Field(max_length=240, json_schema_extra=_WORDS)
    steps: tuple[Sentence, ...] = Field(max_length=10)
    findings: tuple[Finding, ...] = Field(max_length=4, json_schema_extra=_SOME)
    outcome: Literal["success", "failure", "partial", "unfinished"]
    name: str = Field(max_length=80)
    anchor: str = Field(max_length=240, json_schema_extra=_WORDS)


class Notes(Frozen):
    """What a transcript is worth."""

    notes: tuple[Note, ...] = Field(max_length=3)
    nothing: Sentence


@dataclass(frozen=True)
class LLMExtractor:
    """TrajectoryExtractor that asks once for each rollout."""

    asker: Asker
    context_tokens: int = CONTEXT
    """Tokens that a question and its answer may have; a longer transcript is cut."""
    salt: str = ""
    """Of the marks around quoted data, such as the store's id."""

    async def extract(self, rollout: Rollout, evaluation: RubricEvaluation | None) -> list[Trajectory]:
        """Return at most three notes.

        Raises NothingToNoteError with the model's reason; AskError where it gives no answer, or one of whose
        notes none stands.
        """
        if not rollout.messages:
            raise NothingToNoteError("nothing was said or done in it")
        question, reading = self._question(rollout, evaluation)
        answer = (await self.asker.ask(question)).value
        kept = [note for note in answer.notes if not reading.doubts(note)]
        if not kept:
            raise NothingToNoteError(_line(answer.nothing)[:LONGEST] or "the model found nothing to note")
        return [reading.trajectory(note, number, alone=len(kept) == 1) for number, note in enumerate(kept, 1)]

    def _question(
        self, rollout: Rollout, evaluation: RubricEvaluation | None
    ) -> tuple[Question[Notes], _Reading]:
        asked = prompt("extract")
        tokens = min(ANSWER, self.context_tokens // 4)
        left = room("extract", asked, Notes, tokens, self.context_tokens)
        share = left // _SHARE
        told = {
            "task": clipped(task(rollout), share),
            "result": clipped(result(evaluation), share),
            "expected calls": clipped(expected(rollout), share),
        }
        used = sum(map(tokens_of, told.values()))
        told["transcript"] = transcript(rollout.messages, left - used).text
        quoting = Quoting(*told.values(), salt=self.salt)
        reading = _Reading(rollout, evaluation, whole_text(rollout.messages), quoting.mark)
        question = Question(
            stage="extract",
            about=f"rollout {rollout.id} of case {rollout.case.name}",
            prompt=asked,
            content="\n\n".join(quoting.block(label, text) for label, text in told.items() if text),
            form=Notes,
            max_tokens=tokens,
            check=reading.findings,
            stands=reading.stands,  # what is wrong after repair is left out, note by note
        )
        return question, reading


def task(rollout: Rollout) -> str:
    """Return what is known of the task before the work: its input without labels, and what counts as good."""
    case = rollout.case
    given = {key: value for key, value in case.input.items() if key not in LABELS}
    lines = [
        case.task_signature,
        _json(given) if given else "",
        case.rubric.description,
        *(f"- {c.name}: {c.description}".rstrip(": ") for c in case.rubric.criteria),
    ]
    return "\n".join(line for line in lines if line)


def result(evaluation: RubricEvaluation | None) -> str:
    """Return how the work was scored: the criteria that were not met first, with what was said of each."""
    if evaluation is None:
        return "Nobody scored it."
    lines = [f"It {'passed' if evaluation.passed else 'failed'}, with score {evaluation.score:g}."]
    for one in sorted(evaluation.criterion_results, key=lambda r: r.passed):
        said = " ".join(one.feedback)
        lines.append(f"- {one.criterion_name}: {'met' if one.passed else 'NOT met'}. {said}".rstrip())
    return "\n".join([*lines, *(f"- {text}" for text in evaluation.feedback)])


def expected(rollout: Rollout) -> str:
    """Return the calls that a perfect agent makes, one a line, where the training case tells them."""
    actions = rollout.case.input.get("expected_actions")
    found = [a for a in actions if isinstance(a, dict)] if isinstance(actions, list) else []
    return "\n".join(f"{a.get('name')} {_json(a.get('arguments'))}" for a in found)


@dataclass(frozen=True, slots=True)
class _Reading:
    """What an answer is held against, and what is made of it."""

    rollout: Rollout
    evaluation: RubricEvaluation | None
    whole: str
    """The whole transcript, cut nowhere."""
    mark: str

    def findings(self, answer: Notes) -> list[str]:
        """Return what is wrong with an answer, in sentences that name the note."""
        if not answer.notes and not answer.nothing.strip():
            return ["there is neither a note nor a reason in `nothing`"]
        return [
            f"note {number}: {problem}"
            for number, note in enumerate(answer.notes, 1)
            for problem in (*self.doubts(note), *self._invented(note))
        ]

    def stands(self, answer: Notes) -> bool:
        """Return whether a note is left, or there never was one."""
        return not answer.notes or any(not self.doubts(note) for note in answer.notes)

    def doubts(self, note: Note) -> list[str]:
        """Return why a note as a whole cannot be kept."""
        texts = [note.asked, note.name, note.anchor, *note.steps, *(f.what for f in note.findings)]
        found = [] if tidy(note.asked) else ["`asked` says nothing"]
        if not any(self._holds(f) for f in note.findings):
            found.append("it has no finding with a quote that occurs in the transcript")
        if any(self.mark in text for text in texts):
            found.append("the mark around the data belongs to no text")
        if any(find_secrets(text) for text in texts):
            found.append("it holds what looks like a secret, or like personal data")
        return found

    def _invented(self, note: Note) -> Iterator[str]:
        for finding in note.findings:
            if why := why_no_quote(finding.quote, self.whole):
                yield why

    def _holds(self, finding: Finding) -> bool:
        return bool(tidy(finding.what)) and is_quoted(finding.quote, self.whole)

    def trajectory(self, note: Note, number: int, *, alone: bool) -> Trajectory:
        """Return the note as evidence; findings that quote what is not there are left out."""
        held = list(dict.fromkeys(f for f in note.findings if self._holds(f)))
        steps = [_line(step) for step in note.steps]
        ends = [_folded(line)[:LONGEST] for line in result(self.evaluation).split("\n")[:MOST]]
        asked = _line(note.asked)
        name = name_of(note.name) if is_name(note.name) else NAME
        sections = (
            ("Asked", [asked]),
            ("Steps", [f"{n}. {step}" for n, step in enumerate((s for s in steps if s), 1)]),
            ("Findings", [f"- {f.kind.capitalize()}: {_line(f.what)} (“{_line(f.quote)}”)" for f in held]),
            ("End", ends),
        )
        return Trajectory(
            name=f"{name[:48]}-{self.rollout.id[:8]}-{number}",
            content="\n\n".join(
                "\n\n".join([f"## {head}", "\n".join(body)]) for head, body in sections if body
            )
            + "\n",
            outcome=self._outcome(note, alone=alone),
            retrieval_anchor=_line(note.anchor) or asked,
            rollout=self.rollout.id,
            metadata={
                "case": self.rollout.case.name,
                "tools": list(dict.fromkeys(t.tool_name for t in self.rollout.calls)),
            },
        )

    def _outcome(self, note: Note, *, alone: bool) -> TrajectoryOutcome:
        """Return the end: the score knows it, but of several notes on a failure each has its own."""
        if self.evaluation is None:
            return note.outcome
        if self.evaluation.passed:
            return "success"
        if not alone:
            return note.outcome
        if note.outcome == "unfinished":
            return "unfinished"
        return "partial" if self.evaluation.score > 0 else "failure"


def _json(value: JsonValue) -> str:
    """Return it as it is on record: a rollout that is read again makes the same question."""
    return json.dumps(value, ensure_ascii=False, sort_keys=True)


def _line(text: str) -> str:
    return without_invisible(tidy(text))


def _folded(text: str) -> str:
    return " ".join(without_invisible(text).split())
