"""A search by words and by meaning: the two rankings become one.

Fused are ranks, not scores: a page has 1 / (60 + rank) of each ranking that it is in (reciprocal rank
fusion; Cormack, Clarke and Büttcher, SIGIR 2009, with their constant). Where the endpoint gives no
embeddings, words alone decide, as without it. A model that was made for searching helps; the vectors of a
small chat model spoil what words have found (tests/retrieval.py measures it).
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from trainer.asking.question import AskError
from trainer.similarity import LONGEST
from trainer.stats import cosines, floats

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence

    from trainer.asking.vectors import Vectors
    from trainer.stats import Floats

K = 60
NEAREST = 50
"""Pages of the ranking by meaning."""


class Meaning:
    """Compares a query with pages by an endpoint's embeddings. Belongs to one event loop."""

    def __init__(self, vectors: Vectors, model: str, tell: Callable[[str], None]) -> None:
        """`tell` hears, once, that there are no embeddings."""
        self._vectors = vectors
        self._model = model
        self._tell = tell
        self._is_told = False
        self._texts: Mapping[str, str] = {}
        self._rows: Floats | None = None

    async def ranked(
        self, query: str, by_words: Sequence[tuple[str, float]], texts: Mapping[str, str]
    ) -> list[tuple[str, float]]:
        """Return names with scores, best first: of the pages found by words, and of the nearest of `texts`.

        A score of 1 is to be first in both rankings. Without embeddings, what was found by words is returned.
        """
        try:
            near = await self._nearest(query, texts)
        except AskError as error:
            if not self._is_told:
                self._tell(f"searching by words only: {error.message}")
                self._is_told = True
            return list(by_words)
        return fused([name for name, _ in by_words], near)

    async def _nearest(self, query: str, texts: Mapping[str, str]) -> list[str]:
        if not texts:
            return []
        if self._rows is None or self._texts != texts:
            rows = await self._vectors.embed([text[:LONGEST] for text in texts.values()], self._model)
            self._texts, self._rows = texts, floats(rows)
            self._vectors.save()
        (wanted,) = await self._vectors.embed([query], self._model)
        found = zip(cosines(self._rows, floats(wanted)), self._texts, strict=True)
        return [name for _, name in sorted(found, key=lambda hit: (-hit[0], hit[1]))[:NEAREST]]


def fused(*rankings: Sequence[str]) -> list[tuple[str, float]]:
    """Return the names of all rankings with their scores, best first, ties by name."""
    scores: dict[str, float] = {}
    for ranking in rankings:
        for rank, name in enumerate(ranking, 1):
            scores[name] = scores.get(name, 0.0) + 1 / (K + rank)
    most = len(rankings) / (K + 1)
    rows = [(name, round(score / most, 6)) for name, score in scores.items()]
    return sorted(rows, key=lambda row: (-row[1], row[0]))
