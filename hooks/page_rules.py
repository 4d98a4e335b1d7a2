"""What may stand below `experiences/`, wherever a change comes from: an index, or a push."""

from __future__ import annotations

import re
from posixpath import join, normpath
from typing import TYPE_CHECKING

from hooks.remark import Remark
from xpstore import guards, page_check
from xpstore.document import Document
from xpstore.errors import XpError
from xpstore.snapshot import NO_FILE, SUFFIX

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator

    from hooks.changes import Change
    from xpstore.git import Repo
    from xpstore.settings import Limits

_LIMIT = "`limits` in xp.toml sets it; what is no experience belongs elsewhere"
_MARKER = re.compile(r" {0,3}(<{7}|>{7}|\|{7})(?:[ \t].*)?")
_LINK = re.compile(r"\]\(<?([^)\s<>#?:]+\.md)>?(?:#[^)]*)?\)")


def check_change(repo: Repo, change: Change, folder: str, limits: Limits) -> Iterator[Remark]:
    """Yield what is wrong with one changed path below a folder of experiences; a deletion is never wrong."""
    entry, where = change.after, change.path
    if entry is None:
        return
    inside = where.removeprefix(f"{folder}/")
    git_file = next((part for part in inside.split("/") if part.lower().startswith(".git")), "")
    if not entry.is_file:
        yield Remark(f"{where}: {NO_FILE}", "links and submodules lead out of the store: commit a file")
    elif git_file:
        yield Remark(f"{where}: {git_file} would tell git what to do", "keep it outside of the experiences")
    elif "/" not in inside and where.endswith(SUFFIX):
        yield from _page(repo, change, inside.removesuffix(SUFFIX), limits)
    elif repo.size(entry.id) > limits.file_bytes:
        yield Remark(f"{where}: {repo.size(entry.id)} bytes, the limit is {limits.file_bytes}", _LIMIT)


def check_names(created: Collection[str], existing: Collection[str], folder: str) -> Iterator[Remark]:
    """Yield the new pages that are the twin of another one; both are names without suffix."""
    for name in sorted(created):
        try:
            guards.check_twins([name], [other for other in existing if other != name])
        except XpError as error:
            yield Remark(f"{folder}: {error.message}", error.hint)


def broken_links(text: str, page: str, known: Collection[str]) -> Iterator[Remark]:
    """Yield the links of a page to pages that are not there; `known` are paths, as `page` is one."""
    folder = page.rpartition("/")[0]
    for target in dict.fromkeys(_LINK.findall(text)):
        if not target.startswith("/") and normpath(join(folder, target)) not in known:
            yield Remark(f"{page}: there is no {target}", "correct the link", blocks=False)


def text_before(repo: Repo, change: Change) -> str:
    """Return the text that a changed file replaces; "" for none."""
    was = change.before
    return repo.blob(was.id).decode("utf-8", "replace") if was and was.is_file else ""


def _page(repo: Repo, change: Change, name: str, limits: Limits) -> Iterator[Remark]:
    where, entry = change.path, change.after
    size = repo.size(entry.id) if entry else 0
    if entry is None or size > limits.file_bytes:  # not read first: it may be gigabytes
        yield Remark(f"{where}: {size} bytes, the limit is {limits.file_bytes}", _LIMIT)
        return
    before, data = text_before(repo, change), repo.blob(entry.id)
    try:
        page_check.check_page(name, data, where, limits, before)
    except XpError as error:
        yield Remark(page_check.located(error, where), error.hint)
        return
    text = data.decode()
    if left := sorted(_markers(text) - _markers(before)):
        yield Remark(
            f"{where}: conflict markers are left in it: {', '.join(left)}",
            "decide what stays, and take them out; in a fenced block they are a quotation",
        )
    for pair in set(page_check.opposites(text, where)) - set(_opposites(before, where)):
        yield Remark(f"{where}: {pair}", "agents read both: decide which one stays", blocks=False)
    said, was = _said_name(text, where), _said_name(before, where)
    if said not in {"", name, was}:
        yield Remark(f"{where}: its `name` is {said}", f"the file's name counts: say {name}", blocks=False)


def _markers(text: str) -> set[str]:
    """Return the kinds of conflict markers outside of fences; seven = alone may underline a heading."""
    found = (_MARKER.fullmatch(line) for line in page_check.unfenced(text))
    return {match[1] for match in found if match}


def _opposites(before: str, where: str) -> list[str]:
    try:
        return list(page_check.opposites(before, where))
    except XpError:
        return []


def _said_name(text: str, where: str) -> str:
    """Return the `name` of a page's front matter; "" for none, or where it cannot be read."""
    try:
        return str(Document.parse(text, where).front.get("name", ""))
    except XpError:
        return ""
