"""Lessons about what to do with a tool's refusal, and how not to earn one."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trainer.offline.grammar.lesson import Lesson, Section, Verdict, verdict

if TYPE_CHECKING:
    from trainer.offline.facts import Call, Facts


@dataclass(frozen=True)
class Recover(Lesson):
    """After this refusal call `between`, then `tool` again with another `key`; either may be empty."""

    error: str
    key: str = ""
    between: str = ""
    family: ClassVar[str] = "recover"
    section: ClassVar[Section] = "Approach"
    forms: ClassVar[tuple[str, ...]] = (
        "When `{tool}` answers “{error}”, call `{between}` and call it again with another `{key}`.",
        "When `{tool}` answers “{error}”, call `{between}` and call it again.",
        "When `{tool}` answers “{error}”, call it again with another `{key}`.",
    )

    def judge(self, facts: Facts) -> Verdict:
        """Kept when the next call of `tool` is so; broken by any other next call, and by giving up."""
        calls = facts.of(self.tool)
        refused = [i for i, c in enumerate(calls) if c.refused and c.template == self.error]
        if not refused:
            return "silent"
        return verdict(broken=any(not self._kept(facts, calls, i) for i in refused))

    def _kept(self, facts: Facts, calls: tuple[Call, ...], at: int) -> bool:
        if at + 1 == len(calls):
            return False
        here, following = calls[at], calls[at + 1]
        if self.key and here.arguments.get(self.key) == following.arguments.get(self.key):
            return False
        return not self.between or any(here.at < c.at < following.at for c in facts.of(self.between))


@dataclass(frozen=True)
class NoRepeat(Lesson):
    """Do not repeat a refused call of `tool` unchanged."""

    family: ClassVar[str] = "no-repeat"
    section: ClassVar[Section] = "Reflect"
    forms: ClassVar[tuple[str, ...]] = ("Do not repeat a call of `{tool}` unchanged after it was refused.",)

    def judge(self, facts: Facts) -> Verdict:
        """Broken by the same arguments again; silent where nothing was refused."""
        calls = facts.of(self.tool)
        refused = [i for i, c in enumerate(calls) if c.refused]
        if not refused:
            return "silent"
        return verdict(broken=any(c.arguments == calls[i].arguments for i in refused for c in calls[i + 1 :]))


@dataclass(frozen=True)
class TakeFrom(Lesson):
    """In calls of `tool`, `key` is an identifier that was read or said before."""

    key: str
    family: ClassVar[str] = "take-from"
    section: ClassVar[Section] = "Approach"
    forms: ClassVar[tuple[str, ...]] = (
        "When you call `{tool}`, take `{key}` from what you have read; do not make one up.",
    )

    def judge(self, facts: Facts) -> Verdict:
        """Broken by an identifier that nobody had named and no tool had answered."""
        calls = facts.of(self.tool)
        return verdict(broken=any(self.key in facts.unseen[c.at] for c in calls) if calls else None)
