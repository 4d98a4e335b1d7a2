"""From a model's edits to gradients: what may be done, what it does to a page, and on whose evidence.

The model names numbers and gives single statements; code builds the page, and every other byte stays. A
statement of people is never removed or contradicted; what people took back stays away until trials that its
plans did not cite show it again.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass
from itertools import chain, dropwhile
from typing import TYPE_CHECKING, NamedTuple

from trainer.llm_learner.edit_form import SURE
from trainer.llm_learner.shelf import is_in_use
from trainer.llm_learner.wording import LONGEST, faults, is_name, name_of, tidy
from trainer.offline.grammar import parse_lesson
from trainer.offline.page import Entry, appended, new_page, page_name, replaced, with_entry, without
from trainer.suspicion import SUSPECT
from xpstore import polarity
from xpstore.document import Document
from xpstore.experience import MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.names import fold, without_invisible
from xpstore.wording import shingles

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping, Sequence

    from pydantic import JsonValue

    from trainer.context import LearnedHistory, UndoneStatement
    from trainer.domain import RolloutAnalysis
    from trainer.llm_learner.edit_form import Edit, Edits
    from trainer.llm_learner.instance import Instances
    from trainer.llm_learner.shelf import Numbered, Shelf
    from xpstore.experience import Experience, ExperienceSet

SAME = 0.7
"""Jaccard similarity of shingles from which two statements of people's words are the same one."""

_BELOW = re.compile(r"\s*(?:$|[-*+]\s|\d+[.)]\s|```|~~~)")
"""How a line begins that is no more of a statement's first paragraph."""

_LIGHT = re.compile(r"[.,;:!?\"'`*\u2018-\u201f\u2026\u3001\u3002]+")
_FILLERS = frozenset({"a", "an", "the", "please", "always", "then", "that", "which"})


class Dropped(NamedTuple):
    """An edit that is not proposed."""

    edit: Edit
    why: str
    """In sentences; empty where it would change nothing."""


