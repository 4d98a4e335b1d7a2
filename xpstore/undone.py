"""Who wrote which statement, and which statements were undone: what a learner must respect.

One pass over first-parent history, oldest first. A statement is known by its experience and its key
(document.py), so that new figures below it leave it what it is, and it keeps its identity when a file is
renamed. A plan that gave it new figures stands behind it as much as the plan that added it.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xpstore import evidence, frontmatter, timeline
from xpstore.document import Document
from xpstore.errors import DocumentError
from xpstore.events import learner_name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from xpstore.events import Change
    from xpstore.location import Location
    from xpstore.timeline import Moment


@dataclass(frozen=True, slots=True)
class Undone:
    """A statement that history had and the tip has not, and not because a learner took it back."""

    experience: str
    key: str
    rollouts: frozenset[str]
    """What the plans that had written it cite: others must support it before it comes back."""


@dataclass(slots=True)
class _Line:
    """The life of one statement."""

    learners: frozenset[str] = frozenset()
    """Who added it last; empty for people."""
    plans: set[str] = field(default_factory=set)
    """All plans that ever added it, or changed its text under the same key (its figures)."""
    gone: bool = False
    """Taken away by a revert or by a person."""


@dataclass(slots=True)
class _Page:
    """An experience under all names that it has had."""

    names: set[str]
    lines: dict[str, _Line] = field(default_factory=dict)

    def absorb(self, other: _Page) -> None:
        """Take over what another page knows: this one got its name back, or its place."""
        self.names |= other.names
        for key, line in other.lines.items():
            mine = self.lines.setdefault(key, line)
            mine.plans |= line.plans


@dataclass(slots=True)
class History:
    """The statements of a branch: who wrote them, which were undone."""

    loc: Location
    pages: dict[str, _Page] = field(default_factory=dict)
    _texts: dict[str, Mapping[str, tuple[str, ...]]] = field(default_factory=dict)
    _claims: dict[tuple[str, str, bool], Moment] = field(default_factory=dict)
    """Experience, key and "it was added" → what a merged side has to say on it."""
    _writers: dict[tuple[str, str], set[str]] = field(default_factory=dict)
    """Experience and key → the plans of a merged side that wrote it."""

    @classmethod
    def read(cls, loc: Location, ref: str) -> History:
        """Read the first-parent history of a ref. Raises NotFoundError for an unknown one."""
        history = cls(loc)
        for moment in timeline.build(loc, ref).moments:
            for change in moment.entry.changes:
                history._apply(moment, change)
            if not moment.side:
                history._claims.clear()
                history._writers.clear()
        return history

    def of_learner(self, learner: str) -> dict[str, frozenset[str]]:
        """Return experience → keys of the statements whose last author is this learner (any version)."""
        who = learner_name(learner)
        found = {
            name: frozenset(k for k, line in page.lines.items() if who in line.learners)
            for name, page in self.pages.items()
        }
        return {name: keys for name, keys in found.items() if keys}

    def undone(self) -> list[Undone]:
        """Return what plans had written and people took away, sorted; under every name the page has had.

        So is what had been merged into it: else the same edits, merged again, would bring it back.
        """
        cited: dict[str, frozenset[str]] = {}
        merged: dict[str, Mapping[str, frozenset[tuple[str, str]]]] = {}
        found = set()
        for page in self.pages.values():
            for key, line in page.lines.items():
                if line.gone and line.plans:
                    for plan in line.plans - cited.keys():
                        cited[plan] = cited_rollouts(self.loc, plan)
                        merged[plan] = merged_statements(self.loc, plan)
                    rollouts = frozenset[str]().union(*(cited[p] for p in line.plans))
                    found |= {Undone(name, key, rollouts) for name in page.names}
                    sources = frozenset[tuple[str, str]]().union(
                        *(merged[p].get(key, ()) for p in line.plans)
                    )
                    found |= {Undone(*source, rollouts) for source in sources if not self._stands(*source)}
        return sorted(found, key=lambda u: (u.experience, u.key))

    def _stands(self, name: str, key: str) -> bool:
        page = self.pages.get(name)
        return page is not None and key in page.lines and not page.lines[key].gone

    def _apply(self, moment: Moment, change: Change) -> None:
        before, after = self._statements(change.before), self._statements(change.after)
        added, removed = after.keys() - before.keys(), before.keys() - after.keys()
        written = [key for key, texts in after.items() if texts != before.get(key)]
        if moment.side:
            for key in written:
                self._writers.setdefault((change.name, key), set()).update(_authors(moment))
            for key in added:
                self._claims[change.name, key, True] = moment
            for key in removed:
                self._claims[change.name, key, False] = moment
            return
        page = self._page(change)
        for key in added:
            self._add(page, key, self._claims.get((change.name, key, True), moment))
        for key in written:
            line = page.lines.setdefault(key, _Line())
            line.plans |= _authors(moment) | self._writers.get((change.name, key), set())
        for key in removed:
            by = self._claims.get((change.name, key, False), moment)
            page.lines.setdefault(key, _Line()).gone = not by.learners

    def _page(self, change: Change) -> _Page:
        page = self.pages.setdefault(change.name, _Page({change.name}))
        if change.kind == "R" and change.old_name in self.pages:
            page.absorb(self.pages.pop(change.old_name))
        return page

    def _add(self, page: _Page, key: str, moment: Moment) -> None:
        is_new = key not in page.lines
        line = page.lines.setdefault(key, _Line())
        line.gone = False
        if moment.role in {"plan", "redo"}:
            line.learners = moment.learners
        elif moment.role == "person" or is_new:
            line.learners = frozenset()

    def _statements(self, blob: str) -> Mapping[str, tuple[str, ...]]:
        if not blob:
            return {}
        if blob not in self._texts:
            text = self.loc.repo.blob(blob).decode("utf-8", "replace")
            self._texts[blob] = statement_texts(text)
        return self._texts[blob]


def _authors(moment: Moment) -> set[str]:
    """Return the plans whose doing a change is; none for people and for what undoes."""
    return set(moment.plans) if moment.role in {"plan", "redo"} else set()


def statement_texts(text: str) -> dict[str, tuple[str, ...]]:
    """Return key → texts of all statements of a file, also where its front matter does not parse."""
    try:
        _, body = frontmatter.split(text)
    except DocumentError:
        body = text
    found: dict[str, tuple[str, ...]] = {}
    for statement in Document.parse(f"\n{body}").statements():
        # interned: versions of a file share most of their texts
        found[statement.key] = (*found.get(statement.key, ()), sys.intern(statement.text))
    return found


def cited_rollouts(loc: Location, plan_id: str) -> frozenset[str]:
    """Return the ids of the rollouts that a plan's records cite; none where the records are gone."""
    found: set[str] = set()
    for record in evidence.records(loc, plan_id).values():
        rollouts = record.get("rollouts")
        for rollout in rollouts if isinstance(rollouts, list) else ():
            if isinstance(rollout, dict):
                found.add(str(rollout.get("id")))
    return frozenset(found)


