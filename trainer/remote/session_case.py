"""CaseSpec and OutcomeEvaluation, the first and the last message of a training session, as text (RFC §12).

Each is a header line, prose for people, and one fenced block of JSON. The block never holds a fence, an HTML
comment's end or a line separator but its own: inside of strings they are written as JSON escapes, so that any
reader finds the end of it, whatever a task says.

Whoever reads a session reads its CaseSpec. So what is sent of a case is listed here, and nothing else of it
goes out: no policy, path, recording or metadata of an environment; what a perfect agent does only on request.
"""

from __future__ import annotations

import json
import re
from typing import TYPE_CHECKING, TypeVar

from pydantic import BaseModel, JsonValue, ValidationError

from trainer.domain import Case, RubricCriterion, RubricEvaluation
from trainer.importers.jsontext import RecordError, as_object, clean, decode_at
from xpstore.errors import FormatError

if TYPE_CHECKING:
    from collections.abc import Mapping

CASE_HEADER = "# OpenViking Batch Training CaseSpec v1"
OUTCOME_HEADER = "# OpenViking OutcomeEvaluation"
PROTOCOL = "openviking.batch_train.case_spec.v1"

INPUT_KEYS = ("domain", "split", "data_split", "task_id", "task_no", "user_query")
LABEL_KEYS = ("ground_truth", "expected_actions")
"""Sent only where somebody says so."""
CASE_METADATA_KEYS = ("dataset", "domain", "split", "data_split", "source")

NO_CRITERIA = RubricCriterion(name="outcome", description="The task is done as it was asked for.")
"""Stands in a CaseSpec for a rubric without criteria."""

_CASE_PROSE = (
    "The task that the messages below are about, and how it is judged. How it came out is not told here."
)
_OUTCOME_PROSE = "How the messages above came out, as the task's environment has judged them."
_FAMILY = re.compile(
    r"# OpenViking (Batch Training CaseSpec|OutcomeEvaluation)(?: v(\d{1,9}))?[ \t]*(?:\r?\n|$)"
)
_FENCE = re.compile(r"^ {0,3}```json[ \t]*\r?\n\s*", re.MULTILINE)
_BARE = re.compile(r"\s*(?=\{)")
_CLOSE = re.compile(r"\s*\n {0,3}```")

Value = TypeVar("Value", bound=BaseModel)


def trimmed(case: Case, *, ground_truth: bool = False) -> Case:
    """Return the case as a CaseSpec tells it. Raises FormatError for a number that JSON cannot say.

    Of the input stay INPUT_KEYS, with `ground_truth` LABEL_KEYS too; of the metadata CASE_METADATA_KEYS.
    Metadata of the rubric and its criteria stays only with `ground_truth`: environments keep there what they
    compare with. What OpenViking's server wants to be there is filled in: a signature (the name), criteria
    (NO_CRITERIA) and their descriptions (their names).
    """
    keys = (*INPUT_KEYS, *LABEL_KEYS) if ground_truth else INPUT_KEYS
    rubric = case.rubric
    criteria = tuple(
        c if c.description.strip() else c.model_copy(update={"description": c.name or NO_CRITERIA.name})
        for c in rubric.criteria or (NO_CRITERIA,)
    )
    if not ground_truth:
        criteria = tuple(c.model_copy(update={"metadata": {}}) for c in criteria)
        rubric = rubric.model_copy(update={"metadata": {}})
    rubric = rubric.model_copy(update={"criteria": criteria})
    kept = case.model_copy(
        update={
            "task_signature": case.task_signature if case.task_signature.strip() else case.name,
            "input": _only(case.input, keys),
            "metadata": _only(case.metadata, CASE_METADATA_KEYS),
            "rubric": rubric,
        }
    )
    return _read(Case, _json(kept), f"case {case.name!r}")


def render_case_spec(case: Case, *, ground_truth: bool = False) -> str:
    """Return the text of the first message: `parse_case_spec` of it is `trimmed(case)`."""
    told = trimmed(case, ground_truth=ground_truth).model_dump(mode="json")
    return _render(CASE_HEADER, _CASE_PROSE, {"protocol": PROTOCOL, "case": told})


