"""Which pages may say the same as a text: by their words, or by an endpoint's embeddings."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from math import sqrt
from statistics import fmean, pstdev
from typing import TYPE_CHECKING, Protocol

from trainer.asking.question import AskError
from xpstore.search import Hit, similar_to_each

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from trainer.asking.chat import Embedder

FEW = 8
"""With fewer pages than this, all are near: too few to say which stand out."""
STANDS_OUT = 1.5
"""Standard deviations over the mean of one text's similarities: what is "near" differs between models, so no
fixed similarity would do."""
LONGEST = 4_000
"""Characters of a text that are compared by meaning: embedding models read no more than some pages."""


class Similarity(Protocol):
    """Finds pages that are like texts."""

    @property
    def by_meaning(self) -> bool:
        """Whether pages that it finds may say the same in other words."""
        ...

    async def nearest(
        self, texts: Mapping[str, str], pages: Mapping[str, str], limit: int
    ) -> dict[str, list[Hit]]:
        """Return for each text, by name, the pages that are like it, best first; none of its own name."""
        ...


class TextSimilarity:
    """Compares words (xpstore/search.py); blind to paraphrases."""

    by_meaning = False

    async def nearest(
        self, texts: Mapping[str, str], pages: Mapping[str, str], limit: int
    ) -> dict[str, list[Hit]]:
        """Return the pages with at least a fifth of their shingles in common."""
        return await asyncio.to_thread(self._nearest, texts, pages, limit)

    def _nearest(
        self, texts: Mapping[str, str], pages: Mapping[str, str], limit: int
    ) -> dict[str, list[Hit]]:
        found = similar_to_each(list(pages.items()), texts.values(), limit + 1)
        return {
            name: [hit for hit in hits if hit.name != name][:limit]
            for name, hits in zip(texts, found, strict=True)
        }


@dataclass(frozen=True)
class EmbeddingSimilarity:
    """Compares embeddings: of each text, the pages whose cosine stands out among all pages.

    Where the endpoint gives no embeddings, words are compared.
    """

    embedder: Embedder
    model: str
    by_meaning = True

    async def nearest(
        self, texts: Mapping[str, str], pages: Mapping[str, str], limit: int
    ) -> dict[str, list[Hit]]:
        """Return the pages that are nearest in meaning. The score is the cosine, 0 to 1."""
        wanted = dict.fromkeys(text[:LONGEST] for text in (*texts.values(), *pages.values()))
        try:
            vectors = await self.embedder.embed(list(wanted), self.model)
        except AskError:
            return await TextSimilarity().nearest(texts, pages, limit)
        of = dict(zip(wanted, map(_unit, vectors), strict=True))
        others = {name: of[text[:LONGEST]] for name, text in pages.items()}
        return {name: _near(name, of[text[:LONGEST]], others)[:limit] for name, text in texts.items()}


def _near(name: str, vector: Sequence[float], pages: Mapping[str, Sequence[float]]) -> list[Hit]:
    scores = {page: _dot(vector, other) for page, other in pages.items() if page != name}
    least = 0.0
    if len(scores) >= FEW:
        least = fmean(scores.values()) + STANDS_OUT * pstdev(scores.values())
    hits = (Hit(page, round(min(score, 1.0), 6)) for page, score in scores.items() if score > least)
    return sorted(hits, key=lambda hit: (-hit.score, hit.name))


def _unit(vector: Iterable[float]) -> tuple[float, ...]:
    values = tuple(vector)
    length = sqrt(_dot(values, values))
    return tuple(value / length for value in values) if length else values


def _dot(one: Sequence[float], other: Sequence[float]) -> float:
    return sum(a * b for a, b in zip(one, other, strict=True))
