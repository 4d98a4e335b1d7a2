"""The way to a call: what a scripted agent looks up, checks and decides before it makes it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from trainer.environments.scripted.habits import OTHER, options_of, required
from trainer.offline.grammar import (
    Avoid,
    CallBefore,
    Confirm,
    NoRepeat,
    NotAfter,
    Once,
    ReadAll,
    Refused,
)
from trainer.offline.masking import changes_something

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from trainer.environments.agent import ToolSchema
    from trainer.environments.scripted.conversation import Conversation, Prospect
    from trainer.environments.scripted.habits import Dice, Habits, Wish
    from trainer.offline.grammar import Lesson
    from trainer.offline.objects import Term

_AGAINST = (Avoid, Refused, NotAfter, Once, NoRepeat)
"""Lessons that speak against a call."""
_DEPTH = 4  # calls that need calls that need calls


@dataclass(frozen=True, slots=True)
class Step:
    """One call to make, or (`asks`) the user to be asked for a yes."""

    tool: str = ""
    arguments: Mapping[str, str] = field(default_factory=dict)
    asks: bool = False


@dataclass(frozen=True)
class Way:
    """What is on the way to a call at this point of the conversation."""

    talk: Conversation
    tools: Mapping[str, ToolSchema]
    wish: Wish
    habits: Habits
    dice: Dice

    def toward(self, tool: str, depth: int = 0) -> Step | None:
        """Return the next call on the way to a call of `tool`, the call itself at the end of it.

        None where it cannot be made, or lessons speak against every way to make it.
        """
        if depth > _DEPTH or tool not in self.tools:
            return None
        given, missing = self._arguments(tool)
        if missing:
            return self._source()
        lessons = [x for x in self.talk.lessons if x.tool == tool and not self.dice.ignores(x.sentence())]
        for arguments in self._variants(tool, given):
            prospect = self.talk.then(tool, arguments)
            if (step := self._clears_up(lessons, prospect, arguments)) is not None:
                return step
            if not any(isinstance(x, _AGAINST) and prospect.judge(x) == "violates" for x in lessons):
                return self._prepared(lessons, prospect, depth) or Step(tool, arguments)
        return None

    def _arguments(self, tool: str) -> tuple[dict[str, str], list[str]]:
        """Return what can be given for the arguments of a tool, and which cannot."""
        options = options_of(self.tools[tool])
        found: dict[str, str] = {}
        for key in required(self.tools[tool]):
            value = self.wish.arguments.get(key) or self.talk.known(key)
            if key in options:
                value = value if value in options[key] else options[key][0]
            found[key] = value or (self.habits.text if key == "text" else "")
        return found, [key for key, value in found.items() if not value]

    def is_open(self, tool: str) -> bool:
        """Say whether a tool was not called and everything that it needs is known."""
        return tool in self.tools and not self.talk.has_called(tool) and not self._arguments(tool)[1]

    def _source(self) -> Step | None:
        """Return the look that may tell what is missing."""
        tool = self.habits.first_look
        return Step(tool, self._arguments(tool)[0]) if self.is_open(tool) else None

    def _variants(self, tool: str, given: Mapping[str, str]) -> Iterator[Mapping[str, str]]:
        """Yield the arguments as wished for, then with every other option; in training sometimes reversed."""
        found = [given]
        for key, options in options_of(self.tools[tool]).items():
            found += [{**given, key: option} for option in options if option != given[key]]
        if self.dice.tries(f"option of {tool}", OTHER):
            found.reverse()
        yield from found

    def _clears_up(
        self, lessons: list[Lesson], prospect: Prospect, arguments: Mapping[str, str]
    ) -> Step | None:
        """Return a look-up that tells what a lesson's condition is about."""
        for lesson in lessons:
            for term in prospect.unknown(lesson):
                if (step := self._look_up(term, arguments)) is not None:
                    return step
        return None

    def _look_up(self, term: Term, arguments: Mapping[str, str]) -> Step | None:
        for key in term.ref.of:
            value = arguments.get(key) or self.talk.known(key)
            reader = next((t for t in self.tools if self._reads(t, key)), "")
            if value and reader and not self.talk.has_called(reader):
                return Step(reader, {key: value})
        return None

    def _reads(self, tool: str, key: str) -> bool:
        return not changes_something(tool) and required(self.tools[tool]) == (key,)

    def _prepared(self, lessons: list[Lesson], prospect: Prospect, depth: int) -> Step | None:
        """Return what lessons want before the call."""
        for lesson in lessons:
            if not isinstance(lesson, CallBefore | ReadAll | Confirm) or prospect.judge(lesson) != "violates":
                continue
            if isinstance(lesson, Confirm):
                return Step(asks=True)
            first = lesson.first if isinstance(lesson, CallBefore) else lesson.reader
            if not self.talk.has_called(first) and (step := self.toward(first, depth + 1)) is not None:
                return step
        return None
