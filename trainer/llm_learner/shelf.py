"""The pages that an editor is shown: those nearest to the work, with their statements numbered."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from trainer.asking.budget import tokens_of
from trainer.llm_learner.claims import shown
from trainer.offline.page import page_name
from xpstore.errors import DocumentError
from xpstore.search import Document, Index

if TYPE_CHECKING:
    from collections.abc import Iterable, Mapping, Sequence

    from trainer.context import LearnedHistory
    from trainer.similarity import Similarity
    from xpstore.experience import Experience, ExperienceSet
    from xpstore.markdown import Statement

PAGES = 5
"""Pages that are shown."""
COMPARED = 1_000
"""Pages that are compared by meaning, for each case: of more, those that share the most words."""
_OFF = frozenset({"archived", "deprecated"})


class Numbered(NamedTuple):
    """A statement under its number."""

    page: Experience
    statement: Statement
    is_fixed: bool
    """Whether people wrote it, or anybody but this learner."""


@dataclass(frozen=True, slots=True)
class Shelf:
    """Pages and statements by their numbers, from 1, and the text that shows them."""

    pages: Mapping[int, Experience]
    statements: Mapping[int, Numbered]
    text: str


def shelf(pages: Iterable[Experience], history: LearnedHistory, tokens: int) -> Shelf:
    """Return as many of the pages, best first, as fit into so many tokens; of a long page, its beginning."""
    shelved: dict[int, Experience] = {}
    statements: dict[int, Numbered] = {}
    lines: list[str] = []
    for number, page in enumerate(pages, 1):
        head = f"page {number}: {' '.join(f'{page.name} - {page.description}'.split())}"
        if (tokens := tokens - tokens_of(head) - 1) < 0:
            break
        shelved[number] = page
        lines.append(head)
        mine = history.learner_statements.get(page.name, frozenset())
        for statement in page.document.statements():
            is_fixed = statement.key not in mine
            about = f"of page {number}, {statement.section or 'beginning'}{', fixed' if is_fixed else ''}"
            line = shown(len(statements) + 1, about, statement.text)
            if (tokens := tokens - tokens_of(line) - 1) < 0:
                lines.append("[… more statements of this page left out …]")
                break
            statements[len(statements) + 1] = Numbered(page, statement, is_fixed)
            lines.append(line)
    return Shelf(shelved, statements, "\n".join(lines))


class Library:
    """The pages of one snapshot that are in use, ready to be searched."""

    def __init__(self, experience_set: ExperienceSet) -> None:
        self.experience_set = experience_set
        self._pages = {p.name: p for p in experience_set.policies if is_in_use(p)}
        self._texts = {n: f"{n} {page.description}\n{page.content}" for n, page in self._pages.items()}
        self._index = Index.of(Document(name, text) for name, text in self._texts.items())

    async def nearest(
        self, query: str, tools: Sequence[str], similarity: Similarity, limit: int = PAGES
    ) -> list[Experience]:
        """Return the pages that work with these tools, and words like the query's, may be about; best first.

        A page that is named after a tool comes first, in the order of the tools.
        """
        found = [name for name in dict.fromkeys(map(page_name, tools)) if name in self._pages]
        by_words = [hit.name for hit in self._index.rank(query, COMPARED)]
        if similarity.by_meaning:
            few = len(self._texts) <= COMPARED
            texts = self._texts if few else {name: self._texts[name] for name in by_words}
            found += [hit.name for hit in (await similarity.nearest({"": query}, texts, limit))[""]]
        found += by_words
        return [self._pages[name] for name in list(dict.fromkeys(found))[:limit]]


def is_in_use(page: Experience) -> bool:
    """Say whether a page can be read, and people have not put it aside: archived or deprecated."""
    try:
        return page.status not in _OFF
    except DocumentError:  # a person's to mend: xp status names it
        return False
