"""Files of other programs as the source of a new store: what `xp init --from` reads besides a store's own.

    a folder with <name>/SKILL.md        Agent Skills; a folder with a SKILL.md itself is one skill
    a folder of *.md with MEMORY_FIELDS  OpenViking's experiences (the folder, or the one above it)
    a Markdown file                      CLAUDE.md, AGENTS.md: the pages of its blocks; the rest is one page
    a project's folder                   its CLAUDE.md and AGENTS.md, and the skills in .claude/ and .agents/

The first of these that fits is read. In a project nothing else is looked at. All of it is read and checked
before anything is made. Links are refused; what has no place is told.
"""

from __future__ import annotations

import os
import re
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xpstore import guards, layout
from xpstore.config import parse_template
from xpstore.document import Document
from xpstore.errors import LimitError, UsageError, XpError
from xpstore.exchange import agents_file, openviking, skills
from xpstore.exchange.page import Page
from xpstore.names import MAX_NAME
from xpstore.page_check import check_page, located
from xpstore.settings import Limits
from xpstore.snapshot import SUFFIX
from xpstore.source import Source, listing, read_source, read_text

if TYPE_CHECKING:
    from collections.abc import Iterator
    from pathlib import Path

_NOT_IN_NAME = re.compile(r"[^\w-]+")
PROJECT_FILES = ("CLAUDE.md", ".claude/CLAUDE.md", "AGENTS.md")
PROJECT_SKILLS = (".claude/skills", ".agents/skills", "skills")
_TITLE = re.compile(r"# +(.*\S)")
_SPLIT = "no page is that long: split it into files of their own first"


@dataclass(slots=True)
class _Found:
    """Pages by name, and what of their files has no place."""

    pages: dict[str, str] = field(default_factory=dict)
    left_out: list[str] = field(default_factory=list)

    def add(self, page: Page) -> None:
        """Take a page. Raises as `check_page`, and UsageError for a name that another page has already."""
        text = page.text()
        check_page(page.name, text.encode(), "", Limits())
        if self.pages.setdefault(page.name, text) != text:
            raise UsageError(f"there are two pages called {page.name!r}", hint="rename one of them")


def read_any(path: Path) -> Source:
    """Read a folder of a store's files, or files of another program; see the module's docstring.

    Raises a UsageError (FormatError, LimitError, InvalidNameError, …) or RefusedError that names the first
    file that cannot be a page.
    """
    if path.is_file():
        found = _Found()
        _agents_file(path, found)
        return _source(path, found)
    there = listing(path)
    if layout.CONFIG in there:
        return read_source(path)
    if _is_skills(path):
        found = _Found()
        _skills(path, found)
        return _source(path, found)
    for folder in (path, path / layout.EXPERIENCES):
        if folder.is_dir() and _is_openviking(folder):
            return _source(folder, _openviking(folder))
    if not {layout.EXPERIENCES, layout.CASES} & {*there} and (found := _project(path)).pages:
        return _source(path, found)
    return read_source(path)


def _source(path: Path, found: _Found) -> Source:
    if not found.pages:
        raise UsageError(f"{path} has nothing that can be an experience", hint="see xp init --help")
    guards.check_twins(list(found.pages), list(found.pages))
    files = {f"{layout.EXPERIENCES}/{name}{SUFFIX}": text.encode() for name, text in found.pages.items()}
    return Source(parse_template("", ""), "", files, tuple(found.left_out))


@contextmanager
def _at(file: Path) -> Iterator[None]:
    """Name the file in what goes wrong with it."""
    try:
        yield
    except XpError as error:
        hint = _SPLIT if isinstance(error, LimitError) else error.hint
        raise type(error)(located(error, str(file)), hint=hint) from error


def _is_skills(path: Path) -> bool:
    there = listing(path)
    return skills.FILE in there or any(os.path.lexists(path / name / skills.FILE) for name in there)


def _project(path: Path) -> _Found:
    """Return the pages of a project: its files for agents, then its skills. A link to a file is told."""
    found = _Found()
    for name in PROJECT_FILES:
        file = path / name
        if file.is_symlink():  # often AGENTS.md is CLAUDE.md
            found.left_out.append(f"{name}: a symbolic link")
        elif file.is_file():
            _agents_file(file, found)
    for name in PROJECT_SKILLS:
        if (path / name).is_dir() and _is_skills(path / name):
            _skills(path / name, found)
    return found


def _skills(path: Path, found: _Found) -> None:
    there = listing(path)
    for folder in [path] if skills.FILE in there else [path / name for name in there]:
        inside = listing(folder) if folder.is_dir() else []
        if skills.FILE not in inside:
            found.left_out.append(folder.name)
            continue
        file = folder / skills.FILE
        with _at(file):
            found.add(skills.read(read_text(file), folder.name, str(file)))
        found.left_out += [f"{folder.name}/{name}" for name in inside if name != skills.FILE]


def _is_openviking(folder: Path) -> bool:
    return any(_has_fields(folder / name) for name in listing(folder) if name.endswith(SUFFIX))


def _has_fields(file: Path) -> bool:
    """Say whether a file is one of OpenViking's; what cannot be read is told by whoever reads the folder."""
    try:
        return openviking.has_fields(read_text(file))
    except XpError:
        return False


def _openviking(folder: Path) -> _Found:
    found = _Found()
    for name in listing(folder):
        file = folder / name
        if not name.endswith(SUFFIX) or name.startswith(".") or not file.is_file():
            found.left_out.append(name)  # its summaries, and folders
            continue
        with _at(file):
            made = openviking.read(read_text(file), name.removesuffix(SUFFIX))
            if made.kind != openviking.KIND:
                found.left_out.append(f"{name}: its memory_type is {made.kind[:40]!r}")
                continue
            found.add(made.page)
        found.left_out += [f"{name}: {what}" for what in made.left_out]
    return found


def _agents_file(file: Path, found: _Found) -> None:
    """Take the pages of a file's blocks, and what stands around them as one page that is always read.

    What stands around them is no page where one of the blocks has it: the file was a page's source before.
    """
    with _at(file):
        text = read_text(file).removeprefix("\ufeff").replace("\r\n", "\n")
        rest, at = "", 0
        for block in agents_file.blocks(text, file.name):
            rest += text[at : block.start]
            at = block.end
            for page in agents_file.read(block, file.name):
                found.add(page)
        rest = f"{rest}{text[at:]}".strip("\n")
        title = _TITLE.match(rest)
        description = title[1] if title else f"What {file.name} says"
        near = _NOT_IN_NAME.sub("-", file.name.lower()).strip("-")[: MAX_NAME - 3].strip("-") or "notes"
        names = (near, *(f"{near}-{number}" for number in range(2, 100)))
        known = {
            name: Document.parse(found.pages[name]).body.strip("\n") for name in names if name in found.pages
        }
        if rest.strip() and rest not in known.values():
            name = next(name for name in names if name not in known)
            found.add(Page(name, {"name": name, "description": description[:1000], "always": True}, rest))
