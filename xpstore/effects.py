"""What plans did to the experiences: whole texts before and after, under the names of today."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from xpstore import evidence, frontmatter
from xpstore.document import Document
from xpstore.errors import DocumentError, FormatError, NotFoundError
from xpstore.hashing import blob_id
from xpstore.patchfile import read_patch

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from xpstore.events import Entry
    from xpstore.location import Location

NOTHING = blob_id(None)


@dataclass(frozen=True, slots=True)
class Effect:
    """What something did to one experience."""

    name: str
    """The name that it has now."""
    names: frozenset[str]
    """All names since."""
    before: str | None
    after: str | None

    def is_carried_on_by(self, later: Effect) -> bool:
        """Return whether a later effect gave a statement that this one wrote another text, and left it there.

        Figures are text as well: who gave a statement new ones stands behind it.
        """
        before, after = _parts(later.before), _parts(later.after)
        return any(key and key in after and before.get(key) != after[key] for key in self._written(later))

    def is_touched_by(self, later: Effect) -> bool:
        """Return whether a later effect changed, in any way, what this one wrote.

        That is: the page that it made or took away, a statement that it added, changed or removed, or front
        matter where it changed that.
        """
        if None in (self.before, self.after):
            return not self.names.isdisjoint(later.names)
        before, after = _parts(later.before), _parts(later.after)
        return any(before.get(key) != after.get(key) for key in self._written(later))

    def _written(self, later: Effect) -> set[str]:
        """Return what this changed on a page that both changed: keys of statements, "" for front matter."""
        if self.names.isdisjoint(later.names):
            return set()
        before, after = _parts(self.before), _parts(self.after)
        return {key for key in {*before, *after} if before.get(key) != after.get(key)}


def _parts(text: str | None) -> dict[str, str]:
    """Return the statements by key, and the front matter under a key that no statement has."""
    try:
        source, body = frontmatter.split(text or "")
    except DocumentError:
        source, body = None, text or ""
    return {s.key: s.text for s in Document.parse(f"\n{body}").statements()} | {"": source or ""}


def of_plans(loc: Location, entry: Entry, plans: Sequence[str]) -> Iterator[Effect]:
    """Yield what plans of a commit did, under the names of that time; all of it where they are all of them.

    Raises NotFoundError where one plan of a squash is asked for and its record is gone, FormatError for what
    is not UTF-8 or was altered.
    """
    if len(entry.stamps) > 1 and set(plans) < set(entry.plan_ids):
        for plan_id in plans:  # one plan of a squash: the commit's diff has those of the others too
            yield from _recorded(loc, plan_id)
        return
    for change in entry.changes:
        before, after = text_of(loc, change.before), text_of(loc, change.after)
        if change.old_name != change.name:
            yield _effect(change.old_name, before, None)
            before = None
        yield _effect(change.name, before, after)


def _recorded(loc: Location, plan_id: str) -> Iterator[Effect]:
    """Read a plan's own effect from its record and, where the blobs are gone, from its patches."""
    texts: dict[str, str | None] = {NOTHING: None}
    for name, data in evidence.patches(loc, plan_id).items():
        gradient = read_patch(data, name)
        for file in (gradient.before_file, gradient.after_file):
            if file:
                texts[blob_id(file.content)] = file.content
    found = False
    for record in evidence.records(loc, plan_id).values():
        items = record.get("items")
        for item in items if isinstance(items, list) else ():
            blobs = [str(item["base_blob"]), str(item["result_blob"])]
            missing = [b for b in blobs if b not in texts and not loc.repo.has(b)]
            if missing:
                raise NotFoundError(
                    f"the texts of plan {plan_id} are no longer here (blob {missing[0][:12]})",
                    hint="revert the squashed commit as a whole",
                )
            before, after = (texts[b] if b in texts else text_of(loc, b) for b in blobs)
            yield _effect(str(item["target_experience_name"]), before, after)
            found = True
        if found:
            return
    raise NotFoundError(f"there is no record of plan {plan_id}", hint="fetch the evidence branch")


def _effect(name: str, before: str | None, after: str | None) -> Effect:
    return Effect(name, frozenset({name}), before, after)


def followed(effect: Effect, later: Iterable[Entry]) -> Effect:
    """Follow the experience through the renames of later commits, oldest first."""
    for entry in later:
        for change in entry.changes:
            if change.kind == "R" and change.old_name == effect.name:
                effect = replace(effect, name=change.name, names=effect.names | {change.name})
                break
    return effect


def text_of(loc: Location, blob: str) -> str | None:
    """Return the text of a blob; None for no file. Raises FormatError for what is not UTF-8."""
    if blob in {"", NOTHING}:
        return None
    try:
        return loc.repo.blob(blob).decode()
    except UnicodeDecodeError as error:
        raise FormatError(f"blob {blob[:12]} is not UTF-8", hint="convert the file first") from error
