"""Logs of Inspect (EvalLog): one rollout for each sample and epoch, one criterion for each score.

`source` hands over a log sample by sample: the head of the log, with one of its samples. Texts that the log
keeps apart (`attachment://…`) are put back. The target is no part of what an agent or a model is shown.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

from trainer.domain import CriterionResult, Rollout, Rubric, RubricCriterion, RubricEvaluation
from trainer.importers.cases import first_query, named_case
from trainer.importers.chat import read_messages
from trainer.importers.form import Flaw, Format, Found, chosen, texts
from trainer.importers.jsontext import RecordError, as_list, as_object
from trainer.importers.scoring import PASS_MARK

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

FORMAT = "Inspect"
VERSIONS = (1, 2, 3)
_ATTACHMENT = "attachment://"
_GRADES = {"C": 1.0, "P": 0.5, "I": 0.0, "N": 0.0}
"""Inspect's grades: correct, partly, incorrect, no answer."""
_WORDS = {"yes": 1.0, "true": 1.0, "no": 0.0, "false": 0.0}
_MESSAGE_KEYS = frozenset({"role", "content", "tool_calls", "tool_call_id", "function", "error"})
_UNUSED_KEYS = frozenset({"id", "source", "model", "metadata", "internal"})
_EXPLANATION = 2_000  # characters
_MOST_RESTORED = 32 * 1024 * 1024  # characters of one sample: a text may be named any number of times


def matches(record: dict[str, JsonValue]) -> bool:
    """Say whether the record is a log of Inspect."""
    task = record.get("eval")
    return isinstance(task, dict) and "task" in task and ("samples" in record or "status" in record)


def read(record: dict[str, JsonValue]) -> Iterator[Found | Flaw]:
    """Yield the rollouts of the log; a sample that is broken, or that an error ended, is told."""
    version = record.get("version")
    if version not in VERSIONS:
        yield Flaw(
            f"version {str(version)[:40]!r} of the log is not known; read as {VERSIONS[-1]}", "warning"
        )
    samples = as_list(record.get("samples") or [], "samples")
    if not samples:
        raise RecordError("the log holds no samples")
    task = as_object(record["eval"], "eval")
    for value in samples:
        sample = as_object(value, "a sample")
        try:
            yield _sample(sample, task)
        except RecordError as error:
            yield Flaw(f"sample {sample.get('id')!s:.80} epoch {sample.get('epoch')!s:.20}: {error}")


def _sample(sample: dict[str, JsonValue], task: dict[str, JsonValue]) -> Found:
    error = sample.get("error")
    scores = as_object(sample.get("scores") or {}, "scores")
    if error and not scores:
        said = error.get("message") if isinstance(error, dict) else error
        raise RecordError(f"it ended with an error and was not scored: {said!s:.200}")
    kept = sample.get("attachments")
    apart = _Apart(kept if isinstance(kept, dict) else {})
    raw = [_message(apart.restored(m)) for m in as_list(sample.get("messages") or [], "messages")]
    chat = read_messages(list(raw))
    if not chat.messages:
        raise RecordError("messages is empty")
    extra: dict[str, JsonValue] = {
        at: rest for at, rest in ((at, _rest(more)) for at, more in chat.extra.items()) if rest
    }
    marks = {name: mark for key, score in scores.items() for name, mark in _marks(key, score)}
    kind = str(task.get("task"))
    name = f"{kind}_{sample.get('id')}"
    rubric = Rubric(
        name=f"{name}_rubric",
        description="What the scorers of the task say.",
        criteria=tuple(RubricCriterion(name=key, description=f"{key} is correct.") for key in marks),
    )
    about: dict[str, JsonValue] = {"source": FORMAT, **chosen(sample, "target")}
    asked = apart.restored(sample.get("input"))
    query = asked if isinstance(asked, str) else first_query(chat.messages)
    given = chosen(sample, "choices", "metadata")
    metadata: dict[str, JsonValue] = {"source": FORMAT, "trial": sample.get("epoch")}
    metadata |= chosen(task, "task", "task_version", "run_id", "model", "created", "solver")
    metadata |= chosen(sample, "uuid", "limit", "error", "total_time", "working_time", "model_usage")
    if extra:
        metadata["messages"] = extra
    evaluation = _evaluation(marks, scores) if marks else None
    rollout = Rollout(
        case=named_case(name, query, given=given, metadata=about, rubric=rubric if marks else None),
        messages=chat.messages,
        evaluation=evaluation,
        metadata=metadata,
    )
    return Found(rollout, texts(sample.get("uuid"), f"{sample.get('id')}_epoch_{sample.get('epoch', 1)}"))


