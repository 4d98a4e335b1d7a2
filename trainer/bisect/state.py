"""What a search remembers that no evaluation says: which pages the rollouts of each case had read.

All else is made again from the evaluations on record. It is a derived file (xpstore/derived.py): without it
the search begins with an even prior, and is right all the same.
"""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from xpstore import derived
from xpstore.hashing import content_id

if TYPE_CHECKING:
    from collections.abc import Mapping

    from trainer.bisect.suspects import Range
    from xpstore.git import Repo

_HEAD = {"what": "pages read", "version": 1}


def name_of(span: Range, world: str) -> str:
    """Return the name of the file for a range and an environment."""
    return f"bisect-{content_id([span.states[0].tree, span.states[-1].tree, world])[:12]}"


def load(repo: Repo, name: str) -> dict[str, frozenset[str]]:
    """Return case id → the pages that its rollouts had read; empty where nothing is kept."""
    data = derived.read(repo, name, _HEAD)
    return {case: frozenset(pages) for case, pages in json.loads(bytes(data)).items()} if data else {}


def save(repo: Repo, name: str, read: Mapping[str, frozenset[str]]) -> None:
    """Keep it, if that can be done."""
    text = json.dumps({case: sorted(pages) for case, pages in read.items()}, sort_keys=True)
    derived.write(repo, name, _HEAD, [text.encode()])
