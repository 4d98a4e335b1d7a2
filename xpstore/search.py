"""Which documents a query or another document resembles: BM25 of SQLite's FTS5, then shingles.

Words of scripts that write spaces are stemmed by FTS5; Chinese, Japanese, Korean, Thai and their like
become pairs of characters. The query is data: only its letters and digits ever reach SQLite.
"""

from __future__ import annotations

import re
import sqlite3
from contextlib import closing, contextmanager
from dataclasses import dataclass
from math import log
from secrets import token_hex
from typing import TYPE_CHECKING, NamedTuple

from xpstore.wording import Wanted, shingles, telling, terms

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Iterator, Sequence
    from pathlib import Path
    from typing import Self

RAREST = 16
"""How many of a query's terms are looked up: the rarest say most, and long queries stay fast."""
NEAR = 0.2
"""Jaccard similarity of shingles above which two texts are worth comparing as near-duplicates."""
HEAD_WEIGHT = 2.0
"""What a term of a head counts for, compared with one of the text: measured with tests/retrieval.py."""
POSTINGS = 4_000
"""How many documents the terms that are looked up may have together, the rarest term aside: a query takes
some microseconds for each."""
_K1 = 1.2  # FTS5's own constant: a term's weight never exceeds idf * (k1 + 1)
_SHARE_WITHOUT_TERMS = 0.2
_CANDIDATES = 200


@dataclass(frozen=True, slots=True)
class Hit:
    """A document and how well it fits, 0 to 1."""

    name: str
    score: float


class DamagedIndexError(Exception):
    """The file of an index cannot be used: damaged, of another kind, locked or read-only."""


class Document(NamedTuple):
    """What is put into an index; it never changes under its key."""

    key: str
    text: str | None
    """None = known, and never found."""
    tag: str = ""
    """Anything; a search can be for some tags only."""
    head: str = ""
    """What is said of the text in a few words, such as its name; HEAD_WEIGHT times as telling."""


