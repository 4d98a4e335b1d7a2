"""A page laid out from statements. What stood on it before keeps its bytes. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from xpstore.document import Document
from xpstore.errors import DocumentError
from xpstore.markdown import Section, Statement, render, usual_gap

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence

USUAL = ("Situation", "Approach", "Reflect")


def laid_out(page: Document, wanted: Mapping[str, Sequence[str]]) -> str:
    """Return the page with these statements, by section, in this order; the front matter stays.

    Sections with nothing left go; new ones stand where the usual order has them, else at the end. Sections of
    one name are filled as they were, what is new goes to the last one. Raises DocumentError where a text
    would not be read back as one statement.
    """
    left = {name: list(texts) for name, texts in wanted.items()}
    sections: list[Section] = []
    for number, section in enumerate(page.sections):
        texts = left.get(section.name, [])
        if any(later.name == section.name for later in page.sections[number + 1 :]):
            texts, left[section.name] = _own(section, texts)
        else:
            left.pop(section.name, None)
        if texts or not section.statements:
            sections.append(_filled(section, texts))
    for name, texts in left.items():
        if texts:
            _insert(sections, _new(name, texts, is_first=not sections and page.source is None))
    return _written(page, sections)


def _own(section: Section, texts: Sequence[str]) -> tuple[list[str], list[str]]:
    """Split texts into those up to the last that stands in the section, and the rest."""
    own = {s.text for s in section.statements}
    end = max((at + 1 for at, text in enumerate(texts) if text in own), default=0)
    return list(texts[:end]), list(texts[end:])


def _filled(section: Section, texts: Sequence[str]) -> Section:
    old = [s.text for s in section.statements]
    gaps: list[str] = []
    before = -1
    for at, text in enumerate(texts):
        place = next((n for n in range(before + 1, len(old)) if old[n] == text), None)
        if place is not None and place == before + 1 and (at == 0 or old[before] == texts[at - 1]):
            gaps.append(section.gaps[place])
        elif at == 0:
            gaps.append(section.gaps[0] if section.gaps else "\n")
        else:
            gaps.append(usual_gap(texts[at - 1], text))
        before = before if place is None else place
    statements = tuple(Statement(text, section.name) for text in texts)
    return Section(section.name, section.heading, section.lead, statements, tuple(gaps))


def _new(name: str, texts: Sequence[str], *, is_first: bool) -> Section:
    gaps = [("\n" if name else "") if at == 0 else usual_gap(texts[at - 1], t) for at, t in enumerate(texts)]
    statements = tuple(Statement(text, name) for text in texts)
    return Section(name, f"## {name}" if name else "", "" if is_first else "\n", statements, tuple(gaps))


def _insert(sections: list[Section], new: Section) -> None:
    if not new.name:
        sections.insert(0, new)
        return
    later = USUAL[USUAL.index(new.name) + 1 :] if new.name in USUAL else ()
    at = next((n for n, section in enumerate(sections) if section.name in later), len(sections))
    sections.insert(at, new)


def _written(page: Document, sections: Sequence[Section]) -> str:
    head = page.text[: len(page.text) - len(page.body)]
    body = render(sections) + page.tail
    if page.body and not page.body.endswith("\n"):
        body = body.removesuffix("\n")
    text = head + body.replace("\n", page.newline)
    found = [(s.section, s.text) for s in Document.parse(text).statements()]
    meant = [(s.section, s.text) for section in sections for s in section.statements]
    if found != meant:
        odd = next((text for place, text in meant if (place, text) not in found), "")
        raise DocumentError(f"this is not one statement where it stands: {odd[:80]!r}")
    return text