def parse_case_spec(text: str) -> Case | None:
    """Return the case of a CaseSpec message; None where the text is none.

    Raises FormatError for one that is malformed, of another version or protocol, or without a case that has a
    name. Unknown fields are left out; text after the block is prose.
    """
    value = _parse(text, "Batch Training CaseSpec", "1")
    if value is None:
        return None
    if value.get("protocol") != PROTOCOL:
        raise FormatError(
            f"a CaseSpec of protocol {str(value.get('protocol'))[:80]!r}; this program reads {PROTOCOL}"
        )
    case = _read(Case, value.get("case"), "the CaseSpec's case")
    if not case.name.strip():
        raise FormatError("the CaseSpec's case has no name", hint="trials of a task are compared by its name")
    return case


def render_outcome(evaluation: RubricEvaluation, *, ground_truth: bool = False) -> str:
    """Return the text of the last message. Raises FormatError for a score that JSON cannot say.

    Metadata goes along only with `ground_truth`: an environment's report says what was expected.
    """
    if not ground_truth:
        results = tuple(r.model_copy(update={"metadata": {}}) for r in evaluation.criterion_results)
        evaluation = evaluation.model_copy(update={"metadata": {}, "criterion_results": results})
    told = _read(RubricEvaluation, _json(evaluation), "the evaluation").model_dump(mode="json")
    return _render(OUTCOME_HEADER, _OUTCOME_PROSE, {"evaluation": told})


def parse_outcome(text: str) -> RubricEvaluation | None:
    """Return the evaluation of an OutcomeEvaluation message; None where the text is none, or says null.

    Raises FormatError for one that is malformed. Unknown fields are left out; text after the block is prose.
    Anybody who may write a message may write this one, so only the last message of a session counts.
    """
    value = _parse(text, "OutcomeEvaluation", "")
    if value is None or ("evaluation" in value and value["evaluation"] is None):
        return None
    return _read(RubricEvaluation, value.get("evaluation"), "the OutcomeEvaluation")


def as_speech(text: str) -> str:
    """Return what somebody said in a rollout as text that is neither of the two; mostly unchanged."""
    start = _start(text)
    return f"> {start}" if _FAMILY.match(start) else text


def _start(text: str) -> str:
    return text.removeprefix("\ufeff").lstrip()


def _only(values: Mapping[str, JsonValue], keys: tuple[str, ...]) -> dict[str, JsonValue]:
    return {key: values[key] for key in keys if key in values}


def _json(value: BaseModel) -> dict[str, JsonValue]:
    data: dict[str, JsonValue] = value.model_dump(mode="json")
    return data


def _render(header: str, prose: str, value: JsonValue) -> str:
    body = json.dumps(value, ensure_ascii=False, indent=2, allow_nan=False)
    # these stand only inside of strings
    body = body.replace("`", "\\u0060").replace("-->", "--\\u003e")
    body = body.replace("\u2028", "\\u2028").replace("\u2029", "\\u2029").replace("\x85", "\\u0085")
    return f"{header}\n\n{prose}\n\n```json\n{body}\n```"


def _parse(text: str, kind: str, version: str) -> dict[str, JsonValue] | None:
    """Return the JSON of a message of this kind, None for any other text."""
    text = _start(text)
    found = _FAMILY.match(text)
    if found is None or found[1] != kind:
        return None
    if (found[2] or "") != version:
        told, read = found[2] or "none", version or "none"
        raise FormatError(f"{kind} of version {told}; this program reads version {read}")
    fence = _FENCE.search(text, found.end()) or _BARE.match(text, found.end())
    if fence is None:
        raise FormatError(f"{kind}: no block of JSON", hint="a line ```json begins it")
    try:
        value, end = decode_at(text, fence.end())
        block = as_object(clean(value), "the block")
    except json.JSONDecodeError as error:
        raise FormatError(f"{kind}: not valid JSON: {error.msg} at character {error.pos + 1}") from None
    except RecordError as error:
        raise FormatError(f"{kind}: {error}") from None
    if fence.re is _FENCE and _CLOSE.match(text, end) is None:
        raise FormatError(f"{kind}: the block of JSON does not end after its value")
    return block


def _read(model: type[Value], value: JsonValue, what: str) -> Value:
    """Return the value of this form, its text mended and bounded, unknown fields left out."""
    try:
        return model.model_validate(as_object(clean(value), what), extra="ignore")
    except RecordError as error:
        raise FormatError(f"{what}: {error}") from None
    except ValidationError as error:
        first = error.errors(include_url=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"])
        raise FormatError(f"{what}: {where or 'it'}: {first['msg']}") from None
