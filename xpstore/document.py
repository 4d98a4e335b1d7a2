"""An experience file: front matter and Markdown. Pure; what is not edited keeps its bytes.

A file with CRLF is read like one with LF; a missing final line break is legal.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cached_property
from itertools import pairwise, zip_longest
from typing import TYPE_CHECKING

from xpstore import frontmatter
from xpstore.errors import DocumentError
from xpstore.markdown import Section, Statement, parse_body, render, usual_gap

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

__all__ = ["Document", "Section", "Statement", "canonical"]


@dataclass(frozen=True)
class Document:
    """A parsed file. `front` is read at once, the sections when first asked for."""

    text: str
    front: Mapping[str, object] = field(compare=False)
    source: str | None = field(compare=False)
    """The YAML between the `---` lines; None where there is no front matter."""
    body: str = field(compare=False)
    """What follows the front matter, as in the file."""

    @classmethod
    def parse(cls, text: str, where: str = "") -> Document:
        """Read any Markdown. Raises DocumentError where the front matter does not parse."""
        source, body = frontmatter.split(text, where)
        return cls(text, {} if source is None else frontmatter.load(source, where), source, body)

    @classmethod
    def build(cls, fields: Mapping[str, object], sections: Sequence[tuple[str, Sequence[str]]]) -> Document:
        """Return the canonical file of these fields and statements (Markdown, list items with bullet).

        Raises DocumentError for a statement that would not be read back as this one statement.
        """
        parts: list[Section] = []
        for name, texts in sections:
            statements = tuple(Statement(text, name) for text in texts)
            gaps = [usual_gap(a.text, b.text) for a, b in pairwise(statements)]
            lead = "\n" if parts or fields else ""
            first = ("\n" if name else lead) if statements else ""
            heading = f"## {name}" if name else ""
            parts.append(
                Section(name, heading, lead if name else "", statements, tuple([first, *gaps][: len(texts)]))
            )
        head = f"---\n{frontmatter.dump(fields)}---\n" if fields else ""
        result = cls.parse(canonical(head + render(parts)))
        for wanted, found in zip_longest(_stated(parts), _stated(result.sections)):
            if wanted != found:
                raise DocumentError(
                    f"this is not one statement of Markdown: {(wanted or ('', ''))[1][:80]!r}",
                    hint="a statement is one list item, paragraph or fenced block, without headings",
                )
        return result

    @cached_property
    def newline(self) -> str:
        """The line break of the file: CRLF where most body lines have it."""
        crlf = self.text.count("\r\n")
        return "\r\n" if crlf * 2 > self.text.count("\n") else "\n"

    @cached_property
    def sections(self) -> tuple[Section, ...]:
        """The sections in file order; the first is "" where text stands above the first heading."""
        return self._layout[0]

    @property
    def tail(self) -> str:
        """The blank lines at the end of the file."""
        return self._layout[1]

    @cached_property
    def _layout(self) -> tuple[tuple[Section, ...], str]:
        return parse_body(_lines(self.body))

    def statements(self, section: str | None = None) -> tuple[Statement, ...]:
        """Return the statements of the file, or of all sections with this name."""
        return tuple(s for part in self.sections if section in (None, part.name) for s in part.statements)

    def with_fields(self, **updates: object) -> Document:
        """Return the document with these front matter keys set, or removed (None); other bytes stay."""
        found = frontmatter.locate(self.text)
        if found is None:
            head = frontmatter.splice("", updates)
            gap = "" if not self.body or self.body.startswith(("\n", "\r\n")) else "\n"
            block = f"---\n{head}---\n{gap}".replace("\n", self.newline) if head else ""
            return Document.parse(block + self.text)
        start, end, _ = found
        return Document.parse(
            self.text[:start] + frontmatter.splice(self.text[start:end], updates) + self.text[end:]
        )


def canonical(text: str) -> str:
    """Return what the store writes: LF, one final line break, no byte order mark, no lone surrogate."""
    text = re.sub(r"\r+\n", "\n", text.removeprefix("\ufeff")).rstrip("\r\n")
    return text.encode("utf-8", "replace").decode() + "\n" if text else ""


def _stated(sections: Iterable[Section]) -> Iterator[tuple[str, str]]:
    for section in sections:
        if section.heading:
            yield section.name, ""
        yield from ((s.section, s.text) for s in section.statements)


def _lines(body: str) -> list[str]:
    lines = body.split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]
