"""Lessons about what the user said. The words are plain English and name no domain."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import lru_cache
from typing import TYPE_CHECKING, ClassVar

from trainer.offline.facts import Say
from trainer.offline.grammar.lesson import Lesson, Section, Verdict, verdict
from trainer.offline.masking import words

if TYPE_CHECKING:
    from trainer.offline.facts import Facts

_LACK = (
    r"(?:(?:do|did|does|ca|could|have)n.t|cannot|not|never|no|forg[eo]t\w*|lost|without|unable)"
    r"\b(?:(?!\bbut\b)[^.?!\n]){0,60}?\b"
)
_YES = re.compile(
    r"^\W*(?:yes|yeah|yep|sure|okay|ok|correct|confirmed|absolutely|sounds good|that works|perfect)\b"
    r"|\b(?:go ahead|proceed|i (?:do )?(?:confirm|agree)|please (?:do|confirm|make|complete|finali[sz]e))\b",
    re.IGNORECASE,
)


@lru_cache(maxsize=256)
def _lacks(key: str) -> re.Pattern[str]:
    """Return what finds "I don't have the order id" for the key `order_id`."""
    return re.compile(_LACK + r"[\s_-]?".join(map(re.escape, words(key))) + r"s?\b(?! is\b)", re.IGNORECASE)


@dataclass(frozen=True)
class LookUp(Lesson):
    """When the user does not know `key`, `tool` tells it, in its `field`."""

    key: str
    field: str
    family: ClassVar[str] = "look-up"
    section: ClassVar[Section] = "Approach"
    forms: ClassVar[tuple[str, ...]] = (
        "When the user does not have the `{key}`, call `{tool}` and look it up under `{field}`.",
    )

    def judge(self, facts: Facts) -> Verdict:
        """Broken by never calling `tool`; silent unless the user says that the key is not at hand."""
        pattern = _lacks(self.key)
        said = any(isinstance(e, Say) and e.role == "user" and pattern.search(e.text) for e in facts.events)
        return verdict(broken=not facts.of(self.tool) if said else None)


@dataclass(frozen=True)
class Confirm(Lesson):
    """Call `tool` only when the user's last message agrees."""

    family: ClassVar[str] = "confirm"
    section: ClassVar[Section] = "Approach"
    forms: ClassVar[tuple[str, ...]] = ("Wait for the user's clear yes right before you call `{tool}`.",)

    def judge(self, facts: Facts) -> Verdict:
        """Broken by a call after a message that does not agree."""
        calls = facts.of(self.tool)
        return verdict(broken=any(not _agreed(facts, c.at) for c in calls) if calls else None)


def _agreed(facts: Facts, at: int) -> bool:
    for event in reversed(facts.events[:at]):
        if isinstance(event, Say) and event.role == "user":
            return _YES.search(event.text) is not None
    return False
