"""What the stages of a learner ask a model, what they get, and how it fails. Pure.

A stage never sees HTTP, JSON or retries: it hands over a Question and gets a value of the type it wants, or
an AskError that says in one sentence what went wrong.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Generic, Literal, Protocol, TypeVar

from trainer.errors import ComponentError
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Sequence

T = TypeVar("T", bound=Frozen)

Stage = Literal["case", "extract", "edit", "merge", "resolve", "judge", "answer", "act", "probe", "embed"]
Fault = Literal[
    "budget", "connection", "empty", "form", "http", "length", "refusal", "replay", "timeout", "wrong"
]
"""Why there is no answer.

budget = the run's tokens, money or calls are used up; connection, timeout, http = the endpoint, after all
retries; empty, length (cut at max_tokens), refusal = what the model did; form = not of the form that was
asked for, also after repair; wrong = of the form, but the stage's own check says no, also after repair;
replay = the folder that is replayed does not have it.
"""


@dataclass(frozen=True, slots=True)
class Prompt:
    """A file of `trainer/prompts/`: what the model is told to do, without any data."""

    name: str
    version: int
    system: str


def nothing(_: object) -> bool:
    """Say that of an answer with something wrong in it nothing can be used."""
    return False


def anything(_: object) -> bool:
    """Say that of any answer something can be used, be it only that it has nothing of use."""
    return True


def _nothing_wrong(_: object) -> Sequence[str]:
    return ()


@dataclass(frozen=True, slots=True)
class Question(Generic[T]):
    """One question. Data in `content` is quoted (`quoting.py`): it never stands where instructions stand."""

    stage: Stage
    about: str
    """What it is about, for errors and progress: a rollout, a page. Not sent."""
    prompt: Prompt
    content: str
    """The message of role user."""
    form: type[T]
    """The form of the answer; every string and list in it is bounded."""
    max_tokens: int
    check: Callable[[T], Sequence[str]] = field(default=_nothing_wrong)
    """What is wrong with an answer beyond its form, in sentences that the model is shown once."""
    stands: Callable[[T], bool] = field(default=nothing)
    """Whether an answer is handed over though the check still says no after repair: something of it can be
    used; the stage leaves out the rest, item by item, and says so. Else it is an AskError of fault `wrong`,
    and nothing is kept: the next run asks anew."""


class Usage(Frozen):
    """What was used; sums with `+`, and `-` takes away what was summed."""

    calls: int = 0
    """Requests that were answered by the endpoint."""
    prompt_tokens: int = 0
    completion_tokens: int = 0
    cost: float = 0.0
    """In the currency of the prices in xp.toml; 0 where it has none."""
    repaired: int = 0
    """Answers that were asked for a second time."""
    reused: int = 0
    """Answers that were on record and cost nothing."""

    def __add__(self, other: Usage) -> Usage:
        return self._with(other, 1)

    def __sub__(self, other: Usage) -> Usage:
        return self._with(other, -1)

    def _with(self, other: Usage, sign: int) -> Usage:
        return Usage.model_construct(
            **{name: getattr(self, name) + sign * getattr(other, name) for name in Usage.model_fields}
        )


@dataclass(frozen=True, slots=True)
class Answer(Generic[T]):
    """A value of the form that was asked for, which the question's check accepts."""

    value: T
    usage: Usage


class AskError(ComponentError):
    """There is no answer. The item it was for fails as data; the run goes on."""

    def __init__(self, fault: Fault, message: str, *, hint: str = "", usage: Usage | None = None) -> None:
        super().__init__(message, hint=hint)
        self.fault: Fault = fault
        self.usage = usage or Usage()


class Asker(Protocol):
    """Answers questions with one model. Bears any number of concurrent calls."""

    @property
    def model(self) -> str:
        """The model's name, as the endpoint knows it."""
        ...

    async def ask(self, question: Question[T]) -> Answer[T]:
        """Return a checked answer. Raises AskError."""
        ...
