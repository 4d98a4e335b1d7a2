"""Lessons about when a call is wrong, by what was known when it was made."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, ClassVar

from trainer.offline.condition import Condition  # noqa: TC001  # the fields of a lesson are read at run time
from trainer.offline.grammar.lesson import Lesson, Section, Verdict, verdict

if TYPE_CHECKING:
    from trainer.offline.facts import Facts


@dataclass(frozen=True)
class Avoid(Lesson):
    """Do not call `tool` when the condition holds."""

    condition: Condition
    family: ClassVar[str] = "decision"
    section: ClassVar[Section] = "Reflect"
    forms: ClassVar[tuple[str, ...]] = ("Do not call `{tool}` when {condition}.",)

    def judge(self, facts: Facts) -> Verdict:
        """Broken by an accepted call for which it holds.

        Kept by a call for which it does not, and by reading an object for which (what can be said without
        a call of) it holds, and not calling `tool`.
        """
        found = [facts.holds(self.condition, c.at) for c in facts.of(self.tool) if not c.refused]
        if True in found:
            return "violates"
        if False in found:
            return "follows"
        return "follows" if self._refrained(facts) else "silent"

    def _refrained(self, facts: Facts) -> bool:
        key, said = self.on_objects
        return key != "" and not facts.of(self.tool) and facts.met(said, key)

    @cached_property
    def on_objects(self) -> tuple[str, Condition]:
        """The argument that names the object of the condition, and what can be said without a call."""
        keys = {a.term.ref.of[0] for a in self.condition if a.term.ref.of}
        said = tuple(a for a in self.condition if a.term.ref.of and a.kind in {"is", "more"})
        return (keys.pop(), said) if len(keys) == 1 else ("", ())


@dataclass(frozen=True)
class Refused(Lesson):
    """`tool` refuses calls for which the condition holds, with this error."""

    condition: Condition
    error: str
    family: ClassVar[str] = "refused"
    section: ClassVar[Section] = "Reflect"
    forms: ClassVar[tuple[str, ...]] = ("Do not call `{tool}` when {condition}: it answers “{error}”.",)

    def judge(self, facts: Facts) -> Verdict:
        """Broken by a call, accepted or not, for which it holds; silent where no call tells."""
        found = [facts.holds(self.condition, c.at) for c in facts.of(self.tool)]
        known = [f for f in found if f is not None]
        return verdict(broken=any(known) if known else None)