class Index:
    """A full-text index, in memory or in a file. Its methods raise DamagedIndexError."""

    def __init__(self, connection: sqlite3.Connection) -> None:
        self._db = connection
        # `ascii` leaves every other script whole: its words were cut by terms().
        fts = "USING fts5({}, tokenize = 'porter ascii')"
        with _whole():
            connection.execute(
                "PRAGMA synchronous = OFF"
            )  # a loss of power may cost the file, which is a copy
            for table in (
                f"VIRTUAL TABLE IF NOT EXISTS docs {fts.format('head, terms')}",
                "TABLE IF NOT EXISTS pages(id INTEGER PRIMARY KEY, key TEXT UNIQUE, tag TEXT)",
                "TABLE IF NOT EXISTS words(word TEXT PRIMARY KEY) WITHOUT ROWID",
                "TABLE IF NOT EXISTS about(head TEXT)",
                "VIRTUAL TABLE IF NOT EXISTS vocabulary USING fts5vocab(docs, row)",
                f"VIRTUAL TABLE temp.probe {fts.format('terms')}",
                "VIRTUAL TABLE temp.probed USING fts5vocab(temp, probe, instance)",
            ):
                connection.execute(f"CREATE {table}")

    @classmethod
    def of(cls, documents: Iterable[Document]) -> Self:
        """Return an index in memory."""
        index = cls(sqlite3.connect(":memory:"))
        index._db.execute("INSERT INTO docs(docs, rank) VALUES ('rank', ?)", (f"bm25({HEAD_WEIGHT}, 1.0)",))
        index.add(documents)
        return index

    @classmethod
    def open(cls, path: Path, head: str) -> Self:
        """Return the index that was saved there with this head."""
        with _whole():
            connection = sqlite3.connect(f"{path.as_uri()}?mode=rw", uri=True, timeout=1)
            known = "SELECT head FROM about WHERE head = ?"
            try:
                if connection.execute(known, (head,)).fetchone() is not None:
                    return cls(connection)
            except sqlite3.Error:
                connection.close()
                raise
            connection.close()
            raise DamagedIndexError("another version")

    def save(self, path: Path, head: str) -> None:
        """Write a new file; it is there at once or not at all."""
        with _whole():
            path.parent.mkdir(exist_ok=True)
            draft = path.with_name(f"{path.name}.{token_hex(8)}")
            try:
                self._db.execute("DELETE FROM about")
                self._db.execute("INSERT INTO about VALUES (?)", (head,))
                self._db.commit()
                with closing(sqlite3.connect(draft)) as file:
                    file.execute("PRAGMA synchronous = OFF")
                    self._db.backup(file)
                draft.replace(path)
            finally:
                draft.unlink(missing_ok=True)

    def copy(self) -> Self:
        """Return a copy in memory."""
        with _whole():
            memory = sqlite3.connect(":memory:")
            self._db.backup(memory)
            return type(self)(memory)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Let go of the file."""
        self._db.close()

    def add(self, documents: Iterable[Document]) -> None:
        """Add documents whose keys are new."""
        self.change((), documents)

    def change(self, removed: Iterable[str], added: Iterable[Document]) -> None:
        """Remove the documents with these keys and add others, all or nothing."""
        with _whole(), self._db:
            for key in removed:
                self._db.execute(
                    "DELETE FROM docs WHERE rowid = (SELECT id FROM pages WHERE key = ?)", (key,)
                )
                self._db.execute("DELETE FROM pages WHERE key = ?", (key,))
            seen: set[str] = set()
            for key, text, tag, head in added:
                made = self._db.execute("INSERT INTO pages(key, tag) VALUES (?, ?)", (key, tag)).lastrowid
                if text is not None:
                    first, rest = terms(head), terms(text)
                    seen.update(first, rest)
                    row = (made, " ".join(first), " ".join(rest))
                    self._db.execute("INSERT INTO docs(rowid, head, terms) VALUES (?, ?, ?)", row)
            rows = ((word,) for word in sorted(seen))
            self._db.executemany("INSERT OR IGNORE INTO words VALUES (?)", rows)

    def tags(self) -> dict[str, str]:
        """Return key → tag of all that is in the index."""
        with _whole():
            return dict(self._db.execute("SELECT key, tag FROM pages"))

    def tagged(self, start: str) -> dict[str, str]:
        """Return key → tag of what has a tag that starts so, sorted by key."""
        with _whole():
            rows = "SELECT key, tag FROM pages WHERE substr(tag, 1, length(:start)) = :start ORDER BY key"
            return dict(self._db.execute(rows, {"start": start}))

    def lookup(self, query: str, limit: int, tags: Collection[str] = ()) -> list[Hit]:
        """Return the documents with the query's rarest terms, best first; with one of these tags, if given.

        A score is the BM25 sum divided by the sum that a perfect document would reach.
        """
        with _whole():
            return [Hit(key, score) for key, score, _ in self._lookup(query, limit, tags)]

    def _lookup(self, query: str, limit: int, tags: Collection[str]) -> list[tuple[str, float, str]]:
        """Return key, score and terms."""
        (total,) = self._db.execute("SELECT count(*) FROM docs_docsize").fetchone()
        rarest = self._rarest(query)
        if not rarest:
            return []
        bound = sum(max(log((total - n + 0.5) / (n + 0.5)), 1e-6) * (_K1 + 1) for _, n in rarest)
        match = " OR ".join(f'"{term}"' for term, _ in rarest)
        # words that most of very many pages have tell nothing, and ranking by them would take long
        order = "" if rarest[0][1] > max(POSTINGS, total // 2) else "ORDER BY rank"
        wanted = f"AND p.tag IN ({', '.join('?' * len(tags))})" if tags else ""
        found = self._db.execute(
            f"WITH hits AS (SELECT d.rowid AS id, d.rank AS score FROM docs AS d JOIN pages AS p ON p.id = d.rowid"  # noqa: S608, E501 - only marks
            f" WHERE docs MATCH ? {wanted} {order} LIMIT ?)"
            " SELECT p.key, h.score, d.head || ' ' || d.terms FROM hits AS h JOIN pages AS p USING (id)"
            " JOIN docs AS d ON d.rowid = id",
            (match, *tags, limit),
        )
        hits = [(key, min(1.0, -score / bound), text) for key, score, text in found]
        return sorted(hits, key=lambda hit: (-hit[1], hit[0]))

    def _rarest(self, query: str) -> list[tuple[str, int]]:
        """Return the query's rarest terms that the index knows, with the number of documents of each.

        The stemmer is inside FTS5, so the query's terms go through a table of their own.
        """
        self._db.execute("DELETE FROM temp.probe")
        self._db.executemany(
            "INSERT INTO temp.probe(terms) VALUES (?)", ((t,) for t in sorted(set(telling(terms(query)))))
        )
        rows = self._db.execute(
            "SELECT min(p.terms), v.doc FROM temp.probed AS i"
            " JOIN temp.probe AS p ON p.rowid = i.doc JOIN vocabulary AS v ON v.term = i.term"
            " GROUP BY v.term ORDER BY v.doc, v.term LIMIT ?",
            (RAREST,),
        )
        found: list[tuple[str, int]] = []
        for term, count in rows:
            if found and count + sum(n for _, n in found) > POSTINGS:
                break
            found.append((term, count))
        return found

    def rank(self, query: str, limit: int, tags: Collection[str] = ()) -> list[Hit]:
        """Return the documents that fit a query best, best first, ties by key.

        The score is the mean of the BM25 share and the share of the query's shingles that the document
        contains. Where no term matches (a misspelling, a Chinese word that the documents write otherwise),
        documents with words like it are considered, and their shingles or single characters alone decide.
        """
        wanted = Wanted.of(query)
        if not wanted.count:
            return []
        with _whole():
            found = self._lookup(query, max(limit, _CANDIDATES), tags)
            rows = found or self._lookup(self._corrected(wanted), max(limit, _CANDIDATES), tags)
            hits = []
            for key, share, text in rows:
                contained = wanted.share_in(text) if found else wanted.likeness(text)
                if found or contained >= _SHARE_WITHOUT_TERMS:
                    hits.append(Hit(key, round(((share if found else 0) + contained) / 2, 6)))
        return _best(hits, limit)

    def _corrected(self, wanted: Wanted) -> str:
        """Return the words that documents have and that share most with those of a query."""
        marks = (*wanted.pieces, *wanted.characters)
        if not marks:
            return ""
        like = re.compile("|".join(map(re.escape, marks))).search
        words = [word for (word,) in self._db.execute("SELECT word FROM words") if like(word)]
        return " ".join(sorted(words, key=lambda word: (-wanted.likeness(word), word))[:RAREST])


@contextmanager
def _whole() -> Iterator[None]:
    try:
        yield
    except (sqlite3.Error, OSError) as error:
        raise DamagedIndexError(str(error)) from error


def similar_to_each(
    documents: Sequence[tuple[str, str]], texts: Iterable[str], limit: int
) -> Iterator[list[Hit]]:
    """Yield for each text the (name, text) documents that are nearly it, best first, ties by name.

    The score is the Jaccard similarity of the shingles, at least NEAR; 1 is the same wording. Names are not
    compared. The documents are read once.
    """
    known = dict(documents)
    pieces: dict[str, frozenset[str]] = {}
    with Index.of(Document(*document) for document in documents) as index:
        for text in texts:
            wanted = shingles(text)
            hits = []
            for hit in index.lookup(text, max(limit, _CANDIDATES)):
                if hit.name not in pieces:
                    pieces[hit.name] = shingles(known[hit.name])
                other = pieces[hit.name]
                score = len(wanted & other) / len(wanted | other)
                if score >= NEAR:
                    hits.append(Hit(hit.name, round(score, 6)))
            yield _best(hits, limit)


def _best(hits: list[Hit], limit: int) -> list[Hit]:
    return sorted(hits, key=lambda hit: (-hit.score, hit.name))[:limit]
