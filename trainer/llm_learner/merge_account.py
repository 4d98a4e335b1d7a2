"""What pages an answer about edits that meet makes. Code builds them; what is not named stays. Pure."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

from trainer.llm_learner.claims import as_item
from trainer.llm_learner.layout import laid_out
from xpstore.document import Document

if TYPE_CHECKING:
    from collections.abc import Collection, Iterator, Sequence

    from trainer.llm_learner.merge_form import MergeAnswer, PageChange, PageFate, PageWording
    from trainer.llm_learner.union import Said, Union


@dataclass(frozen=True)
class Account:
    """The part of an answer that is about one group."""

    union: Union
    fates: tuple[PageFate, ...]
    wordings: tuple[PageWording, ...]
    changes: tuple[PageChange, ...]
    taken: frozenset[str]
    """Names of pages, beyond the group's, that a new page may not have."""
    mark: str = ""
    """What stands around quoted data; no text has it."""

    @cached_property
    def by_number(self) -> dict[int, PageFate]:
        """What is said of each statement."""
        return {fate.number: fate for fate in self.fates}

    @cached_property
    def change_of(self) -> dict[str, PageChange]:
        """What becomes of a page, by its name before."""
        return {change.page: change for change in self.changes}

    @cached_property
    def final(self) -> dict[str, str]:
        """Page before → its name in the end; without those that are deleted, with new ones."""
        found = {page: page for page in self.union.group.pages} | {
            c.page: c.page for c in self.changes if c.change == "new"
        }
        for change in self.changes:
            if change.change == "renamed":
                found[change.page] = change.name
            elif change.change == "deleted":
                found.pop(change.page, None)
        return found

    def page_of(self, said: Said) -> str | None:
        """Return the page (by its name in the end) where a statement stands; None where it does not."""
        fate = self.by_number.get(said.number)
        if fate is None:
            return None if said.is_open else self.final.get(said.page)
        if fate.fate != "kept":
            return None
        place = fate.page or said.page
        return self.final.get(place, place if place in self.final.values() else None)

    @cached_property
    def worded(self) -> dict[int, str]:
        """Number → text of the new wordings."""
        return {w.number: as_item(w.text, self._like(w)) for w in self.wordings}

    def sources(self, wording: PageWording) -> list[Said]:
        """Return the statements that a wording says, or replaces."""
        return [s for s in self.union.statements if self._into(s) == wording.number]

    def _into(self, said: Said) -> int:
        fate = self.by_number.get(said.number)
        return fate.into if fate is not None and fate.fate in {"merged", "superseded"} else 0

    def _like(self, wording: PageWording) -> str:
        return next((s.text for s in self.sources(wording)), "")

    def texts(self) -> dict[str, str]:
        """Return the pages as they are in the end, by their names in the end, where they say anything.

        Raises DocumentError where a text would not be read back as one statement.
        """
        made: dict[str, str] = {}
        for before, after in self.final.items():
            wanted = self._wanted(before, after)
            if any(wanted.values()):
                made[after] = laid_out(self._head(before, after), wanted)
        return made

    def _wanted(self, before: str, after: str) -> dict[str, list[str]]:
        """Return what a page says, by section; what is new to it stands there once."""
        found: dict[str, list[str]] = {}
        for section, text, is_there in self._rows(before, after):
            texts = found.setdefault(section, [])
            if is_there or text not in texts:
                texts.append(text)
        return found

    def _rows(self, before: str, after: str) -> Iterator[tuple[str, str, bool]]:
        """Yield section and text of what a page says: its own in order, wordings where their sources stood.

        With it, whether it stood on the page before.
        """
        left = {w.number: w for w in self.wordings if self.final.get(w.page, w.page) == after}
        for said in self.union.of(before):
            if self.page_of(said) == after:
                yield said.section, said.text, said.is_there
            if wording := left.pop(self._into(said), None):
                yield wording.section, self.worded[wording.number], False
        for said in self.union.statements:
            if said.page != before and self.page_of(said) == after:
                yield said.section, said.text, False
        for number, wording in left.items():
            yield wording.section, self.worded[number], False

    def _head(self, before: str, after: str) -> Document:
        """Return the page before, with the front matter that it has in the end."""
        change = self.change_of.get(before)
        head = self.union.heads.get(before) or Document.build(
            {"name": after, "description": "", **self._status(after)}, []
        )
        if change is not None and change.description:
            head = head.with_fields(description=change.description)
        return head.with_fields(name=after) if "name" in head.front and head.front["name"] != after else head

    def _status(self, page: str) -> dict[str, object]:
        """Return the status of a page that is split off: that of the page which most of it comes from."""
        origins = Counter(s.page for s in self.union.statements if self.page_of(s) == page)
        origins.update(s.page for w in self.wordings if w.page == page for s in self.sources(w))
        front = self.union.heads[origins.most_common(1)[0][0]].front if origins else {}
        return {"status": front["status"]} if "status" in front else {}


def accounts_of(
    answer: MergeAnswer, unions: Sequence[Union], taken: Collection[str], mark: str
) -> list[tuple[Account, list[str]]]:
    """Divide an answer among the groups that it is about; with each, what of the answer is about nothing.

    A wording belongs to the group of the statements that lead to it, a new page to that of what stands on it.
    What nobody can place speaks against the whole answer.
    """
    made: list[Account] = []
    for union in unions:
        fates = tuple(f for f in answer.account if f.number in union.by_number)
        into = {f.into for f in fates if f.fate in {"merged", "superseded"}}
        wordings = tuple(w for w in answer.wordings if w.number in into)
        places = {*union.group.pages, *(f.page for f in fates), *(w.page for w in wordings)}
        changes = tuple(c for c in answer.pages if c.page in places)
        others = frozenset(taken) - set(union.group.pages)
        made.append(Account(union, fates, wordings, changes, others, mark))
    return [(account, list(_strays(answer, made))) for account in made]


def _strays(answer: MergeAnswer, accounts: Sequence[Account]) -> Iterator[str]:
    numbers = {s.number for account in accounts for s in account.union.statements}
    placed = {w.number for account in accounts for w in account.wordings}
    changed = {c.page for account in accounts for c in account.changes}
    for fate in answer.account:
        if fate.number not in numbers:
            yield f"there is no statement {fate.number}"
    for wording in answer.wordings:
        if wording.number in numbers:
            yield f"the number {wording.number} is that of a statement: give wordings their own"
        elif wording.number not in placed:
            yield f"no statement leads to wording {wording.number}"
    for change in answer.pages:
        if change.page not in changed:
            yield f"nothing stands on page {change.page}, and it is not among those that are shown"
