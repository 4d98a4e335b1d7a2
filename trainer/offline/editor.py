"""OfflineEditor: proposes edits of experiences from all evidence, one gradient per lesson. No model."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.domain import EditResult
from trainer.offline.facts import read_facts
from trainer.offline.grammar import parse_lesson
from trainer.offline.learn import Learned, Learning, learn
from trainer.offline.page import Entry, new_page, page_name, refreshed, with_entry, without
from trainer.offline.report import report, why_nothing
from trainer.offline.wording import confidence, is_instructed, rationale, statement
from xpstore import polarity
from xpstore.document import Document
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Sequence

    from pydantic import JsonValue

    from trainer.context import ExperienceGradientContext
    from trainer.domain import RolloutAnalysis
    from trainer.interfaces import GroupScope
    from trainer.offline.facts import Facts
    from xpstore.experience import Experience, ExperienceSet

NAME = "offline"
VERSION = "1"


class OfflineEditor:
    """ExperienceEditor that finds what separates rollouts that failed from those that passed."""

    name = NAME
    version = VERSION
    learner = f"{NAME}/{VERSION}"
    scope: GroupScope = "batch"

    async def edit(
        self,
        analyses: Sequence[RolloutAnalysis],
        experience_set: ExperienceSet,
        context: ExperienceGradientContext,
    ) -> EditResult:
        """Return one gradient per lesson that is new, has other figures now, or no longer holds.

        `analyses` is all evidence there is, in any order; the result is a function of their set.
        """
        return await asyncio.to_thread(edit, analyses, experience_set, context)


@dataclass(frozen=True, slots=True)
class _Wanted:
    """A lesson as it should stand in its page."""

    entry: Entry
    learned: Learned


def edit(
    analyses: Iterable[RolloutAnalysis], experience_set: ExperienceSet, context: ExperienceGradientContext
) -> EditResult:
    """Return what `OfflineEditor.edit` returns."""
    known = {a.rollout.id: a for a in analyses}
    facts = [read_facts(known[i].rollout, known[i].evaluation) for i in sorted(known)]
    learning = learn(facts)
    editing = _Editing(known, facts, learning, context)
    gradients = tuple(editing.gradients(experience_set))
    cited = {i for g in gradients for i in g.rollouts}
    return EditResult(
        gradients=gradients,
        nothing=why_nothing(learning, facts, cited, _sentences(editing.undone), _sentences(editing.opposed)),
        report=report(learning, editing.undone, editing.opposed),
    )


def _sentences(kept_away: Iterable[str]) -> set[str]:
    return {line.partition(": ")[2] for line in kept_away}


class _Editing:
    """One call of `edit`: the pages as they should be against the pages as they are."""

    def __init__(
        self,
        known: dict[str, RolloutAnalysis],
        facts: Sequence[Facts],
        learning: Learning,
        context: ExperienceGradientContext,
    ) -> None:
        self._known = known
        self._facts = facts
        self._history = context.history
        self._pages: dict[str, list[_Wanted]] = {}
        self._tools: dict[str, str] = {}
        self._again: dict[frozenset[str], frozenset[str]] = {}
        self.undone: list[str] = []
        """Lessons that hold and stay away because somebody undid them."""
        self.opposed: list[str] = []
        """Lessons that hold and stay away because a person wrote the opposite."""
        instructions = "\n".join(sorted({f.system for f in facts}))
        for learned in learning.lessons:
            lesson = learned.lesson
            text = statement(learned, instructed=is_instructed(lesson.sentence(), instructions))
            name = page_name(lesson.page)
            self._tools[name] = min(lesson.page, self._tools.get(name, lesson.page))
            self._pages.setdefault(name, []).append(_Wanted(Entry(lesson.section, text), learned))
        for wanted in self._pages.values():
            wanted.sort(key=lambda w: w.entry.rank)

    def gradients(self, experience_set: ExperienceSet) -> Iterator[PatchSemanticGradient]:
        """Yield the edits page by page, in the order in which their lessons stand."""
        for name in sorted(self._pages.keys() | self._history.learner_statements.keys()):
            current = experience_set.get(name)
            wanted = [w for w in self._pages.get(name, []) if self._is_allowed(name, w, current)]
            if current is not None:
                yield from self._changes(current, wanted)
            else:
                for one in wanted:
                    after = new_page(self._tools[name], [one.entry])
                    yield self._proposed(MemoryFile(name=name, content=after), None, one)

    def _changes(self, current: Experience, wanted: Sequence[_Wanted]) -> Iterator[PatchSemanticGradient]:
        before = MemoryFile(name=current.name, content=current.text)
        mine = self._history.learner_statements.get(current.name, frozenset())
        statements = Document.parse(current.text, current.uri).statements()
        there = {s.key: s for s in statements}
        keys = {w.entry.key for w in wanted}
        gone = [s for s in statements if s.key in mine and s.key not in keys and parse_lesson(s.key)]
        if gone and not wanted and all(s.key in mine for s in statements):
            yield self._removed(before, None, [s.key for s in gone])
        else:
            for old in gone:
                after = MemoryFile(name=current.name, content=without(current.text, old.section, old.key))
                yield self._removed(before, after, [old.key])
        for one in wanted:
            entry = one.entry
            if entry.key in there:
                if entry.key not in mine:
                    continue  # a person wrote the same sentence: it stays as it is
                old = there[entry.key]
                entry = Entry(old.section, refreshed(old, entry))
            text = with_entry(current.text, entry)
            if text != current.text:
                yield self._proposed(MemoryFile(name=current.name, content=text), before, one)

    def _is_allowed(self, name: str, wanted: _Wanted, current: Experience | None) -> bool:
        """Say no to what contradicts a person's word in the page, and to what was undone.

        What was undone comes back where rollouts that the undone plans did not cite teach it again.
        """
        key = wanted.entry.key
        if current is not None:
            there = {s.key for s in current.document.statements()}
            if key in there:
                return True
            people = there - self._history.learner_statements.get(name, frozenset())
            if any(polarity.contradict(polarity.command(key), polarity.command(p)) for p in people):
                self.opposed.append(f"{name}: {key}")
                return False
        undone = [u for u in self._history.undone if u.experience == name and u.key == key]
        if not undone:
            return True
        without_them = frozenset().union(*(u.rollouts for u in undone))
        if without_them not in self._again:
            rest = learn(f for f in self._facts if f.id not in without_them)
            self._again[without_them] = frozenset(found.lesson.sentence() for found in rest.lessons)
        if wanted.learned.lesson.sentence() in self._again[without_them]:
            return True
        self.undone.append(f"{name}: {key}")
        return False

    def _proposed(
        self, after: MemoryFile, before: MemoryFile | None, wanted: _Wanted
    ) -> PatchSemanticGradient:
        learned = wanted.learned
        return PatchSemanticGradient(
            before_file=before,
            after_file=after,
            rationale=f"{learned.lesson.sentence()} {rationale(learned)}",
            evidence_trajectory_uris=self._notes(learned.support),
            rollouts=learned.support,
            confidence=confidence(learned.left_out),
            metadata=_metadata(learned),
        )

    def _removed(
        self, before: MemoryFile, after: MemoryFile | None, keys: Sequence[str]
    ) -> PatchSemanticGradient:
        lessons = [lesson for key in keys if (lesson := parse_lesson(key)) is not None]
        shown = tuple(
            sorted(f.id for f in self._facts if any(lesson.judge(f) != "silent" for lesson in lessons))
        )
        families: list[JsonValue] = [lesson.family for lesson in lessons]
        return PatchSemanticGradient(
            before_file=before,
            after_file=after,
            rationale=f"No longer holds with {len(self._facts)} rollouts of evidence: {' '.join(keys)}",
            evidence_trajectory_uris=self._notes(shown),
            rollouts=shown,
            confidence=0.5,
            metadata={"removed": list(keys), "families": families},
        )

    def _notes(self, rollouts: Iterable[str]) -> tuple[str, ...]:
        return tuple(sorted(t.uri for i in rollouts for t in self._known[i].trajectories))


def _metadata(learned: Learned) -> dict[str, JsonValue]:
    return {
        "family": learned.lesson.family,
        "outcome": learned.outcome,
        "score": round(learned.score, 3),
        "support": {"rollouts": len(learned.support), "cases": learned.cases},
        "left_out": dict(learned.left_out._asdict()),
        "left_out_failed": dict(learned.left_out_failed._asdict()),
    }
