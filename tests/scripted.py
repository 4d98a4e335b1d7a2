"""A resolver that stands for a model: it gives answers that were written before."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xpstore.resolver import Claim, Resolution

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.conflict import Hunk
    from xpstore.resolver import Declined


@dataclass
class Scripted:
    """Stands for a model: gives these answers in turn and keeps what it was told."""

    answers: list[Resolution | Declined]
    name: str = "scripted/1"
    model: str = "script"
    told: list[tuple[Sequence[Hunk], Sequence[str]]] = field(default_factory=list)

    def resolve(self, hunks: Sequence[Hunk], findings: Sequence[str] = ()) -> Resolution | Declined:
        self.told.append((hunks, findings))
        return self.answers.pop(0)


def keeping(text: str) -> Resolution:
    """Return the decision of two opposite commands, numbers 1 and 2, that keeps the second, `text`."""
    return Resolution(((text,),), (Claim(1, "dropped", reason="the opposite stays"), Claim(2, "kept")))
