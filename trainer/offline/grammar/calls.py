"""Lessons about which calls come, how often and in which order."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from trainer.offline.grammar.lesson import Lesson, Section, Verdict, verdict

if TYPE_CHECKING:
    from trainer.offline.facts import Facts


@dataclass(frozen=True)
class CallBefore(Lesson):
    """Call `first` before `tool`."""

    first: str
    family: ClassVar[str] = "call-before"
    section: ClassVar[Section] = "Approach"
    forms: ClassVar[tuple[str, ...]] = ("Call `{first}` before you call `{tool}`.",)

    def judge(self, facts: Facts) -> Verdict:
        """Broken by a call of `tool` without an earlier call of `first`; silent without a call of `tool`."""
        calls = facts.of(self.tool)
        if not calls:
            return "silent"
        earlier = facts.of(self.first)
        return verdict(broken=not earlier or earlier[0].at > calls[0].at)


@dataclass(frozen=True)
class CallAfter(Lesson):
    """Call `then` after `tool`."""

    then: str
    family: ClassVar[str] = "call-after"
    section: ClassVar[Section] = "Approach"
    forms: ClassVar[tuple[str, ...]] = ("After you call `{tool}`, call `{then}`.",)

    def judge(self, facts: Facts) -> Verdict:
        """Broken by an accepted call of `tool` and no later call of `then`; silent without one of `tool`."""
        calls = [c for c in facts.of(self.tool) if not c.refused]
        if not calls:
            return "silent"
        later = facts.of(self.then)
        return verdict(broken=not later or later[-1].at < calls[0].at)


@dataclass(frozen=True)
class NotAfter(Lesson):
    """Do not call `tool` once `earlier` was called."""

    earlier: str
    family: ClassVar[str] = "not-after"
    section: ClassVar[Section] = "Reflect"
    forms: ClassVar[tuple[str, ...]] = ("Do not call `{tool}` after `{earlier}`.",)

    def judge(self, facts: Facts) -> Verdict:
        """Broken by an accepted call of `tool` after one of `earlier`; silent without an accepted one."""
        calls = [c for c in facts.of(self.tool) if not c.refused]
        earlier = facts.of(self.earlier)
        return verdict(broken=bool(earlier) and earlier[0].at < calls[-1].at if calls else None)


@dataclass(frozen=True)
class Once(Lesson):
    """Call `tool` only once for the same value of the argument `key`."""

    key: str
    family: ClassVar[str] = "once"
    section: ClassVar[Section] = "Reflect"
    forms: ClassVar[tuple[str, ...]] = ("Do not call `{tool}` twice for the same `{key}`.",)

    def judge(self, facts: Facts) -> Verdict:
        """Broken by two accepted calls with the same value; refused calls do not count."""
        values = [str(c.arguments.get(self.key)) for c in facts.of(self.tool) if not c.refused]
        return verdict(broken=len(set(values)) < len(values) if values else None)


@dataclass(frozen=True)
class DoCall(Lesson):
    """Do not end without a call of `tool`."""

    family: ClassVar[str] = "do-call"
    section: ClassVar[Section] = "Approach"
    forms: ClassVar[tuple[str, ...]] = ("Do not end without having called `{tool}`.",)

    def judge(self, facts: Facts) -> Verdict:
        """Broken by never calling it; never silent."""
        return verdict(broken=not facts.of(self.tool))


@dataclass(frozen=True)
class ReadAll(Lesson):
    """Read every entry of a list that `source` answered before `tool` is called."""

    reader: str
    listing: str
    source: str
    family: ClassVar[str] = "read-all"
    section: ClassVar[Section] = "Approach"
    forms: ClassVar[tuple[str, ...]] = (
        "Before you call `{tool}`, call `{reader}` for every entry of the `{listing}` of `{source}`.",
    )

    def judge(self, facts: Facts) -> Verdict:
        """Broken by an entry that was not read before; silent unless the list has two entries or more."""
        calls = facts.of(self.tool)
        if not calls:
            return "silent"
        entries: set[str] = set()
        for call in facts.of(self.source):
            listed = call.data.get(self.listing) if isinstance(call.data, dict) else None
            if call.at < calls[0].at and isinstance(listed, list | dict):
                entries |= {str(e) for e in listed}
        if len(entries) < 2:
            return "silent"
        read = {str(v) for c in facts.of(self.reader) if c.at < calls[0].at for v in c.arguments.values()}
        return verdict(broken=bool(entries - read))