@dataclass(frozen=True, slots=True)
class Editing:
    """One question: what was shown, and what answers are held against."""

    trials: Sequence[RolloutAnalysis]
    """By their numbers, from 1."""
    shelf: Shelf
    experience_set: ExperienceSet
    history: LearnedHistory
    instances: Instances
    mark: str
    suspect: str
    """Why what was shown is not to be trusted; empty = nothing known against it."""
    prompt: str
    """Name and version of the prompt, for the record."""

    def findings(self, answer: Edits) -> list[str]:
        """Return what is wrong with an answer, in sentences that name the edit."""
        if not answer.edits and not answer.nothing.strip():
            return ["there is neither an edit nor a reason in `nothing`"]
        wrong = self.wrong(answer)
        return [f"edit {number}: {why}" for number, found in enumerate(wrong, 1) for why in found]

    def wrong(self, answer: Edits) -> list[list[str]]:
        """Return for each edit what is wrong with it."""
        done: set[tuple[str, str]] = set()
        written: dict[str, list[str]] = {}  # by page
        found: list[list[str]] = []
        for edit in answer.edits:
            problems = list(self._problems(edit))
            touched = set() if problems else set(self._touched(edit))
            if touched & done:
                problems = ["another edit of this answer does that"]
            done |= touched
            if not problems and edit.action in {"update", "create"}:
                text, others = tidy(edit.text), written.setdefault(self._page(edit), [])
                problems = [f"it contradicts another edit, “{o}”" for o in others if _contradict(text, o)]
                others += [] if problems else [text]
            found.append(problems)
        return found

    def gradients(self, answer: Edits) -> tuple[list[PatchSemanticGradient], list[Dropped]]:
        """Return a gradient for each edit that is right, and the others."""
        made: list[PatchSemanticGradient] = []
        dropped: list[Dropped] = []
        whens: dict[str, str] = {}  # a page that several edits create is the same page
        for edit, problems in zip(answer.edits, self.wrong(answer), strict=True):
            if edit.action == "create" and not problems:
                whens.setdefault(name_of(edit.name), tidy(edit.when))
            gradient = None if problems or edit.action == "skip" else self._gradient(edit, whens)
            if gradient is None:
                dropped.append(Dropped(edit, "; ".join(problems)))
            else:
                made.append(gradient)
        return made, dropped

    def cited(self, edit: Edit) -> list[RolloutAnalysis]:
        """Return the trials that an edit cites and that exist, each once."""
        return [self.trials[n - 1] for n in dict.fromkeys(edit.trials) if 1 <= n <= len(self.trials)]

    def is_private(self, text: str) -> bool:
        """Say whether a text has what it may not have anywhere but in its own rollout."""
        return any(faults(text, self.instances, self.mark))

    def _problems(self, edit: Edit) -> Iterator[str]:
        if edit.action == "skip":
            return
        if strangers := sorted({n for n in edit.trials if not 1 <= n <= len(self.trials)}):
            yield f"there is no trial {strangers[0]}, only 1 to {len(self.trials)}"
        if not edit.trials:
            yield "it cites no trial"
        yield from self._misplaced(edit)
        if edit.action == "delete":
            if all(a.evaluation.passed for a in self.cited(edit)):
                yield "it deletes a statement, and cites no trial that failed"
            return
        text = tidy(edit.text)
        yield from faults(text, self.instances, self.mark)
        target = self._target(edit)
        if target is not None and not is_in_use(target):
            yield f"people put the page {target.name} aside"
            return
        if edit.action == "create" and target is None:
            yield from (f"`when`: {why}" for why in faults(tidy(edit.when), self.instances, self.mark))
            if self._tool_of(self._page(edit)) is None:  # the names of tools are anybody's
                yield from (f"`name`: {why}" for why in faults(tidy(edit.name), self.instances, self.mark))
        if target is not None:
            yield from self._opposed(edit, target, text)
        yield from self._taken_back(edit, text)

    def _misplaced(self, edit: Edit) -> Iterator[str]:
        """Say what is wrong with the page or the statement that an edit names."""
        if edit.action == "create":
            if not is_name(edit.name):
                yield "`name` is not the name of a page: words with hyphens"
            return
        if edit.statement and edit.statement not in self.shelf.statements:
            yield f"there is no statement {edit.statement}"
        elif edit.statement and self.shelf.statements[edit.statement].is_fixed:
            yield f"statement {edit.statement} is fixed: it stays as it is"
        elif not edit.statement and edit.action == "delete":
            yield "it names no statement to delete"
        elif not edit.statement and edit.page not in self.shelf.pages:
            yield f"there is no page {edit.page}"

    def _old(self, edit: Edit) -> Numbered | None:
        return self.shelf.statements.get(edit.statement) if edit.action in {"update", "delete"} else None

    def _target(self, edit: Edit) -> Experience | None:
        """Return the page that is changed; None for a new one. A page that exists is not created again."""
        if edit.action == "create":
            return self._named(name_of(edit.name)) if is_name(edit.name) else None
        old = self._old(edit)
        return old.page if old else self.shelf.pages.get(edit.page)

    def _page(self, edit: Edit) -> str:
        """Return the name of the page that is changed or made; empty for a name that is none."""
        target = self._target(edit)
        return target.name if target else name_of(edit.name) if is_name(edit.name) else ""

    def _named(self, name: str) -> Experience | None:
        known = self.experience_set.get(name)
        if known is not None:
            return known
        return next((p for p in self.experience_set.policies if fold(p.name) == fold(name)), None)

    def _touched(self, edit: Edit) -> Iterator[tuple[str, str]]:
        """Yield what no other edit may touch: the statement that it replaces, and the one that it writes."""
        old, name = self._old(edit), self._page(edit)
        if old:
            yield name, gist(old.statement.key)
        if edit.action in {"update", "create"}:
            yield name, gist(_item(edit).key)

    def _opposed(self, edit: Edit, target: Experience, text: str) -> Iterator[str]:
        """Say which statement of the page cannot be followed together with the new one."""
        old = self._old(edit)
        mine = self.history.learner_statements.get(target.name, frozenset())
        for other in target.document.statements():
            if old and other.key == old.statement.key:
                continue
            if _contradict(text, other.key):
                if other.key in mine:
                    yield f"it contradicts “{other.key}”, which has to be replaced then"
                else:
                    yield f"it contradicts “{other.key}”, which people wrote"

    def _taken_back(self, edit: Edit, text: str) -> Iterator[str]:
        undone = self._undone(edit, text)
        if undone and not self._fresh(edit, undone):
            yield "people took this statement back: only other trials can show it again"

    def _undone(self, edit: Edit, text: str) -> list[UndoneStatement]:
        """Return what people took back, of this page, or of any on the same trials, that would be back."""
        name, trials = self._page(edit), {a.rollout.id for a in self.cited(edit)}
        near = [u for u in self.history.undone if u.experience == name or u.rollouts & trials]
        return [u for u in near if is_same(u.key, text)]

    def _fresh(self, edit: Edit, undone: Iterable[UndoneStatement]) -> list[RolloutAnalysis]:
        known = frozenset(chain.from_iterable(u.rollouts for u in undone))
        return [a for a in self.cited(edit) if a.rollout.id not in known]

    def _gradient(self, edit: Edit, whens: Mapping[str, str]) -> PatchSemanticGradient | None:
        target, old = self._target(edit), self._old(edit)
        name = target.name if target else name_of(edit.name)
        if target is None:
            after: str | None = self._new_page(name, whens[name], _item(edit))
        else:
            after = self._after(edit, target, old)
        if after == (target.text if target else None):
            return None
        undone = self._undone(edit, tidy(edit.text)) if edit.action != "delete" else []
        support = sorted(self._fresh(edit, undone), key=lambda a: a.rollout.id)
        metadata: dict[str, JsonValue] = {"action": edit.action, "prompt": self.prompt}
        if old:
            metadata["removed" if edit.action == "delete" else "replaced"] = old.statement.key
        if self.suspect:
            metadata[SUSPECT] = self.suspect
        return PatchSemanticGradient(
            before_file=MemoryFile(name=name, content=target.text) if target else None,
            after_file=MemoryFile(name=name, content=after) if after is not None else None,
            rationale=self._rationale(edit, support),
            evidence_trajectory_uris=tuple(sorted(t.uri for a in support for t in a.trajectories)),
            rollouts=tuple(a.rollout.id for a in support),
            confidence=edit.confidence / SURE,
            metadata=metadata,
        )

    def _after(self, edit: Edit, target: Experience, old: Numbered | None) -> str | None:
        """Return the page with the edit; None where nothing is left of it."""
        if edit.action == "delete" and old:
            return self._without(target, old)
        item = _item(edit)
        keys = {s.key for s in target.document.statements()}
        others = keys - {old.statement.key} if old else keys
        if item.key in keys or gist(item.key) in map(gist, others):
            return target.text  # it is said already
        if old:
            lines = old.statement.body.split("\n")[1:]
            below = dropwhile(lambda line: not _BELOW.match(line), lines)  # what people wrote below it stays
            new = "\n".join([item.text, *below])
            return replaced(target.text, old.statement.section, old.statement.key, new)
        return (with_entry if parse_lesson(item.key) else appended)(target.text, item)

    def _new_page(self, name: str, when: str, item: Entry) -> str:
        """Return a page with one statement. The page of a tool has the words that every learner has for it.

        So the same page of two cases is one page. Those words are English: other pages have the model's.
        """
        lesson = parse_lesson(item.key)
        tool = lesson.page if lesson else self._tool_of(name)
        if tool is not None and page_name(tool) == name and when.isascii():
            return new_page(tool, [item])
        front = {"name": name, "description": when, "status": "production"}
        return Document.build(front, [("Situation", [f"- {when}"]), (item.section, [item.text])]).text

    def _tool_of(self, name: str) -> str | None:
        """Return the tool whose page has this name."""
        tools = {t.tool_name for a in self.trials for t in a.rollout.calls} | self.instances.names
        return min((t for t in tools if page_name(t) == name), default=None)

    def _without(self, page: Experience, old: Numbered) -> str | None:
        """Return the page without a statement; None where a situation is left that no person wrote."""
        mine = self.history.learner_statements.get(page.name, frozenset())
        others = [s for s in page.document.statements() if s.key != old.statement.key]
        if all(s.key in mine for s in others) and all(s.section == "Situation" for s in others):
            return None
        return without(page.text, old.statement.section, old.statement.key)

    def _rationale(self, edit: Edit, support: Sequence[RolloutAnalysis]) -> str:
        failed = sum(not a.evaluation.passed for a in support)
        count = f"{len(support)} trial{'' if len(support) == 1 else 's'} of one case"
        said = without_invisible(tidy(edit.rationale))[:LONGEST]
        if self.is_private(said):
            said = ""  # a commit message outlives what is forgotten
        return f"{said} Seen in {count}, {failed} failed.".strip()


def is_same(one: str, other: str) -> bool:
    """Say whether two statements are the same, in nearly the same words.

    Sentences of the grammar say precisely what they say: two of them are the same word by word or not at all.
    """
    if one == other:
        return True
    if parse_lesson(one) and parse_lesson(other):
        return False
    here, there = shingles(one), shingles(other)
    return bool(here) and len(here & there) >= SAME * len(here | there)


def gist(text: str) -> str:
    """Return a statement without what changes nothing in it: case, punctuation, articles.

    Signs such as `<` and `%` stay, and words such as `only` and `after`: they are the meaning.
    """
    words = _LIGHT.sub(" ", unicodedata.normalize("NFKC", text).casefold()).split()
    return " ".join(word for word in words if word not in _FILLERS)


def _contradict(one: str, other: str) -> bool:
    return polarity.contradict(polarity.command(one), polarity.command(other))


def _item(edit: Edit) -> Entry:
    """Return the statement of an edit; where its words tell the section, there."""
    text = tidy(edit.text)
    lesson = parse_lesson(text)
    return Entry(lesson.section if lesson else edit.section, f"- {text}")
