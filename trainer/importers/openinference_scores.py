"""Evaluations in spans: marks where it is clear which way is better, words where it is not.

OpenInference leaves range and direction of a score to its name: a `hallucination` of 1 is bad. So a number
counts from 0 to 1 and under a name of GOOD only, a label where it is one of LABELS.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.domain import CriterionResult, Rubric, RubricCriterion, RubricEvaluation
from trainer.importers.jsontext import RecordError, as_object, parse
from trainer.importers.openinference import FORMAT, Object, object_at, text_at, value_at
from trainer.importers.scoring import PASS_MARK

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from pydantic import JsonValue

    from trainer.importers.openinference import Span

GOOD = frozenset(
    {
        "accuracy",
        "correct",
        "correctness",
        "goal_completion",
        "pass",
        "passed",
        "qa_correctness",
        "resolved",
        "reward",
        "success",
        "task_completion",
        "task_success",
    }
)
"""Names of which more is better, whoever judges."""
LABELS = {
    "correct": True,
    "incorrect": False,
    "pass": True,
    "passed": True,
    "fail": False,
    "failed": False,
    "success": True,
    "failure": False,
}
_LISTS = (("annotations", "annotation"), ("evaluations", "evaluation"))
_EXPLANATION = 2_000  # characters
_NAME = 80  # characters
_MOST = 100  # evaluations of one rollout


@dataclass(frozen=True, slots=True)
class Mark:
    """What one evaluation says. `passed` is None where its scale is not clear."""

    name: str
    passed: bool | None
    score: float
    said: Object
    """What is kept of it."""


def marks_of(span: Span) -> Iterator[Mark]:
    """Yield the evaluations of the whole that a root span has, or that the span of an evaluator gives."""
    if span.kind == "EVALUATOR":
        yield from _judged(span)
        return
    for holder in (span.attributes, *(object_at(span.attributes, key) for key in ("trace", "session"))):
        for several, one in _LISTS:
            listed = value_at(holder, several)
            for item in listed if isinstance(listed, list) else []:
                about = object_at(item, one)
                yield _mark(text_at(about, "name"), about)
    for name, under in object_at(span.attributes, "eval").items():
        yield _mark(name, under if isinstance(under, dict) else {})
    for given in span.annotations:
        yield _mark(text_at(given, "name"), {**given, **object_at(given, "result")})
    for event, found in span.events:
        judged = object_at(found, "gen_ai", "evaluation")
        if event == "gen_ai.evaluation.result":
            yield _mark(text_at(judged, "name"), {**judged, **_of_event(judged)})


def _judged(span: Span) -> Iterator[Mark]:
    """Yield what an evaluator found: an object with score or label, or a label."""
    told = value_at(span.attributes, "output", "value")
    found = _parsed(told)
    if found:
        yield _mark(span.name, found)
    elif isinstance(told, str) and told.strip().lower() in LABELS:
        yield _mark(span.name, {"label": told.strip()})


def evaluation_of(marks: Sequence[Mark]) -> tuple[RubricEvaluation, Rubric] | None:
    """Return evaluation and rubric of the marks that are clear; None where none is.

    Of several with one name the lowest counts: a conversation of which one turn failed has failed.
    """
    lowest: dict[str, Mark] = {}
    for mark in marks:
        if mark.passed is not None:
            held = lowest.get(mark.name)
            key = (mark.passed, mark.score)
            lowest[mark.name] = mark if held is None or key < (held.passed, held.score) else held
    if not lowest:
        return None
    results = tuple(_result(mark) for mark in lowest.values())
    evaluation = RubricEvaluation(
        passed=all(result.passed for result in results),
        score=sum(result.score for result in results) / len(results),
        criterion_results=results,
        feedback=tuple(f"{r.criterion_name}: {line}" for r in results if not r.passed for line in r.feedback),
        metadata={"source": FORMAT, "scores": {mark.name: mark.score for mark in lowest.values()}},
    )
    criteria = tuple(RubricCriterion(name=name, description=f"{name} is good.") for name in lowest)
    return evaluation, Rubric(name="evaluations", description="What the spans say.", criteria=criteria)


def bounded(marks: Sequence[Mark]) -> tuple[Mark, ...]:
    """Return the marks that say something, as many as are kept of one rollout."""
    return tuple(mark for mark in marks if mark.name and len(mark.said) > 1)[:_MOST]


def _mark(name: str, about: Object) -> Mark:
    score, label = about.get("score"), about.get("label")
    score = score if isinstance(score, bool | int | float) else None
    word = LABELS.get(label.strip().lower()) if isinstance(label, str) else None
    known = re.sub(r"[^a-z]+", "_", name.lower()).strip("_") in GOOD
    passed = word
    if score is not None and known and 0 <= score <= 1 and passed is None:
        passed = score >= PASS_MARK
    is_mark = score is not None and known and 0 <= score <= 1
    said: Object = {"name": name[:_NAME]}
    said |= {"score": score} if score is not None and abs(score) < 1e9 else {}
    for key in ("label", "explanation"):
        text = about.get(key)
        said |= {key: text[:_EXPLANATION]} if isinstance(text, str) and text else {}
    return Mark(name[:_NAME], passed, float(score or 0) if is_mark else float(bool(passed)), said)


def _of_event(judged: Object) -> Object:
    score = object_at(judged, "score")
    return {"score": score.get("value"), "label": score.get("label")}


def _parsed(value: JsonValue) -> Object:
    try:
        return as_object(parse(value) if isinstance(value, str) else value, "the output")
    except RecordError:
        return {}


def _result(mark: Mark) -> CriterionResult:
    said = text_at(mark.said, "explanation")
    lines = (said,) if said else ()
    return CriterionResult(
        criterion_name=mark.name, passed=bool(mark.passed), score=mark.score, feedback=lines
    )
