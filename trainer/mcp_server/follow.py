"""Follows the branch: says which pages are new, changed or gone, in the words of the protocol."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote, unquote

from xpstore.errors import NotFoundError

if TYPE_CHECKING:
    from trainer.mcp_server.shelf import Catalogue

SCHEME = "xp"


@dataclass(frozen=True, slots=True)
class Changes:
    """What clients may have to read again."""

    tools: bool
    """The tools describe themselves otherwise: names of experiences came or went."""
    listing: bool
    """The list of experiences, with names and descriptions, is another."""
    updated: tuple[str, ...]
    """Names of the experiences whose text is another, or that are gone, sorted."""


def changes(before: Catalogue, after: Catalogue) -> Changes:
    """Return what is otherwise in what is served."""
    names = before.cards.keys() != after.cards.keys()
    lines = names or any(card.description != before.cards[n].description for n, card in after.cards.items())
    return Changes(tools=names, listing=lines, updated=tuple(sorted(after.changed_from(before))))


def uri_of(store_id: str, name: str) -> str:
    """Return the address of an experience, as resources have it: `xp://<store id>/<name>`."""
    return f"{SCHEME}://{store_id}/{quote(name, safe='')}"


def name_of(store_id: str, uri: str) -> str:
    """Return the name of the experience at an address. Raises NotFoundError for one of another kind."""
    start = f"{SCHEME}://{store_id}/"
    if not uri.startswith(start):
        raise NotFoundError("there is no such resource", hint=f"addresses here begin with {start}")
    return unquote(uri.removeprefix(start))
