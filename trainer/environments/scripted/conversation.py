"""A conversation as a scripted agent sees it, and what would be if it made one more call."""

from __future__ import annotations

from functools import cached_property, lru_cache
from typing import TYPE_CHECKING

from trainer.offline.facts import Call, Facts, Say, read_transcript
from trainer.offline.grammar import Avoid, Refused, parse_lesson
from xpstore.document import Document

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from trainer.domain import Message
    from trainer.offline.condition import Condition
    from trainer.offline.grammar import Lesson
    from trainer.offline.grammar.lesson import Verdict
    from trainer.offline.objects import Term


class Conversation:
    """What was said, called and answered so far. Lessons are judged on it by the grammar's own judges."""

    def __init__(self, messages: Sequence[Message]) -> None:
        events, self._system = read_transcript(messages)
        self.facts = self._with(events)

    def _with(self, events: tuple[Say | Call, ...]) -> Facts:
        return Facts(id="", case="", failed=False, events=events, system=self._system)

    @cached_property
    def request(self) -> str:
        """The first thing that the user said."""
        return next((e.text for e in self.facts.events if isinstance(e, Say) and e.role == "user"), "")

    @cached_property
    def lessons(self) -> tuple[Lesson, ...]:
        """The sentences of the grammar among the instructions, in order; other text says nothing to it."""
        return lessons_in(self._system)

    def has_called(self, tool: str) -> bool:
        """Say whether a tool was called, with whatever success."""
        return bool(self.facts.of(tool))

    def known(self, key: str) -> str:
        """Return the last value that an answer has for this name; empty if none."""
        found = [v for v in self._values(key) if v]
        return found[-1] if found else ""

    def _values(self, key: str) -> Iterator[str]:
        for call in self.facts.calls:
            if isinstance(call.data, dict) and isinstance(value := call.data.get(key), str):
                yield value

    def then(self, tool: str, arguments: Mapping[str, str]) -> Prospect:
        """Return what would be if this call was made now and accepted."""
        at = len(self.facts.events)
        call = Call(tool, dict(arguments), "", None, refused=False, at=at)
        return Prospect(self._with((*self.facts.events, call)), at)


class Prospect:
    """A conversation with one more call, the last."""

    def __init__(self, facts: Facts, at: int) -> None:
        self._facts = facts
        self._at = at

    def judge(self, lesson: Lesson) -> Verdict:
        """Return what the call does with a lesson."""
        return lesson.judge(self._facts)

    def unknown(self, lesson: Lesson) -> list[Term]:
        """Return what must be looked up to judge a lesson with a condition; nothing where it is clear."""
        condition: Condition = lesson.condition if isinstance(lesson, Avoid | Refused) else ()
        if not condition or self._facts.holds(condition, self._at) is not None:
            return []
        features = self._facts.features[self._at]
        wanted = [a.term for a in condition] + [a.value for a in condition if isinstance(a.value, tuple)]
        return [term for term in wanted if term not in features]


@lru_cache(maxsize=64)
def lessons_in(text: str) -> tuple[Lesson, ...]:
    """Return the lessons in a Markdown text, each once."""
    found = (parse_lesson(s.key) for s in Document.parse(text).statements())
    return tuple(dict.fromkeys(lesson for lesson in found if lesson is not None))
