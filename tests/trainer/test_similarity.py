from __future__ import annotations

import asyncio

from trainer.asking.question import AskError
from trainer.similarity import EmbeddingSimilarity, TextSimilarity
from xpstore.search import Hit

PAGES = {
    "refund": "Ask for the order number before you refund anything.",
    "again": "Ask for the order number before you refund anything at all.",
    "seat": "Window seats are free of charge for gold members.",
}


def nearest(similarity, texts, pages=PAGES, limit=5):
    return asyncio.run(similarity.nearest(texts, pages, limit))


class Embedder:
    """Gives every text the vector that its first letters name."""

    def __init__(self, vectors):
        self.vectors = vectors
        self.asked = []

    async def embed(self, texts, model):
        self.asked.append((list(texts), model))
        return [next(v for start, v in self.vectors.items() if text.startswith(start)) for text in texts]


def test_words_find_light_edits_and_never_the_page_itself():
    found = nearest(TextSimilarity(), {"refund": PAGES["refund"], "new": "Something else."})
    assert [hit.name for hit in found["refund"]] == ["again"]
    assert found["new"] == []


def test_embeddings_find_other_words_for_the_same_in_one_call():
    pages = {f"p{n}": f"far {n}" for n in range(9)} | {"near": "close"}
    embedder = Embedder({"far": (0.0, 1.0), "close": (3.0, 0.1), "query": (1.0, 0.0)})
    found = nearest(EmbeddingSimilarity(embedder, "e/1"), {"new": "query"}, pages)
    assert [hit.name for hit in found["new"]] == ["near"]
    assert 0.99 < found["new"][0].score <= 1
    assert [model for _, model in embedder.asked] == ["e/1"]


def test_among_few_pages_all_that_point_the_same_way_are_near():
    embedder = Embedder({"Ask": (1.0, 0.2), "Window": (0.0, 0.0)})
    found = nearest(EmbeddingSimilarity(embedder, "e/1"), {"refund": PAGES["refund"]})
    assert found == {"refund": [Hit("again", 1.0)]}


def test_without_embeddings_words_are_compared():
    class Down:
        async def embed(self, texts, model):
            raise AskError("http", "no such path")

    found = nearest(EmbeddingSimilarity(Down(), "e/1"), {"refund": PAGES["refund"]})
    assert [hit.name for hit in found["refund"]] == ["again"]
