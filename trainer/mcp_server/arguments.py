"""The arguments of the tools: agents write them, so each has a bound, and what is wrong is said in a line."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated, Literal, TypeVar

from pydantic import Field, JsonValue, ValidationError

from xpstore.errors import UsageError
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Mapping

QUERY = 4_000
"""Characters of a search."""
NAME = 256
"""Characters that are looked at of a name; those of experiences are shorter."""
TASK = 20_000
MESSAGES = 2_000
_SHOWN = 200

A = TypeVar("A", bound=Frozen)


class Search(Frozen):
    """What to search for."""

    query: Annotated[
        str, Field(min_length=1, max_length=QUERY, description="The task, in a sentence or two.")
    ]
    limit: Annotated[int, Field(ge=1, le=20, description="How many at most.")] = 5


class Read(Frozen):
    """What to read."""

    name: Annotated[str, Field(min_length=1, max_length=NAME, description="A name that a search has given.")]


class List(Frozen):
    """Where to go on, and how far."""

    after: Annotated[str, Field(max_length=NAME, description="Go on after this name.")] = ""
    limit: Annotated[int, Field(ge=1, le=200, description="How many at most.")] = 50


class Report(Frozen):
    """How a task came out."""

    task: Annotated[
        str, Field(min_length=1, max_length=TASK, description="What was asked for, as it was said.")
    ]
    outcome: Annotated[
        Literal["passed", "failed"] | None,
        Field(description="Whether it was done as it should be. This or `score` is needed."),
    ] = None
    score: Annotated[
        float | None, Field(ge=0, le=1, allow_inf_nan=False, description="0 to 1; 1 is passed.")
    ] = None
    feedback: Annotated[str, Field(max_length=TASK, description="What was wrong, or who judged it.")] = ""
    case: Annotated[
        str, Field(max_length=NAME, description="A name that all attempts at this task share.")
    ] = ""
    messages: Annotated[
        tuple[dict[str, JsonValue], ...],
        Field(
            max_length=MESSAGES,
            description=(
                "The conversation in OpenAI's chat form, tool calls included. What was done is learned "
                "from it; without it the outcome is counted, and nothing else."
            ),
        ),
    ] = ()
    experiences: Annotated[
        tuple[Annotated[str, Field(max_length=NAME)], ...] | None,
        Field(max_length=200, description="Names that were read. Default: those read since the last report."),
    ] = None


def checked(kind: type[A], given: Mapping[str, object] | None) -> A:
    """Return the arguments of a call. Raises UsageError that names the first thing wrong."""
    try:
        return kind.model_validate(dict(given or {}))
    except ValidationError as error:
        first = error.errors(include_url=False, include_context=False, include_input=False)[0]
        where = ".".join(str(step) for step in first["loc"])[:_SHOWN]
        raise UsageError(f"{where or 'arguments'}: {first['msg']}", hint="see the tool's schema") from None
