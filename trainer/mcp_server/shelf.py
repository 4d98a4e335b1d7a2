"""What the server serves: the experiences of a ref that agents are given, as the ref has them now.

Every call looks where the ref is, so that no answer is older than its commit says; what was read of a commit
is kept until the experiences have changed. All methods run in the store's one thread.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore.errors import DocumentError, NotFoundError
from xpstore.experience import SERVED
from xpstore.page_index import PageIndex
from xpstore.serving import rendered
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Sequence

    from xpstore.experience import Experience
    from xpstore.location import Location

SHOWN = 60
"""Characters of a name that was asked for, in the answer that there is none."""


@dataclass(frozen=True, slots=True)
class Card:
    """An experience without its text."""

    name: str
    description: str
    status: str
    blob: str
    """What a page is compared by."""


@dataclass(frozen=True, slots=True)
class Catalogue:
    """All experiences that are served at a commit."""

    commit: str
    cards: dict[str, Card]
    """By name, sorted."""

    def changed_from(self, other: Catalogue) -> frozenset[str]:
        """Return the names whose pages are not the same in both."""
        return frozenset(n for n in {*self.cards, *other.cards} if self.cards.get(n) != other.cards.get(n))


@dataclass(frozen=True, slots=True)
class Page:
    """An experience as an agent reads it."""

    commit: str
    card: Card
    text: str


class Shelf:
    """The served experiences of a ref. Belongs to the thread that uses it."""

    def __init__(self, ref: str = "") -> None:
        """`ref` is a branch, tag or commit; default: the store's main branch."""
        self._ref = ref
        self._catalogue: Catalogue | None = None
        self._pages: dict[str, Experience] = {}
        self._index: PageIndex | None = None

    def catalogue(self, loc: Location) -> Catalogue:
        """Return what is served now. Raises NotFoundError where the ref is gone, RepositoryError."""
        commit = loc.resolve(self._ref or loc.main_ref)
        if self._catalogue is not None and self._catalogue.commit == commit:
            return self._catalogue
        loc.repo.reopen()  # else every pack stays open, and on the disk, that a gc replaces meanwhile
        pages: dict[str, Experience] = {}
        cards: dict[str, Card] = {}
        for page in snapshot(loc, commit, parsed=True).policies:
            try:
                served = bool(page.document) and page.status in SERVED
            except DocumentError:  # a person's to mend: xp status names it
                continue
            if served:
                pages[page.name] = page
                cards[page.name] = Card(page.name, page.description.strip(), page.status, page.blob)
        self.close()
        self._pages, self._catalogue = pages, Catalogue(commit, cards)
        return self._catalogue

    def search(self, loc: Location, query: str, limit: int) -> tuple[str, list[tuple[Card, float]]]:
        """Return the commit, and the experiences that fit best with their scores (0 to 1), best first."""
        catalogue = self.catalogue(loc)
        if self._index is None:
            self._index = PageIndex.at(loc, catalogue.commit)
        hits = self._index.search(query, limit, given=True)
        return catalogue.commit, [(catalogue.cards[e.name], score) for e, score in hits]

    def read(self, loc: Location, name: str) -> Page:
        """Return one experience. Raises NotFoundError for one that there is not, or that is not served."""
        catalogue = self.catalogue(loc)
        if name not in catalogue.cards:
            raise NotFoundError(
                f"no experience is called {name[:SHOWN]!r}",
                hint="search_experience finds those that there are",
            )
        return Page(catalogue.commit, catalogue.cards[name], rendered(self._pages[name]))

    def texts(self, loc: Location) -> dict[str, str]:
        """Return the text of every experience that is served, as an agent reads it."""
        return {name: rendered(self._pages[name]) for name in self.catalogue(loc).cards}

    def listed(self, loc: Location, after: str, limit: int) -> tuple[Catalogue, Sequence[Card]]:
        """Return the next experiences by name after a name; "" is before all of them."""
        catalogue = self.catalogue(loc)
        return catalogue, [card for name, card in catalogue.cards.items() if name > after][:limit]

    def close(self) -> None:
        """Let go of the index."""
        if self._index is not None:
            self._index.__exit__(None, None, None)
            self._index = None
