"""What every lesson family has in common: a sentence with slots, its inverse, and a judgement."""

from __future__ import annotations

import re
from abc import ABC, abstractmethod
from dataclasses import dataclass, fields
from functools import cache, cached_property
from typing import TYPE_CHECKING, ClassVar, Literal, Self

from trainer.offline.condition import Condition, condition_words, parse_condition

if TYPE_CHECKING:
    from trainer.offline.facts import Facts

Verdict = Literal["follows", "violates", "silent"]
"""What a rollout did with a lesson; `silent`: the lesson does not apply to it."""
Section = Literal["Approach", "Reflect"]

_SLOT = re.compile(r"\{(\w+)\}")
_PATTERNS = {"condition": r"(?P<condition>.+)", "error": r"(?P<error>[^”]+)"}


@dataclass(frozen=True)
class Lesson(ABC):
    """One lesson. Equal lessons have equal sentences, and the other way round.

    `forms` are its sentences; the one is used whose slots are the fields that are not empty.
    """

    tool: str
    family: ClassVar[str]
    section: ClassVar[Section]
    forms: ClassVar[tuple[str, ...]]

    @property
    def page(self) -> str:
        """The tool whose experience the lesson belongs to."""
        return self.tool

    def sentence(self) -> str:
        """Return the lesson in English Markdown."""
        return self._sentence

    @cached_property
    def _sentence(self) -> str:
        values = {f.name: _text(getattr(self, f.name)) for f in fields(self)}
        filled = {name for name, value in values.items() if value}
        form = next(form for form in self.forms if set(_SLOT.findall(form)) == filled)
        return form.format_map(values)

    @classmethod
    def parse(cls, sentence: str) -> Self | None:
        """Return the lesson that a sentence states, or None where it is of another family."""
        for form in cls.forms:
            match = _pattern(form).fullmatch(sentence)
            if match is None:
                continue
            slots: dict[str, str | Condition] = dict(match.groupdict())
            if "condition" in slots:
                condition = parse_condition(match["condition"])
                if condition is None:
                    continue
                slots["condition"] = condition
            return cls(**slots)  # type: ignore[arg-type]  # the slots of a form are fields of its class
        return None

    @abstractmethod
    def judge(self, facts: Facts) -> Verdict:
        """Return what a rollout did, from its transcript alone."""


def verdict(*, broken: bool | None) -> Verdict:
    """Return the verdict for broken, kept, or (None) not applicable."""
    if broken is None:
        return "silent"
    return "violates" if broken else "follows"


def _text(value: str | Condition) -> str:
    return value if isinstance(value, str) else condition_words(value)


@cache
def _pattern(form: str) -> re.Pattern[str]:
    parts: list[str] = []
    seen: set[str] = set()
    for at, part in enumerate(_SLOT.split(form)):
        if at % 2 == 0:
            parts.append(re.escape(part))
        elif part in seen:
            parts.append(f"(?P={part})")
        else:
            seen.add(part)
            parts.append(_PATTERNS.get(part, rf"(?P<{part}>[^`\s]+)"))
    return re.compile("".join(parts))
