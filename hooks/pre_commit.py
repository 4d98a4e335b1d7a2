"""Before a commit: are the experiences in the index what agents may read? Offline, and no model is asked."""

from __future__ import annotations

from typing import TYPE_CHECKING

from hooks import page_rules
from hooks.remark import Remark
from xpstore import layout
from xpstore.errors import FormatError
from xpstore.snapshot import SUFFIX

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence

    from hooks.changes import Change
    from hooks.staged import Index
    from xpstore.config import StoreConfig


def check(index: Index, changes: Sequence[Change]) -> list[Remark]:
    """Return what speaks against a commit of these changes, or should be known."""
    try:
        stores = index.stores(change.path for change in changes)
    except FormatError as error:
        is_ours = any(change.path.endswith(layout.CONFIG) for change in changes)
        return [Remark(error.message, error.hint, blocks=is_ours)]
    return [remark for prefix, config in stores.items() for remark in _store(index, prefix, config, changes)]


def _store(index: Index, prefix: str, config: StoreConfig, changes: Sequence[Change]) -> Iterator[Remark]:
    folder = layout.join(prefix, layout.EXPERIENCES)
    mine = [change for change in changes if change.path.startswith(f"{folder}/")]
    if any(change.path == folder and change.after for change in changes):
        yield Remark(f"{folder} is no folder any more", "experiences are files in it")
    if not mine:
        return
    there = index.entries([folder])
    pages = {name for path in there if (name := _page_name(path, folder))}
    created = {name for c in mine if c.after and not c.before and (name := _page_name(c.path, folder))}
    yield from page_rules.check_names(created, pages, folder)
    for change in mine:
        remarks = list(page_rules.check_change(index.repo, change, folder, config.limits))
        yield from remarks
        if change.after and _page_name(change.path, folder) and not any(r.blocks for r in remarks):
            text = index.repo.blob(change.after.id).decode("utf-8", "replace")
            yield from _secrets(change.path, text, page_rules.text_before(index.repo, change))
            yield from page_rules.broken_links(text, change.path, there)


def _secrets(where: str, text: str, before: str) -> Iterator[Remark]:
    """Yield the secrets and personal data that the commit would bring in, without repeating them."""
    from xpstore.redact import find_secrets  # noqa: PLC0415  # most commits change no page

    for found in find_secrets(text):
        if text[found.start : found.end] in before:
            continue
        line = text.count("\n", 0, found.start) + 1
        what = f"{where}, line {line}: {found.kind}"
        if found.personal:
            yield Remark(f"{what}, which may be a person's", "agents read it: leave it out", blocks=False)
        else:
            yield Remark(
                f"{what}: a secret",
                f"git keeps it for good: take it out of line {line}, `git add` the page again;"
                " revoke it if it is real",
            )


def _page_name(path: str, folder: str) -> str:
    inside = path.removeprefix(f"{folder}/")
    return inside.removesuffix(SUFFIX) if inside.endswith(SUFFIX) and "/" not in inside else ""
