"""Are the experiences of a commit what the store would write? People's commits pass no guard."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xpstore import layout, polarity
from xpstore.document import Document
from xpstore.errors import InvalidNameError, LimitError, RefusedError, XpError
from xpstore.guards import check_text
from xpstore.names import check_name, fold
from xpstore.snapshot import NO_FILE, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xpstore.location import Location
    from xpstore.objects import Entry
    from xpstore.settings import Limits


_MARKERS = ("<<<<<<< ", "======= ", ">>>>>>> ")


@dataclass(frozen=True, slots=True)
class Pages:
    """What is wrong with the experiences of a commit, each with its path."""

    problems: list[str] = field(default_factory=list)
    """What no plan may write: names, links, invisible text; and files that cannot be read."""
    notes: list[str] = field(default_factory=list)
    """Pages over a limit of xp.toml, which may have been lowered since: they are not served. And pages that
    command opposite things."""


def check(loc: Location, commit: str) -> Pages:
    """Look at every experience of a commit."""
    found = Pages()
    here = loc.at(commit)
    root = here.in_tree(layout.EXPERIENCES)
    at = here.repo.entry(here.repo.commit(commit).tree, root)
    if at and not at.is_tree:
        found.problems.append(f"{root}: {'it is a file, not a folder' if at.is_file else NO_FILE}")
    twins: dict[str, str] = {}
    for entry in here.repo.children(here.repo.commit(commit).tree, root):
        if entry.name.endswith(SUFFIX) and not entry.is_tree:
            where = f"{root}/{entry.name.encode('utf-8', 'replace').decode()}"
            try:
                problem = _problem(here, entry, where, twins)
            except LimitError as error:
                found.notes.append(error.message)
            except XpError as error:
                found.problems.append(located(error, where))
            else:
                found.problems.extend([f"{where}: {problem}"] if problem else [])
                found.notes.extend([] if problem else _opposites(here, entry, where))
    return found


def check_page(name: str, data: bytes, where: str, limits: Limits, before: str = "") -> None:
    """Raise the typed error of the first thing in a file that no plan could have written.

    `before` is the text that it replaces: invisible text and markers that were there may stay.
    """
    if check_name(name) != name:
        raise InvalidNameError("the name is not NFC", hint="rename it to the NFC form of its name")
    try:
        text = data.decode()
    except UnicodeDecodeError as error:
        raise RefusedError("it is not UTF-8", hint="convert it first") from error
    check_text(before, text, where, limits)
    if has_conflict(text) and not has_conflict(before):
        raise RefusedError(
            "conflict markers are left in it",
            hint="decide what stays, and take them out; in a fenced block they are a quotation",
        )


def has_conflict(text: str) -> bool:
    """Return whether a merge was left undecided in a page: all three markers in their order, in no fence.

    A line of seven `=` alone may underline a heading.
    """
    if "<<<<<<< " not in text:
        return False
    seen = 0
    for line in unfenced(text):
        if (seen == 1 and line == "=======") or line.startswith(_MARKERS[seen]):
            seen += 1
        if seen == len(_MARKERS):
            return True
    return False


def opposites(text: str, where: str) -> Iterator[str]:
    """Yield, in words, the pairs of statements of a page that command opposite things."""
    statements = Document.parse(text, where).statements()
    for first, second in polarity.contradictions(s.key for s in statements):
        yield f"{first[:80]!r} and {second[:80]!r} command opposite things"


def _opposites(loc: Location, entry: Entry, where: str) -> list[str]:
    return [f"{where}: {pair}" for pair in opposites(loc.repo.blob(entry.id).decode(), where)]


def unfenced(text: str) -> Iterator[str]:
    """Yield the lines of a page that stand in no fenced block."""
    fence = ""
    for line in text.splitlines():
        if fence:
            fence = "" if line.startswith(fence) else fence
        elif line.startswith(("```", "~~~")):
            fence = line[:3]
        else:
            yield line


def located(error: XpError, where: str) -> str:
    """Return the error's message with the place in front, once."""
    return f"{where}: {error.message.removeprefix(where).lstrip(':, ')}"


def _problem(loc: Location, entry: Entry, where: str, twins: dict[str, str]) -> str:
    name = entry.name.removesuffix(SUFFIX)
    twin = twins.setdefault(fold(name), entry.name)
    if not entry.is_file:
        return NO_FILE
    if twin != entry.name:
        return f"it is the twin of {twin}"
    check_page(name, loc.repo.blob(entry.id), where, loc.config.limits)
    return ""
