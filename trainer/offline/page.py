"""An experience file with the learner's statements among people's. Only the learner's are ever changed."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from trainer.offline.grammar import ORDER, parse_lesson
from trainer.offline.grammar.wanted import GENERAL
from trainer.offline.masking import words
from xpstore.document import Document, Section, Statement
from xpstore.errors import InvalidNameError
from xpstore.markdown import render, usual_gap
from xpstore.names import MAX_NAME, check_name

if TYPE_CHECKING:
    from collections.abc import Iterable

SECTIONS = ("Situation", "Approach", "Reflect")


@dataclass(frozen=True, slots=True)
class Entry:
    """A statement that the learner wants in a file."""

    section: str
    text: str
    """The list item, with its evidence line."""

    @property
    def key(self) -> str:
        """The identity of the statement."""
        return Statement(self.text, self.section).key

    @property
    def rank(self) -> tuple[int, int, str]:
        """The place in the file: section, family, text; never figures."""
        lesson = parse_lesson(self.key)
        return SECTIONS.index(self.section), ORDER[lesson.family] if lesson else -1, self.key


def page_name(tool: str) -> str:
    """Return the experience of a tool, such as `create-order` for `create_order` or `createOrder`."""
    name = "-".join(words(tool))[:MAX_NAME].strip("-")
    try:
        return check_name(name)
    except InvalidNameError:
        return "tools"


def situation(tool: str) -> Entry:
    """Return the statement that says when a page applies. It has no figures and never changes."""
    if tool == GENERAL:
        return Entry("Situation", "- The task asks for a change, whatever it is.")
    return Entry("Situation", f"- The task needs `{tool}`, or seems to.")


def description(tool: str) -> str:
    """Return when to read the page. It has no figures and never changes."""
    if tool == GENERAL:
        return "What to see to before a task ends. Read it for every task."
    return f"When to call `{tool}`, when not to, and what to do first. Read it before."


def new_page(tool: str, entries: Iterable[Entry]) -> str:
    """Return a new file with these entries."""
    chosen = sorted({e.key: e for e in (situation(tool), *entries)}.values(), key=lambda e: e.rank)
    front: dict[str, object] = {
        "name": page_name(tool),
        "description": description(tool),
        "status": "production",
    }
    if tool == GENERAL:
        front["always"] = True  # `xp context` gives such a page for every task
    return Document.build(
        front,
        [(name, [e.text for e in chosen if e.section == name]) for name in SECTIONS if _has(chosen, name)],
    ).text


def with_entry(text: str, entry: Entry) -> str:
    """Return the file with this entry, in its place; one with the same key is replaced where it stands."""
    document = Document.parse(text)
    for number, section in enumerate(document.sections):
        for at, old in enumerate(section.statements):
            if old.key == entry.key and section.name == entry.section:
                changed = (
                    *section.statements[:at],
                    Statement(entry.text, section.name),
                    *section.statements[at + 1 :],
                )
                return _rebuilt(document, number, replace(section, statements=changed))
    for number, section in enumerate(document.sections):
        if section.name == entry.section:
            return _rebuilt(document, number, _inserted(section, entry))
    return _with_section(document, entry)


def without(text: str, section_name: str, key: str) -> str:
    """Return the file without the statement of this key."""
    document = Document.parse(text)
    for number, section in enumerate(document.sections):
        for at, old in enumerate(section.statements):
            if old.key == key and section.name == section_name:
                gaps = [*section.gaps[:at], *section.gaps[at + 1 :]]
                if at == 0 and gaps:
                    gaps[0] = section.gaps[0]
                rest = (*section.statements[:at], *section.statements[at + 1 :])
                return _rebuilt(document, number, replace(section, statements=rest, gaps=tuple(gaps)))
    return text


def replaced(text: str, section_name: str, key: str, statement: str) -> str:
    """Return the file with this list item in the place of the statement of this key."""
    document = Document.parse(text)
    for number, section in enumerate(document.sections):
        for at, old in enumerate(section.statements):
            if old.key == key and section.name == section_name:
                new = Statement(statement, section.name)
                statements = (*section.statements[:at], new, *section.statements[at + 1 :])
                return _rebuilt(document, number, replace(section, statements=statements))
    return text


def appended(text: str, entry: Entry) -> str:
    """Return the file with this entry as the last of its section."""
    document = Document.parse(text)
    for number, section in enumerate(document.sections):
        if section.name == entry.section:
            last = section.statements[-1].text if section.statements else ""
            gap = usual_gap(last, entry.text) if section.statements else "\n"
            longer = replace(
                section,
                statements=(*section.statements, Statement(entry.text, section.name)),
                gaps=(*section.gaps, gap),
            )
            return _rebuilt(document, number, longer)
    return _with_section(document, entry)


def _has(entries: Iterable[Entry], section: str) -> bool:
    return any(e.section == section for e in entries)


def _inserted(section: Section, entry: Entry) -> Section:
    """After the last statement of the grammar that ranks lower, else before all that rank higher."""
    at = 0
    for position, old in enumerate(section.statements):
        known = Entry(entry.section, old.text)
        if parse_lesson(known.key) is not None and known.rank < entry.rank:
            at = position + 1
    new = Statement(entry.text, section.name)
    statements = (*section.statements[:at], new, *section.statements[at:])
    first = section.gaps[0] if section.gaps else "\n"
    gaps = [first if n == 0 else "" for n in range(len(statements))]
    for n, gap in enumerate(section.gaps):
        gaps[n if n < at else n + 1] = gap
    gaps[at] = first if at == 0 else usual_gap(statements[at - 1].text, new.text)
    if at + 1 < len(statements) and at == 0:
        gaps[1] = usual_gap(new.text, statements[1].text)
    return replace(section, statements=statements, gaps=tuple(gaps))


def _with_section(document: Document, entry: Entry) -> str:
    """Add a section: before the first of `SECTIONS` that comes after it, else at the end."""
    later = SECTIONS[SECTIONS.index(entry.section) + 1 :]
    sections = list(document.sections)
    at = next((n for n, s in enumerate(sections) if s.name in later), len(sections))
    lead = "\n" if sections or document.front else ""
    new = Section(
        entry.section, f"## {entry.section}", lead, (Statement(entry.text, entry.section),), ("\n",)
    )
    if at < len(sections) and not sections[at].lead:
        sections[at] = replace(sections[at], lead="\n")
    return _text(document, [*sections[:at], new, *sections[at:]])


def _rebuilt(document: Document, number: int, section: Section) -> str:
    sections = list(document.sections)
    sections[number] = section
    return _text(document, sections)


def _text(document: Document, sections: list[Section]) -> str:
    """Return the file with these sections; the front matter and the line breaks of the file stay."""
    front = document.text[: len(document.text) - len(document.body)]
    body = (render(sections) + document.tail).replace("\n", document.newline)
    return front + body


def refreshed(old: Statement, entry: Entry) -> str:
    """Return a statement with the figures of `entry`; what people wrote below it stays."""
    lines = entry.text.split("\n")
    body = old.body.split("\n")
    if len(body) == 1:
        return entry.text
    figures = [line for line in lines if line.lstrip().startswith("*Support")]
    at = next((n for n, line in enumerate(old.text.split("\n")) if line in old.evidence), 1)
    return "\n".join([*body[:at], *figures, *body[at:]])