class _Apart:
    """The texts that a sample keeps apart, put back where they are named; within bounds."""

    def __init__(self, kept: dict[str, JsonValue]) -> None:
        self._kept = kept
        self._left = _MOST_RESTORED

    def restored(self, value: JsonValue) -> JsonValue:
        """Return the value with its texts; one that is not kept, or is too much, stays a name."""
        if isinstance(value, str):
            key = value.removeprefix(_ATTACHMENT)
            text = self._kept.get(key) if key != value else None
            if not isinstance(text, str) or len(text) > self._left:
                return value
            self._left -= len(text)
            return text
        if isinstance(value, list):
            return [self.restored(item) for item in value]
        if isinstance(value, dict):
            return {key: self.restored(item) for key, item in value.items()}
        return value


def _message(value: JsonValue) -> dict[str, JsonValue]:
    """Return a message in OpenAI's form: calls have name and arguments side by side here."""
    message = as_object(value, "a message")
    item: dict[str, JsonValue] = {k: v for k, v in message.items() if k not in _UNUSED_KEYS}
    calls = as_list(message.get("tool_calls") or [], "tool_calls")
    if calls:
        item["tool_calls"] = [_call(as_object(call, "a tool call")) for call in calls]
    if message.get("role") == "tool":
        item["name"] = item.pop("function", None)
        error = item.pop("error", None)
        item["is_error"] = bool(error)
        if isinstance(error, dict) and item.get("content") in (None, "", []):
            item["content"] = error.get("message")
    return item


def _call(call: dict[str, JsonValue]) -> dict[str, JsonValue]:
    return {"id": call.get("id"), "name": call.get("function"), "arguments": call.get("arguments")}


def _rest(more: JsonValue) -> JsonValue:
    return {k: v for k, v in more.items() if k not in _MESSAGE_KEYS} if isinstance(more, dict) else more


def _marks(name: str, score: JsonValue) -> Iterator[tuple[str, float]]:
    """Yield criterion and mark; a score of several values has a criterion for each, one of none has none."""
    value = score.get("value") if isinstance(score, dict) else score
    if isinstance(value, dict):
        for key, one in value.items():
            yield from _marks(f"{name}.{key}", one)
        return
    mark = _mark(value)
    if mark is not None:
        yield name, mark


def _mark(value: JsonValue) -> float | None:
    if isinstance(value, bool | int | float):
        return float(value) if abs(value) < 1e9 and math.isfinite(value) else None
    if isinstance(value, str):
        if value in _GRADES:
            return _GRADES[value]
        try:
            return _mark(_WORDS[value.lower()] if value.lower() in _WORDS else float(value))
        except ValueError:
            return None
    return None


def _evaluation(marks: dict[str, float], scores: dict[str, JsonValue]) -> RubricEvaluation:
    """Return the evaluation: passed where every criterion is, the mean of the marks as the score."""
    results = tuple(_result(name, mark, scores) for name, mark in marks.items())
    return RubricEvaluation(
        passed=all(result.passed for result in results),
        score=sum(marks.values()) / len(marks),
        criterion_results=results,
        feedback=tuple(f"{r.criterion_name}: {line}" for r in results if not r.passed for line in r.feedback),
        metadata={"source": FORMAT, "scores": {**marks}},
    )


def _result(name: str, mark: float, scores: dict[str, JsonValue]) -> CriterionResult:
    score = scores.get(name)
    said = score.get("explanation") if isinstance(score, dict) else None
    lines = (said[:_EXPLANATION],) if isinstance(said, str) and said else ()
    return CriterionResult(criterion_name=name, passed=mark >= PASS_MARK, score=mark, feedback=lines)


INSPECT = Format("inspect", FORMAT, matches, read)
