"""What an agent should read for a task: the best pages, whole, within a budget of tokens.

A page whose front matter says `always: true` fits every task, whatever its words, and comes before the
pages that are ranked by the task. Its status must be served like theirs, and the budget holds for it too.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import ceil
from typing import TYPE_CHECKING

from xpstore.errors import DocumentError
from xpstore.names import without_invisible
from xpstore.page_index import PageIndex

if TYPE_CHECKING:
    from xpstore.experience import Experience, ExperienceSet

FITTING = 100
"""How many ranked pages are considered for a task; an agent reads a handful."""
CUT = "\n[cut: the page is longer than the budget]"


@dataclass(frozen=True, slots=True)
class Page:
    """One experience as an agent reads it, without front matter."""

    name: str
    text: str
    score: float
    """How well its words fit the task, 0 to 1; a page for every task may have 0."""
    tokens: int
    """Estimated; see `tokens`."""
    whole: bool = True


@dataclass(frozen=True, slots=True)
class Reading:
    """What to read, best first, and what an endless budget would have added, best first."""

    pages: tuple[Page, ...]
    left_out: tuple[Page, ...]

    @property
    def tokens(self) -> int:
        """The estimated tokens of the pages."""
        return sum(page.tokens for page in self.pages)


def tokens(text: str) -> int:
    """Estimate the tokens of a text: a token per four ASCII characters, one per other character.

    Byte-pair vocabularies of today need between 0.2 and 0.3 tokens per character of English, and 0.6 to 1
    per character of Chinese: the estimate errs on the side of too many.
    """
    plain = sum(map(str.isascii, text))
    return ceil(plain / 4) + len(text) - plain


def rendered(experience: Experience) -> str:
    """Return an experience as an agent reads it: name, description, body. Raises DocumentError.

    The figures below a statement are for reviewers and left out, and so is what a reviewer cannot see.
    """
    figures = {line for statement in experience.document.statements() for line in statement.evidence}
    lines = experience.content.replace("\r\n", "\n").split("\n")
    body = "\n".join(line for line in lines if line not in figures)
    parts = (f"# {experience.name}", experience.description.strip(), body.strip())
    return without_invisible("\n\n".join(part for part in parts if part)) + "\n"


def readable(experiences: ExperienceSet) -> tuple[list[Experience], dict[str, str]]:
    """Return the experiences that parse, and why others do not: one bad file hides no other."""
    skipped = experiences.metadata.get("skipped")
    bad = {name: str(why) for name, why in skipped.items()} if isinstance(skipped, dict) else {}
    good = []
    for experience in experiences.policies:
        try:
            experience.document  # noqa: B018 - parsed on first use
        except DocumentError as error:
            bad[experience.name] = error.message
        else:
            good.append(experience)
    return good, bad


def read_for(experiences: ExperienceSet, task: str, budget: int) -> Reading:
    """Choose from a set in memory what to read for a task; see `read_from`."""
    with PageIndex.of(experiences) as page_index:
        return read_from(page_index, task, budget)


def read_from(page_index: PageIndex, task: str, budget: int) -> Reading:
    """Choose from the served experiences (production and staging) what to read for a task.

    Pages come whole, each if it still fits into `budget` tokens: first those for every task, then the
    ranked ones, best first, FITTING at most. Only where the budget would leave nothing at all is the first
    page cut, at the end of a line; where not even a line fits, it is left out like the others.
    """
    pages, left_out, room = [], [], budget
    for experience, score in _fitting(page_index, task):
        text = rendered(experience)
        page = Page(experience.name, text, score, tokens(text))
        if page.tokens <= room:
            pages.append(page)
            room -= page.tokens
        else:
            left_out.append(page)
    if left_out and not pages:
        pages = _cut(left_out[0], budget)
        left_out = left_out[len(pages) :]
    return Reading(tuple(pages), tuple(left_out))


def _fitting(page_index: PageIndex, task: str) -> list[tuple[Experience, float]]:
    """Return the served experiences for a task with their scores: those for every task, then the ranked."""
    hits = page_index.search(task, FITTING, given=True)
    found = {e.name for e, _ in hits}
    hits += [(e, 0.0) for e in page_index.always() if e.name not in found]
    return sorted(hits, key=lambda hit: not _is_for_all(hit[0]))  # stable: best first within each kind


def _is_for_all(experience: Experience) -> bool:
    return experience.metadata.get("always") is True


def _cut(page: Page, budget: int) -> list[Page]:
    lines = page.text.splitlines()
    while lines and tokens("\n".join(lines) + CUT) > budget:
        lines.pop()
    if not lines:
        return []
    text = "\n".join(lines) + CUT
    return [Page(page.name, text, page.score, tokens(text), whole=False)]
