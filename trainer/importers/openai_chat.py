"""The smallest thing a user has: `{"messages": […], "score": 0.5}`, in OpenAI's chat form."""

from __future__ import annotations

from pydantic import JsonValue, ValidationError

from trainer.domain import Case, Message, Rollout, RubricEvaluation
from trainer.importers.cases import first_query, is_name, named_case, query_case
from trainer.importers.chat import read_messages
from trainer.importers.form import Format, Found, texts
from trainer.importers.jsontext import RecordError, as_number, as_object
from trainer.importers.scoring import reward_evaluation, reward_rubric
from xpstore.hashing import content_id

FORMAT = "chat messages with a score"

_CASE_KEYS = ("case", "case_id", "case_name", "task", "task_id", "task_name", "id")
_CASE_FIELDS = {"name", "task_signature", "input", "rubric", "metadata"}
_READ_KEYS = {"messages", "passed", "feedback", "metadata"}
_ID_KEYS = ("trajectory_id", "session_id", "run_id", "id", "uuid")


def matches(record: dict[str, JsonValue]) -> bool:
    """Say whether the record has chat messages."""
    return isinstance(record.get("messages"), list)


def read(record: dict[str, JsonValue]) -> Rollout:
    """Return the rollout; keys without a place (trial, cost, model, …) are kept under `metadata`."""
    chat = read_messages(record["messages"])
    if not chat.messages:
        raise RecordError("messages is empty")
    case_key = next((key for key in _CASE_KEYS if record.get(key) not in (None, "")), "")
    score_key = "score" if record.get("score") is not None else "reward"
    used = _READ_KEYS | {case_key, score_key}
    metadata = as_object(record.get("metadata") or {}, "metadata")
    metadata = {**metadata, **{key: value for key, value in record.items() if key not in used}}
    if chat.extra:
        metadata["messages"] = chat.extra
    return Rollout(
        case=_case(record.get(case_key), chat.messages),
        messages=chat.messages,
        evaluation=_evaluation(record, score_key),
        metadata=metadata,
    )


def found(record: dict[str, JsonValue]) -> tuple[Found]:
    """Return the rollout with the ids that the record has of its own."""
    return (Found(read(record), texts(*(record.get(key) for key in _ID_KEYS))),)


CHAT = Format("chat", FORMAT, matches, found)


def _evaluation(record: dict[str, JsonValue], score_key: str) -> RubricEvaluation | None:
    """Return the evaluation; None where the record has neither score nor reward."""
    passed = record.get("passed")
    if passed is not None and not isinstance(passed, bool):
        raise RecordError("passed is neither true nor false")
    score = record.get(score_key)
    if score is None and passed is None:
        return None
    number = as_number(passed if score is None else score, score_key)
    if passed is None and score_key == "score" and not 0 <= number <= 1:  # 12 of 100 would count as passed
        raise RecordError(f"score is not between 0 and 1: {number:g} (a reward may be any number)")
    feedback = record.get("feedback") or []
    lines = tuple(str(line) for line in (feedback if isinstance(feedback, list) else [feedback]))
    return reward_evaluation(number, FORMAT, passed=passed, feedback=lines)


def _case(given: JsonValue, messages: tuple[Message, ...]) -> Case:
    """Return the case as the record gives it: an object, a name, a task text; else the first user message.

    A named case holds nothing of the transcript: the trials of one task must have the same case.
    """
    if isinstance(given, dict):
        return _case_from_object(given)
    if isinstance(given, str | int | float):
        text = str(given)
        return named_case(text) if is_name(text) else query_case(text)
    if given is not None:
        raise RecordError("the case is neither a name nor an object")
    return query_case(first_query(messages))


def _case_from_object(given: dict[str, JsonValue]) -> Case:
    """Return the case of an object; keys that a case does not have belong to its input."""
    named = next((given[key] for key in ("name", "id", "task_id") if given.get(key) not in (None, "")), None)
    name = f"case_{content_id(given)[:12]}" if named is None else str(named)
    rest = {key: value for key, value in given.items() if key not in _CASE_FIELDS}
    fields = {key: value for key, value in given.items() if key in _CASE_FIELDS}
    fields["input"] = {**rest, **as_object(given.get("input") or {}, "case.input")}
    try:
        return Case.model_validate(
            {"task_signature": name, "rubric": reward_rubric(name)} | fields | {"name": name}
        )
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise RecordError(f"not a valid case: {where}: {first['msg']}") from None
