"""Lessons about what a request called for. What it called for is known where a case says what was expected.

Such a label tells what the user was entitled to; the lesson is what agents do with it. Cases without labels
are silent.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trainer.offline.grammar.lesson import Lesson, Section, Verdict, verdict
from trainer.offline.masking import changes_something
from xpstore.hashing import canonical_json

GENERAL = "before you end"
"""The page of lessons on no tool in particular."""

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from trainer.offline.facts import Facts


@dataclass(frozen=True)
class SeeThrough(Lesson):
    """Make the call of `tool` that a request calls for, instead of stopping before it.

    Without a tool it is about every call that changes something, and has a page of its own.
    """

    tool: str = ""
    family: ClassVar[str] = "see-through"
    section: ClassVar[Section] = "Approach"
    forms: ClassVar[tuple[str, ...]] = (
        "When a request calls for `{tool}`, make the call before you end; do not stop at asking.",
        "When a request calls for a change, make every call for it before you end; do not stop at asking.",
    )

    @property
    def page(self) -> str:
        """The tool, or the page on ending any task."""
        return self.tool or GENERAL

    def judge(self, facts: Facts) -> Verdict:
        """Broken by an expected call of which there is no accepted one; silent unless one was expected."""
        names = {name for name, _ in facts.expected or () if changes_something(name)}
        wanted = names & {self.tool} if self.tool else names
        broken = any(all(c.refused for c in facts.of(tool)) for tool in wanted)
        return verdict(broken=broken if wanted else None)


@dataclass(frozen=True)
class MakeSure(Lesson):
    """In calls of `tool`, `key` is often not what was asked for."""

    key: str
    family: ClassVar[str] = "make-sure"
    section: ClassVar[Section] = "Approach"
    forms: ClassVar[tuple[str, ...]] = (
        "Before you call `{tool}`, make sure that its `{key}` is what was asked for.",
    )

    def judge(self, facts: Facts) -> Verdict:
        """Broken by an accepted call whose `key` no expected call has; silent without both kinds of call."""
        wanted = {_value(arguments, self.key) for arguments in _wanted(facts, self.tool)}
        made = {_value(c.arguments, self.key) for c in facts.of(self.tool) if not c.refused}
        return verdict(broken=not made <= wanted if wanted and made else None)


def _wanted(facts: Facts, tool: str) -> list[Mapping[str, JsonValue]]:
    return [arguments for name, arguments in facts.expected or () if name == tool]


def _value(arguments: Mapping[str, JsonValue], key: str) -> bytes:
    return canonical_json(arguments.get(key))
