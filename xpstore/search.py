"""Which documents a query or another document resembles: BM25 of SQLite's FTS5, then shingles.

Words of scripts that write spaces are stemmed by FTS5; Chinese, Japanese, Korean, Thai and their like
become pairs of characters. The query is data: only its letters and digits ever reach SQLite.
"""

from __future__ import annotations

import re
import sqlite3
import unicodedata
from dataclasses import dataclass
from math import log
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Sequence
    from typing import Self

RAREST = 16
"""How many of a query's terms are looked up: the rarest say most, and long queries stay fast."""
NEAR = 0.2
"""Jaccard similarity of shingles above which two texts are worth comparing as near-duplicates."""
_SHINGLE = 4
_K1 = 1.2  # FTS5's own constant: a term's weight never exceeds idf * (k1 + 1)
_SHARE_WITHOUT_TERMS = 0.25
_CANDIDATES = 200

# Scripts written without spaces between words: Thai to Khmer, kana, Han, Hangul, Han beyond the BMP.
_UNSPACED = (
    "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uac00-\ud7af"
    "\uf900-\ufaff\U00020000-\U0003ffff"
)
_RUNS = re.compile(f"([{_UNSPACED}]+)|([^\\s{_UNSPACED}]+)")


@dataclass(frozen=True, slots=True)
class Hit:
    """A document and how well it fits, 0 to 1."""

    name: str
    score: float


class _Letters(dict[int, str]):
    """Maps every code point that is no letter, digit or mark to a space; fills itself."""

    def __missing__(self, code: int) -> str:
        char = chr(code)
        self[code] = kept = char if unicodedata.category(char)[0] in "LNM" else " "
        return kept


_LETTERS = _Letters()


def terms(text: str) -> list[str]:
    """Return the terms of a text in order: folded words, and pairs of characters of unspaced scripts."""
    found: list[str] = []
    for unspaced, word in _RUNS.findall(unicodedata.normalize("NFKC", text).casefold().translate(_LETTERS)):
        if word:
            found.append(word)
        elif len(unspaced) == 1:
            found.append(unspaced)
        else:
            found.extend(unspaced[i : i + 2] for i in range(len(unspaced) - 1))
    return found


def shingles(text: str) -> frozenset[str]:
    """Return the text's overlapping pieces of four characters, or two for unspaced scripts."""
    found = set()
    words = []
    for term in terms(text):
        if _RUNS.fullmatch(term).group(1):  # type: ignore[union-attr]  # every term is such a run
            found.add(term)
        else:
            words.append(term)
    line = " ".join(words)
    found.update(line[i : i + _SHINGLE] for i in range(max(1, len(line) - _SHINGLE + 1)) if line)
    return frozenset(found)


class Index:
    """A full-text index, in memory or in the SQLite file of the connection.

    Documents are added under a key of the caller's, such as a blob id, and never change.
    """

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        # `ascii` leaves every other script whole: its words were cut by terms().
        fts = "USING fts5(key UNINDEXED, terms, tokenize = 'porter ascii')"
        connection.execute(f"CREATE VIRTUAL TABLE IF NOT EXISTS docs {fts}")
        connection.execute("CREATE VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab(docs, row)")
        connection.execute(f"CREATE VIRTUAL TABLE temp.probe {fts}")
        connection.execute("CREATE VIRTUAL TABLE temp.probed USING fts5vocab(temp, probe, instance)")

    @classmethod
    def of(cls, documents: Sequence[tuple[str, str]]) -> Self:
        """Return an index in memory of (key, text) pairs."""
        index = cls(sqlite3.connect(":memory:"))
        index.add(documents)
        return index

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self._db.close()

    def add(self, documents: Sequence[tuple[str, str]]) -> None:
        """Add (key, text) pairs; a key must be new."""
        with self._db:
            rows = ((key, " ".join(terms(text))) for key, text in documents)
            self._db.executemany("INSERT INTO docs(key, terms) VALUES (?, ?)", rows)

    def keys(self) -> frozenset[str]:
        """Return the keys that are in the index."""
        return frozenset(key for (key,) in self._db.execute("SELECT key FROM docs"))

    def lookup(self, query: str, limit: int) -> list[Hit]:
        """Return the documents with the query's rarest terms, best first.

        A score is the BM25 sum divided by the sum that a perfect document would reach.
        """
        rarest = self._rarest(query)
        if not rarest:
            return []
        (total,) = self._db.execute("SELECT count(*) FROM docs").fetchone()
        bound = sum(max(log((total - n + 0.5) / (n + 0.5)), 1e-6) * (_K1 + 1) for _, n in rarest)
        match = " OR ".join(f'"{term}"' for term, _ in rarest)
        found = self._db.execute(
            "SELECT key, bm25(docs) FROM docs WHERE docs MATCH ? ORDER BY 2, 1 LIMIT ?", (match, limit)
        )
        return [Hit(key, min(1.0, -score / bound)) for key, score in found]

    def _rarest(self, query: str) -> list[tuple[str, int]]:
        """Return the query's rarest terms that the index knows, with the number of documents of each.

        The stemmer is inside FTS5, so the query's terms go through a table of their own.
        """
        self._db.execute("DELETE FROM temp.probe")
        unique = sorted(set(terms(query)))
        self._db.executemany(
            "INSERT INTO temp.probe(key, terms) VALUES (?, ?)", ((term, term) for term in unique)
        )
        rows = self._db.execute(
            "SELECT min(p.key), v.doc FROM temp.probed AS i"
            " JOIN temp.probe AS p ON p.rowid = i.doc JOIN vocabulary AS v ON v.term = i.term"
            " GROUP BY v.term ORDER BY v.doc, v.term LIMIT ?",
            (RAREST,),
        )
        return list(rows)


def rank(documents: Sequence[tuple[str, str]], query: str, limit: int) -> list[Hit]:
    """Return the (name, text) documents that fit a query best, best first, ties by name.

    The score is the mean of the BM25 share and the share of the query's shingles that the document
    contains. Where no term matches (a misspelling), shingles alone decide.
    """
    texts = {name: f"{name}\n{text}" for name, text in documents}
    wanted = shingles(query)
    if not wanted:
        return []
    with Index.of(list(texts.items())) as index:
        found = index.lookup(query, max(limit, _CANDIDATES))
    shares = {hit.name: hit.score for hit in found} or dict.fromkeys(texts, 0.0)
    hits = []
    for name, share in shares.items():
        contained = len(wanted & shingles(texts[name])) / len(wanted)
        if found or contained >= _SHARE_WITHOUT_TERMS:
            hits.append(Hit(name, round((share + contained) / 2, 6)))
    return _best(hits, limit)


def similar(documents: Sequence[tuple[str, str]], text: str, limit: int) -> list[Hit]:
    """Return the (name, text) documents that are nearly `text`, best first, ties by name.

    The score is the Jaccard similarity of the shingles, at least NEAR; 1 is the same wording. Names
    are not compared.
    """
    texts = dict(documents)
    wanted = shingles(text)
    with Index.of(documents) as index:
        found = index.lookup(text, max(limit, _CANDIDATES))
    hits = []
    for name in (hit.name for hit in found):
        other = shingles(texts[name])
        score = len(wanted & other) / len(wanted | other)
        if score >= NEAR:
            hits.append(Hit(name, round(score, 6)))
    return _best(hits, limit)


def _best(hits: list[Hit], limit: int) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.name))[:limit]