def merged_statements(loc: Location, plan_id: str) -> dict[str, frozenset[tuple[str, str]]]:
    """Return the key of a statement → page and key of those that a plan's records say it stands for.

    Those were merged into it, or superseded by it, when edits of one batch were put together.
    """
    found: dict[str, set[tuple[str, str]]] = {}
    for record in evidence.records(loc, plan_id).values():
        for row in _accounts(record):
            if row.get("fate") in {"merged", "superseded"}:
                source = {(str(row.get("page")), key) for key in statement_texts(str(row.get("text")))}
                for key in statement_texts(str(row.get("into"))):
                    found.setdefault(key, set()).update(source)
    return {key: frozenset(sources) for key, sources in found.items()}


def _accounts(record: Mapping[str, object]) -> Iterator[dict[str, object]]:
    """Yield the rows of a record that say what became of statements."""
    items = record.get("items")
    for item in items if isinstance(items, list) else ():
        metadata = item.get("metadata") if isinstance(item, dict) else None
        rows = metadata.get("account") if isinstance(metadata, dict) else None
        yield from (row for row in (rows if isinstance(rows, list) else ()) if isinstance(row, dict))


def learner_statements(loc: Location, ref: str, learner: str) -> dict[str, frozenset[str]]:
    """Return experience → keys of the statements that this learner wrote, its version left aside."""
    return History.read(loc, ref).of_learner(learner)


def undone_statements(loc: Location, ref: str) -> list[Undone]:
    """Return the statements that must not come back on the same evidence."""
    return History.read(loc, ref).undone()
