"""The texts of experiences by blob id, as the last snapshot left them for the next process.

One file: the ids, lengths and parsed front matter of the pages, then their texts, one after the other. It
is written anew only when many pages are missing in it; a few are read from git each time. A page that git
itself no longer has is never kept: where somebody took a secret out of the repository, the next snapshot
takes it out of here.
"""

from __future__ import annotations

import json
import sys
from array import array
from dataclasses import asdict
from functools import cached_property
from itertools import accumulate, pairwise, starmap
from struct import Struct
from typing import TYPE_CHECKING

from xpstore import derived
from xpstore.document import Document

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator
    from typing import Self

    from xpstore.config import StoreConfig
    from xpstore.git import Repo

FORMAT = 1
_COUNTS = Struct("3Q")
MANY = 256
"""Pages; fewer are read from git as fast as it matters."""
PART = 32
"""Or one page in so many, where that is more: the file is as long as all pages together."""

Front = tuple[dict[str, object], int, int, int]
"""Front matter; where its source starts and ends (0, 0 where there is none), and where the body starts."""


class Pages:
    """The texts that are known, and what of them is parsed."""

    def __init__(self, repo: Repo, config: StoreConfig) -> None:
        self._repo = repo
        self._name = f"pages-{config.id}"
        # a page that was over a limit is not in the file: with other limits all of them are looked at again
        self._head = {"format": FORMAT, "order": sys.byteorder, "limits": asdict(config.limits)}
        self._new = 0
        self.texts: dict[str, str] = {}
        """Blob id → text."""
        self._unread: bytes | memoryview = b"{}"

    @classmethod
    def load(cls, repo: Repo, config: StoreConfig) -> Self:
        """Return what an earlier process left, if anything."""
        pages = cls(repo, config)
        body = derived.read(repo, pages._name, pages._head)
        if body is not None:
            ends = list(accumulate(_COUNTS.unpack(body[: _COUNTS.size]), initial=_COUNTS.size))
            ids, sizes, pages._unread, texts = map(body.__getitem__, starmap(slice, pairwise([*ends, None])))
            names = (bytes(ids[at : at + 20]).hex() for at in range(0, len(ids), 20))
            starts = accumulate(array("I", bytes(sizes)), initial=0)
            for blob, (start, end) in zip(names, pairwise(starts), strict=True):
                pages.texts[blob] = str(texts[start:end], "utf-8")
        return pages

    def add(self, blob: str, text: str) -> None:
        """Remember a page that was read from git."""
        self.texts[blob] = text
        self._new += 1

    def document(self, blob: str, where: str) -> Document:
        """Return a page parsed. Raises DocumentError."""
        text = self.texts[blob]
        known = self._fronts.get(blob)
        if known is not None:
            front, start, end, body = known
            return Document(text, front, text[start:end] if start else None, text[body:])
        document = Document.parse(text, where)
        start = end = 0
        if document.source is not None:
            start = text.index("\n") + 1
            end = start + len(document.source)
        self._fronts[blob] = (dict(document.front), start, end, len(text) - len(document.body))
        self._new += 1
        return document

    @cached_property
    def _fronts(self) -> dict[str, Front]:
        found: dict[str, Front] = json.loads(bytes(self._unread))
        return found

    def keep(self, blobs: Collection[str]) -> None:
        """Leave these pages for the next process, and no others, if there is much that it would miss."""
        wanted = dict.fromkeys(blobs)
        stale = [blob for blob in self.texts if blob not in wanted]
        bound = max(MANY, len(wanted) // PART)
        if self._new > bound or len(stale) > bound or not all(map(self._repo.has, stale)):
            derived.write(self._repo, self._name, self._head, self._parts(wanted))

    def _parts(self, wanted: Iterable[str]) -> Iterator[bytes]:
        """Yield what the file holds, page by page: 20 MB at once would take as long as reading them."""
        ids = [blob for blob in wanted if blob in self.texts]
        texts = [self.texts[blob] for blob in ids]
        sizes = array("I", (len(text) if text.isascii() else len(text.encode()) for text in texts))
        fronts = {blob: self._fronts[blob] for blob in ids if blob in self._fronts}
        parts = (bytes.fromhex("".join(ids)), sizes.tobytes(), json.dumps(fronts).encode())
        yield _COUNTS.pack(*map(len, parts))
        yield from parts
        yield from map(str.encode, texts)
