"""Markdown as sections of statements, and back to the same text.

A statement is a top-level list item with what is indented below it, a paragraph, or a fenced block.
Sections begin at `## X` headings (or `X` underlined with `---`); text above the first is section "".
Lines end at line feeds only: form feeds and U+2028 are text.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

_H2 = re.compile(r" {0,3}##(?!#)(?:[ \t]+(.*?))?(?:[ \t]+#+)?[ \t]*")
_HEADING = re.compile(r" {0,3}#{1,6}(?:[ \t]|$)")
_UNDERLINE = re.compile(r" {0,3}-{3,}[ \t]*")
_RULE = re.compile(r" {0,3}([-*_])[ \t]*(?:\1[ \t]*){2,}")
_ITEM = re.compile(r"([ \t]*)(?:[-*+]|\d{1,9}[.)])(?:[ \t]+|$)")
_FENCE = re.compile(r"[ \t]*(`{3,}(?=[^`]*$)|~{3,})")
_EVIDENCE = re.compile(r"[ \t]+\*(?:Support|Left out)")
_BLANK = re.compile(r"[ \t\r]*")


def is_figure(line: str) -> bool:
    """Say whether a line of a statement holds figures: an indented `*Support…` or `*Left out…`."""
    return _EVIDENCE.match(line) is not None


@dataclass(frozen=True, slots=True)
class Statement:
    """One lesson as it stands in the file: Markdown with LF, no line break at its end."""

    text: str
    section: str

    @property
    def key(self) -> str:
        """The identity: first paragraph without bullet and evidence lines, whitespace folded, NFC."""
        return statement_key(self.text)

    @property
    def evidence(self) -> tuple[str, ...]:
        """The lines with figures: indented `*Support…` and `*Left out…`."""
        return tuple(line for line in self.text.split("\n") if is_figure(line))

    @property
    def body(self) -> str:
        """The text without the evidence lines."""
        return "\n".join(line for line in self.text.split("\n") if not is_figure(line))


@dataclass(frozen=True, slots=True)
class Section:
    """A heading and the statements below it; `lead` and `gaps` are the blank lines before each."""

    name: str
    heading: str
    """The heading's own lines; empty for the text above the first heading."""
    lead: str
    statements: tuple[Statement, ...]
    gaps: tuple[str, ...]


def statement_key(text: str) -> str:
    """Return the identity of a statement's Markdown; see `Statement.key`."""
    lines = text.split("\n")
    if _FENCE.match(lines[0]) or lines[0].lstrip().startswith("<!--"):
        return _folded(lines)
    item = _ITEM.match(lines[0])
    first = [lines[0][item.end() :] if item else lines[0]]
    if _FENCE.match(first[0]):
        return _folded([*first, *lines[1:]])
    for line in lines[1:]:
        if _BLANK.fullmatch(line) or _ITEM.match(line) or _FENCE.match(line) or is_figure(line):
            break
        first.append(line)
    return _folded(first) or _folded(lines)


def usual_gap(before: str, after: str) -> str:
    """Return the blank lines that the store puts between two statements: none between list items."""
    return "" if _ITEM.match(before) and _ITEM.match(after) else "\n"


def render(sections: Iterable[Section]) -> str:
    """Return the body of these sections with LF; the exact inverse of reading them, but for the end."""
    parts: list[str] = []
    for section in sections:
        if section.heading:
            parts += [section.lead, section.heading, "\n"]
        for gap, statement in zip(section.gaps, section.statements, strict=True):
            parts += [gap, statement.text, "\n"]
    return "".join(parts)


def _folded(lines: Iterable[str]) -> str:
    return unicodedata.normalize("NFC", " ".join(" ".join(lines).split()))


def parse_body(lines: list[str]) -> tuple[tuple[Section, ...], str]:
    """Return the sections of these lines (without line breaks) and the blank lines at the end."""
    sections: list[Section] = []
    name, heading, lead = "", "", ""
    statements: list[Statement] = []
    gaps: list[str] = []
    gap_start = at = 0

    def close() -> None:
        if heading or statements:
            sections.append(Section(name, heading, lead, tuple(statements), tuple(gaps)))

    while at < len(lines):
        if _BLANK.fullmatch(lines[at]):
            at += 1
            continue
        gap = "".join(line + "\n" for line in lines[gap_start:at])
        title, end = _section_heading(lines, at)
        if title is not None:
            close()
            name, heading, lead = title, "\n".join(lines[at:end]), gap
            statements, gaps = [], []
        else:
            end = _block_end(lines, at)
            statements.append(Statement("\n".join(lines[at:end]), name))
            gaps.append(gap)
        gap_start = at = end
    close()
    return tuple(sections), "".join(line + "\n" for line in lines[gap_start:])


def _section_heading(lines: list[str], at: int) -> tuple[str | None, int]:
    match = _H2.fullmatch(lines[at])
    if match:
        return _folded([match[1] or ""]), at + 1
    is_prose = not _starts_block(lines[at]) and not lines[at].startswith(("    ", "\t", "<!--", ">", "|"))
    if is_prose and at + 1 < len(lines) and _UNDERLINE.fullmatch(lines[at + 1]):
        return _folded([lines[at]]), at + 2
    return None, at


def _starts_block(line: str) -> bool:
    if line[:4] == "    ":
        return False
    return bool(_HEADING.match(line) or _FENCE.match(line) or _ITEM.match(line) or _RULE.fullmatch(line))


def _block_end(lines: list[str], at: int) -> int:
    """Return the line after the block that starts here."""
    line = lines[at]
    fence = _FENCE.match(line)
    if fence and not line.startswith("    "):
        return _fence_end(lines, at, fence[1])
    if line.startswith("<!--"):
        return next((i + 1 for i in range(at, len(lines)) if "-->" in lines[i]), len(lines))
    if _HEADING.match(line) or _RULE.fullmatch(line):
        return at + 1
    item = _ITEM.match(line)
    if item and not line.startswith("    "):
        return _item_end(lines, at, len(item[1].expandtabs(4)))
    end = at + 1
    while end < len(lines) and not _BLANK.fullmatch(lines[end]):
        is_underline = _UNDERLINE.fullmatch(lines[end])
        if _starts_block(lines[end]) and not is_underline:
            break
        end += 1
        if is_underline:
            break
    return end


def _fence_end(lines: list[str], at: int, mark: str) -> int:
    closing = re.compile(rf" {{0,3}}{re.escape(mark[0])}{{{len(mark)},}}[ \t]*")
    return next((i + 1 for i in range(at + 1, len(lines)) if closing.fullmatch(lines[i])), len(lines))


def _item_end(lines: list[str], at: int, indent: int) -> int:
    """Return where an item ends: it owns what is indented below it and the rest of its first paragraph."""
    end = at + 1
    after_blank = False
    for i in range(at + 1, len(lines)):
        line = lines[i]
        if _BLANK.fullmatch(line):
            after_blank = True
            continue
        expanded = line.expandtabs(4)
        is_inside = len(expanded) - len(expanded.lstrip(" ")) >= indent + 2
        if not is_inside and (after_blank or _starts_block(line) or line.startswith((">", "<!--"))):
            break
        end, after_blank = i + 1, False
    return end
