"""The experiences to look something up in: those at a ref, or a set in memory.

Those at a ref are indexed once, by name and blob id: the index stays in the git directory, and a new process
adds what is new and takes out what is gone. Only what is found is read.
"""

from __future__ import annotations

import json
from contextlib import suppress
from dataclasses import asdict
from typing import TYPE_CHECKING

from xpstore import derived, snapshot
from xpstore.errors import DocumentError
from xpstore.experience import SERVED, Experience
from xpstore.markdown import is_figure
from xpstore.search import DamagedIndexError, Document, Index

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator
    from typing import Self

    from xpstore.experience import ExperienceSet
    from xpstore.location import Location

FORMAT = 3
FEW = 64
"""So many pages are indexed as fast as an index is opened: they leave none."""
_GIVEN, _ALWAYS, _KEPT, _BAD = "given", "always", "kept", "!"  # tags: to agents, to all of them, to none


class PageIndex:
    """Experiences and their index. To be used in a `with` block."""

    def __init__(
        self,
        commit: str,
        keys: dict[str, str],
        skipped: dict[str, str],
        read: Callable[[str], Experience | str],
        opened: Callable[[PageIndex], Index | None],
    ) -> None:
        self.commit = commit
        """Of the ref; empty for a set without one."""
        self._keys = keys
        self._skipped = skipped
        self._read = read
        self._index = opened(self) or self.indexed()

    @classmethod
    def at(cls, loc: Location, ref: str) -> Self:
        """Return the experiences at a branch, tag or commit. Raises NotFoundError."""
        commit = loc.resolve(ref)
        here = loc.at(commit)
        blobs, skipped = snapshot.names(here, commit)
        keys = {f"{name} {blob}": name for name, blob in blobs.items()}
        shelf = _Shelf(here)
        return cls(
            commit,
            keys,
            {name: str(why) for name, why in skipped.items()},
            lambda key: snapshot.page(here, keys[key], key[-40:]),
            shelf.opened,
        )

    @classmethod
    def of(cls, experiences: ExperienceSet) -> Self:
        """Return the experiences of a set, indexed in memory."""
        skipped = experiences.metadata.get("skipped")
        return cls(
            experiences.snapshot_id,
            {name: name for name in experiences.by_name},
            {name: str(why) for name, why in skipped.items()} if isinstance(skipped, dict) else {},
            experiences.by_name.__getitem__,
            lambda _: None,
        )

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *args: object) -> None:
        self._index.__exit__(*args)

    def __len__(self) -> int:
        return len(self._keys)

    @property
    def keys(self) -> frozenset[str]:
        """What the index should hold."""
        return frozenset(self._keys)

    @property
    def unreadable(self) -> dict[str, str]:
        """Experience or file → why it is none that can be read: one bad file hides no other."""
        bad = (tag.removeprefix(_BAD).partition("\n") for tag in self._index.tagged(_BAD).values())
        return self._skipped | {name: why for name, _, why in bad}

    def search(self, query: str, limit: int, *, given: bool = False) -> list[tuple[Experience, float]]:
        """Return the experiences that fit a query and their scores, best first.

        With `given` only those that agents are given: status production and staging.
        """
        tags = (_GIVEN, _ALWAYS) if given else ()
        try:
            hits = self._index.rank(query, limit, tags)
        except DamagedIndexError:
            self._index.close()
            self._index = self.indexed()
            hits = self._index.rank(query, limit, tags)
        return [(self._experience(hit.name), hit.score) for hit in hits]

    def always(self) -> list[Experience]:
        """Return those that are given for every task, by name."""
        return [self._experience(key) for key in self._index.tagged(_ALWAYS)]

    def indexed(self) -> Index:
        """Return a new index of all of them, in memory."""
        return Index.of(self.documents(self._keys))

    def documents(self, keys: Iterable[str]) -> Iterator[Document]:
        """Yield what the index is to hold for these keys."""
        for key in keys:
            yield _document(key, self._keys[key], self._read(key))

    def _experience(self, key: str) -> Experience:
        found = self._read(key)
        if isinstance(found, str):
            raise DamagedIndexError(found)
        return found


class _Shelf:
    """Where the index of a store is kept."""

    def __init__(self, here: Location) -> None:
        self._repo = here.repo
        self._path = derived.path(here.repo, f"search-{here.config.id}")
        # whether a page can be read depends on the limits
        self._head = json.dumps({"format": FORMAT, "limits": asdict(here.config.limits)}, sort_keys=True)

    def opened(self, page_index: PageIndex) -> Index | None:
        """Return the index, which is what the page index holds; None where there need not be a file."""
        if len(page_index) < FEW:
            return None
        try:
            found = Index.open(self._path, self._head)
            try:
                return self._followed(found, page_index)
            except DamagedIndexError:
                found.close()
                raise
        except DamagedIndexError:
            index = page_index.indexed()
            with suppress(DamagedIndexError):  # read-only, or a full disk
                index.save(self._path, self._head)
            return index

    def _followed(self, index: Index, page_index: PageIndex) -> Index:
        known = index.tags().keys()
        gone, new = known - page_index.keys, page_index.keys - known
        if len(new) > len(page_index) // 2 or not all(self._repo.has(key[-40:]) for key in gone):
            raise DamagedIndexError("made anew: that is faster, or nothing of it may be left")
        if gone or new:
            try:
                index.change(gone, page_index.documents(sorted(new)))
            except DamagedIndexError:  # read-only, or another process is at it
                index = _taken(index)
                index.change(gone, page_index.documents(sorted(new)))
        return index


def _taken(index: Index) -> Index:
    """Return a copy in memory; the file is let go."""
    copy = index.copy()
    index.close()
    return copy


def _document(key: str, name: str, found: Experience | str) -> Document:
    if isinstance(found, str):
        return Document(key, None, f"{_BAD}{name}{snapshot.SUFFIX}\n{found}")
    try:
        head = f"{name}\n{found.description}"
        text = "\n".join(line for line in found.content.split("\n") if not is_figure(line))
    except DocumentError as error:
        return Document(key, None, f"{_BAD}{name}\n{error.message}")
    if found.status not in SERVED:
        return Document(key, text, _KEPT, head)
    return Document(key, text, _ALWAYS if found.metadata.get("always") is True else _GIVEN, head)
