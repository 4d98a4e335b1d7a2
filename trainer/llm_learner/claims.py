"""What a model says became of numbered statements, and how statements are shown to it. Pure.

A model never writes a page: it names numbers, and gives new wordings one by one, each with a number of its
own.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Literal

from pydantic import Field

from trainer.llm_learner.wording import disguises, markup
from xpstore.conflict import statements_in
from xpstore.model import Frozen
from xpstore.names import invisible_spans
from xpstore.resolver import Claim

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Mapping

VERSION = "1"
"""Of the strategies that ask a model; it changes with what they do."""
MOST = 9_999
"""The highest number of a statement or a wording."""
_ODD = re.compile(r"[^A-Za-z0-9._/-]+")


class Fate(Frozen):
    """What became of one statement."""

    number: int = Field(ge=1, le=MOST)
    fate: Literal["kept", "merged", "superseded", "dropped"]
    into: int = Field(default=0, ge=0, le=MOST)
    """The number of what says it (merged) or replaces it (superseded): a kept statement, or a wording."""
    reason: str = Field(default="", max_length=240)

    def claim(self, texts: Mapping[int, str]) -> Claim:
        """Return it as the store's checks read it."""
        into = texts.get(self.into, "") if self.fate in {"merged", "superseded"} else ""
        return Claim(self.number, self.fate, into=into, reason=self.reason)


class Wording(Frozen):
    """A new statement: one list item or paragraph of Markdown."""

    number: int = Field(ge=1, le=MOST)
    """Higher than that of any statement that was shown."""
    text: str = Field(max_length=2_000)


def learner_name(model: str) -> str:
    """Return who learned or decided, for the record: `llm/<version>+<model>`."""
    return f"llm/{VERSION}+{_ODD.sub('-', model)}"


def shown(number: int, about: str, text: str) -> str:
    """Return a statement as a model is shown it; no line of its text can pass for another number."""
    return "\n".join([f"[{number}] {about}", *(f"| {line}" for line in text.rstrip("\n").split("\n"))])


def as_item(text: str, like: str) -> str:
    """Return a wording with the bullet that the statements have which it stands for."""
    text = text.strip("\n")
    bullet = re.match(r"(?:[-*+]|\d{1,9}[.)])[ \t]+", like)
    has_one = re.match(r"[ \t]*(?:[-*+]|\d{1,9}[.)])(?:[ \t]|$)", text)
    return text if bullet is None or has_one else bullet[0] + text


def is_plain(text: str, mark: str) -> bool:
    """Whether a text is one line that shows all it has, without the mark around quoted data."""
    return "\n" not in text and mark not in text and not invisible_spans(text)


def wording_problems(text: str, mark: str, sources: Collection[str]) -> Iterator[str]:
    """Yield why a text is not one statement that may stand on a page for these sources."""
    if mark in text:
        yield "it has the mark in it that stands around quoted text"
    if invisible_spans(text):
        yield "it has invisible characters in it"
    if not any(any(disguises(source)) for source in sources):
        yield from disguises(text)
    if new := sorted(markup(text).difference(*map(markup, sources))):
        yield f"it has {', '.join(map(repr, new))} in it, which nothing that it stands for has"
    found = statements_in(text.split("\n"))
    if found is None or [s.text for s in found] != [text]:
        yield "it is not one list item or paragraph; it has no headings, and no second item"
