"""Which method finds the right page, and how long a search takes among ten thousand pages."""

from __future__ import annotations

import asyncio
import random
import re
import sqlite3
import time
from statistics import median, quantiles
from typing import TYPE_CHECKING
from zlib import crc32

import pytest

from tests.benchmarks.timing import table
from tests.retrieval import PAGES, TASKS, policy, recall
from trainer.asking.budget import Budget
from trainer.asking.vectors import Vectors
from trainer.llm import OpenAIChat
from trainer.mcp_server.meaning import Meaning
from xpstore.experience import Experience, ExperienceSet
from xpstore.page_index import PageIndex
from xpstore.search import Document, Index
from xpstore.serving import rendered
from xpstore.settings import LlmSettings

if TYPE_CHECKING:
    from collections.abc import Callable

    from tests.llm_server import LlmServer

    Method = Callable[[str], list[str]]

MOST_MS = 20.0


def one_text(page: Experience) -> str:
    return f"{page.name}\n{page.description}\n{page.content}"


def default() -> Method:
    index = PageIndex.of(policy())
    return lambda task: [page.name for page, _ in index.search(task, 10)]


def words() -> Method:
    """BM25 of FTS5 over whole pages, and nothing else."""
    index = Index.of(Document(page.name, one_text(page)) for page in policy().policies)
    return lambda task: [hit.name for hit in index.lookup(task, 10)]


def trigrams() -> Method:
    """BM25 of FTS5's own tokenizer of three characters."""
    db = sqlite3.connect(":memory:")
    db.execute("CREATE VIRTUAL TABLE pages USING fts5(name UNINDEXED, text, tokenize = 'trigram')")
    db.executemany("INSERT INTO pages VALUES (?, ?)", ((p.name, one_text(p)) for p in policy().policies))

    def find(task: str) -> list[str]:
        line = re.sub(r"\W+", " ", task.lower())
        pieces = sorted({line[at : at + 3] for at in range(len(line) - 2)})
        query = " OR ".join(f'"{piece}"' for piece in pieces)
        rows = "SELECT name FROM pages WHERE pages MATCH ? ORDER BY rank LIMIT 10"
        return [name for (name,) in db.execute(rows, (query,))] if query else []

    return find


def pieces(text: str) -> list[float]:
    """Return how often a text has pieces of three characters, as 256 numbers; they know no meaning."""
    found = [0.0] * 256
    for at in range(len(text) - 2):
        found[crc32(text[at : at + 3].lower().encode()) % 256] += 1
    return found


def embedded(server: LlmServer) -> Method:
    """Words and the vectors of an endpoint, as `xp mcp --embeddings` has them."""
    server.vectors = pieces
    settings = LlmSettings(base_url=server.url, embedding_model="pieces", timeout=20.0)
    texts = {page.name: rendered(page) for page in policy().policies}
    by_words = PageIndex.of(policy())

    async def ranked() -> dict[str, list[str]]:
        budget = Budget(settings)
        found = {}
        async with OpenAIChat(settings, budget.slots) as chat:
            meaning = Meaning(Vectors(chat, budget), "pieces", pytest.fail)
            for task in TASKS:
                hits = [(page.name, score) for page, score in by_words.search(task.task, 50)]
                found[task.task] = [name for name, _ in await meaning.ranked(task.task, hits, texts)]
        return found

    return asyncio.run(ranked()).__getitem__


def test_who_finds_the_right_page(llm_server: LlmServer) -> None:
    rows = {}
    methods = {
        "xp search": default(),
        "words, BM25": words(),
        "trigrams, BM25": trigrams(),
        "xp search, scripted vectors": embedded(llm_server),
    }
    for name, method in methods.items():
        rows[name] = [recall(method, at, lang) for lang in ("", "en", "zh") for at in (1, 3)]
    columns = [f"{lang} @{at}" for lang in ("all", "en", "zh") for at in (1, 3)]
    table(f"recall, {len(TASKS)} tasks, {len(PAGES)} pages", columns, rows)


def many(size: int) -> ExperienceSet:
    """Return pages of the statements of all pages, each with a number of its own."""
    draw = random.Random(1)  # noqa: S311 - no secret
    lines = [line for text in PAGES.values() for line in text.splitlines() if line.startswith("- ")]
    heads = [re.search(r"^description: (.*)$", text, re.MULTILINE)[1] for text in PAGES.values()]  # type: ignore[index]
    pages = []
    for number in range(size):
        name = f"lesson-{number:05}"
        body = "\n".join(f"{line} ({number})" for line in draw.sample(lines, 12))
        text = f"---\nname: {name}\ndescription: {draw.choice(heads)}\n---\n\n## Approach\n\n{body}\n"
        pages.append(Experience(name=name, text=text))
    return ExperienceSet(root_uri="experiences", policies=tuple(pages))


def test_how_long_a_search_takes(*, full: bool) -> None:
    size = 10_000 if full else 2_000
    with PageIndex.of(many(size)) as index:
        times: dict[str, list[float]] = {"en": [], "zh": []}
        for _ in range(4 if full else 2):  # the first round warms up
            for task in TASKS:
                start = time.process_time()
                index.search(task.task, 5, given=True)
                times[task.lang].append(1000 * (time.process_time() - start))
    rows = {}
    for lang, found in times.items():
        warm = found[len([task for task in TASKS if task.lang == lang]) :]
        rows[lang] = (median(warm), quantiles(warm, n=20)[-1], max(warm))
    table(f"a search among {size} pages, wanted: {MOST_MS:.0f}", ("median ms CPU", "95 %", "most"), rows)
