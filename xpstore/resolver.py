"""Who decides what both sides of a merge changed, and what a decision has to say for itself.

A resolver sees the numbered statements of the hunks and their sections, never the file, and it has no tools.
All of that text is data. It may call a model, so it is never called under a lock.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal, Protocol

from xpstore import polarity
from xpstore.fidelity import contained

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.conflict import Hunk, Numbered

OFFLINE = "offline/1"
"""The name of the rule that keeps what both sides say."""
PERSON = "person"
"""Who decided, where a person did."""
_REWORDED = 0.5


def how_decided(name: str) -> str:
    """Return in words how a merge was decided, as it follows its verdict; "" where nothing overlapped."""
    if name == OFFLINE:
        return ", kept both sides"
    return f", decided by {name}" if name else ""


@dataclass(frozen=True, slots=True)
class Claim:
    """What became of one numbered statement.

    kept = word for word in the result, at its place. merged, superseded = see `into`. dropped = `reason`.
    """

    number: int
    fate: Literal["kept", "merged", "superseded", "dropped"]
    into: str = ""
    """The statement of the result that says it (merged) or that replaces it (superseded), word for word."""
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Resolution:
    """A decision: per hunk the statements that stand there (Markdown; YAML lines in front matter)."""

    decisions: tuple[tuple[str, ...], ...]
    account: tuple[Claim, ...]
    """One claim per numbered statement."""


@dataclass(frozen=True, slots=True)
class Declined:
    """The resolver does not know: a person has to decide."""

    reason: str


class Resolver(Protocol):
    """Decides hunks. Its answer is checked before anything is written."""

    @property
    def name(self) -> str:
        """Name and version, for the record."""
        ...

    @property
    def model(self) -> str:
        """The model that it asks; empty where it is a fixed rule."""
        ...

    def resolve(self, hunks: Sequence[Hunk], findings: Sequence[str] = ()) -> Resolution | Declined:
        """Decide all hunks. `findings` is why the answer before this one was refused."""
        ...


@dataclass(frozen=True, slots=True)
class OfflineResolver:
    """Keeps what both sides say, without exact duplicates; declines where that would contradict itself."""

    name: str = OFFLINE
    model: str = ""

    def resolve(self, hunks: Sequence[Hunk], findings: Sequence[str] = ()) -> Resolution | Declined:
        """Return the union of both sides."""
        if findings:
            return Declined("a fixed rule has no second answer")
        decisions: list[tuple[str, ...]] = []
        account: list[Claim] = []
        for hunk in hunks:
            if hunk.is_front_matter:
                return Declined("both sides changed the same key of the front matter")
            texts = tuple(s.text for s in hunk.statements if s.sides != {"base"})
            if not (hunk.of("ours") and hunk.of("theirs")):
                return Declined("one side removed what the other changed")
            if next(polarity.contradictions(texts), None):
                return Declined("the sides command opposite things")
            decisions.append(texts)
            account += [_union_claim(s, texts) for s in hunk.statements]
        return Resolution(tuple(decisions), tuple(account))


def _union_claim(statement: Numbered, texts: Sequence[str]) -> Claim:
    if statement.text in texts:
        return Claim(statement.number, "kept")
    best = max(texts, key=lambda text: contained(statement.text, text), default="")
    if best and contained(statement.text, best) >= _REWORDED:
        return Claim(statement.number, "superseded", into=best)
    return Claim(statement.number, "dropped", reason="both sides replaced it")
