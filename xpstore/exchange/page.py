"""A page between two formats: its name, front matter and body."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING, cast

from xpstore import frontmatter
from xpstore.document import Document, canonical
from xpstore.names import without_invisible

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from xpstore.experience import Experience

OWN = ("name", "description", "status")
"""Front matter that has a meaning of its own; the rest is free."""


@dataclass(frozen=True, slots=True)
class Page:
    """An experience as other programs are given it."""

    name: str
    front: Mapping[str, JsonValue]
    body: str
    """Markdown with LF, without blank lines at either end."""

    @classmethod
    def of(cls, experience: Experience, *, figures: bool) -> Page:
        """Return an experience without what a reviewer cannot see. Raises DocumentError.

        Figures below statements (support, intervals) are for reviewers; agents are spared them unless
        `figures`.
        """
        document = experience.document
        dropped = set() if figures else {line for s in document.statements() for line in s.evidence}
        lines = re.sub("\r+\n", "\n", document.body.removeprefix("\ufeff")).split("\n")
        body = without_invisible("\n".join(line for line in lines if line not in dropped))
        return cls(experience.name, cast("Mapping[str, JsonValue]", _shown(document.front)), body.strip("\n"))

    @property
    def description(self) -> str:
        """When to read it, in one line; where the page does not say so, its first statement."""
        said = self.front.get("description")
        if isinstance(said, str) and said.strip():
            return " ".join(said.split())
        statements = Document.parse(self.body).statements()
        return statements[0].key if statements else self.name

    @property
    def status(self) -> str:
        """The lifecycle state; production where the page has none."""
        return str(self.front.get("status", "production"))

    @property
    def free(self) -> dict[str, JsonValue]:
        """Front matter without what has a meaning of its own."""
        return {key: value for key, value in self.front.items() if key not in OWN}

    def text(self) -> str:
        """Return the file of a store. Raises DocumentError for front matter that no file can hold."""
        return canonical(f"---\n{frontmatter.dump({**self.front, 'name': self.name})}---\n\n{self.body}\n")


def _shown(value: object) -> object:
    """Return a value of front matter without what a reviewer cannot see."""
    if isinstance(value, dict):
        return {without_invisible(key): _shown(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_shown(item) for item in value]
    return without_invisible(value.removeprefix("\ufeff")) if isinstance(value, str) else value
