"""People decide what a merge refused: take one side of what is in conflict, or edit it between markers.

What is not in conflict is merged as always, so that taking a side never takes the whole file. Nothing is
written here.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from xpstore.conflict import question
from xpstore.document import Document
from xpstore.errors import DocumentError, RefusedError
from xpstore.merge import Entry, merge
from xpstore.merge_driver import both, drive
from xpstore.resolution_check import check_text
from xpstore.resolver import PERSON

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from xpstore.account_check import Objection
    from xpstore.merge import MergeResult
    from xpstore.merge_statements import Fate
    from xpstore.resolution import Question

Taken = Literal["ours", "theirs"]
MARKERS_LEFT = "markers are left in it"
EDIT_AGAIN = "nothing was moved; edit it again, or choose a side with --take ours|theirs"


@dataclass(frozen=True, slots=True)
class Decided:
    """One page that somebody decided."""

    path: str
    dropped: tuple[str, ...]
    """Statements (or a whole file) that one side has and the result has not, word for word."""


@dataclass
class TakeSide:
    """Merges pages, and takes one side wherever they exclude each other."""

    side: Taken
    decided: dict[str, Decided] = field(default_factory=dict)
    """By path."""

    def __call__(self, base: str | None, ours: str | None, theirs: str | None, where: str) -> MergeResult:
        """Return the merged page; REFUSED where even one side of each hunk makes no sound page."""
        result = merge(base, ours, theirs, where)
        if result.verdict == "PROVEN":
            return result
        mine, yours = (ours, theirs) if self.side == "ours" else (theirs, ours)
        conflict = question(base, ours, theirs, result, where)
        if conflict is None:  # deleted on one side, or no page: then it is one file or the other
            self.decided[where] = Decided(where, () if yours is None else (yours,))
            return _by_person(result, (base, ours, theirs, where), mine)
        chosen = [[s.text for s in hunk.of(self.side)] for hunk in conflict.hunks]
        made = conflict.assemble(chosen)
        added = [s for hunk in conflict.hunks for s in hunk.statements if s.is_added]
        self.decided[where] = Decided(where, tuple(s.text for s in added if self.side not in s.sides))
        return made if made.verdict == "REFUSED" else _by_person(made, (base, ours, theirs, where), made.text)


@dataclass
class Edited:
    """Merges pages, and has a person edit those in conflict."""

    edit: Callable[[str, str], str | None]
    """Shows the text (path, text with markers) and returns the edited one; None = the person gave up.

    So is an empty text, as in git, and one that is as it was.
    """
    decided: dict[str, Decided] = field(default_factory=dict)
    """By path."""
    left: dict[str, str] = field(default_factory=dict)
    """Why a page was left undecided, by path."""
    _known: dict[tuple[str | None, ...], str] = field(default_factory=dict)

    def __call__(self, base: str | None, ours: str | None, theirs: str | None, where: str) -> MergeResult:
        """Return the merged page; REFUSED where the person left it. The same question is put once.

        Raises RefusedError where the edited text has markers left, lost its front matter, does not parse, or
        commands opposite things.
        """
        result = merge(base, ours, theirs, where)
        if result.verdict == "PROVEN":
            return result
        asked = (base, ours, theirs, where)
        if asked not in self._known:
            marked = _marked(base, ours, theirs, where)
            text = self.edit(where, marked)
            if text is None or text == marked or not text.strip():
                self.left[where] = (
                    "nothing was saved" if text is None else "it is empty" if text != marked else MARKERS_LEFT
                )
                return result
            wrong = _wrong(check_text(asked[:3], text, where))
            if wrong:
                raise RefusedError(f"{where}: {'; '.join(wrong)}", hint=EDIT_AGAIN)
            self._known[asked] = text
        text = self._known[asked]
        lines = {line.strip() for line in text.split("\n")}
        lost = [
            line for side in (ours, theirs) for line in (side or "").splitlines() if line.strip() not in lines
        ]
        self.decided[where] = Decided(where, tuple(dict.fromkeys(line for line in lost if line.strip())))
        return _by_person(result, asked, text)


def _marked(base: str | None, ours: str | None, theirs: str | None, where: str) -> str:
    """Return the page with markers; both versions of it where one side deleted it."""
    if ours is None or theirs is None:
        return both(ours, theirs)
    return drive(_bytes(base), _bytes(ours), _bytes(theirs), where=where).data.decode()


def _wrong(objections: Iterable[Objection]) -> list[str]:
    """Return what is wrong with an edited text, in the words of the person who edited it."""
    said = {"markers": MARKERS_LEFT}
    still = {"contradiction": "still contradicts: "}
    found = [said.get(o.check, still.get(o.check, "") + o.message) for o in objections if o.is_error]
    return list(dict.fromkeys(found))


def _by_person(result: MergeResult, asked: Question, text: str | None) -> MergeResult:
    """Return a merge that a person decided, with what became of all that a side had added or removed."""
    base, ours, theirs, where = asked
    known, stands = _statements(base, where), set(_statements(text, where))
    mine, yours = _statements(ours, where), _statements(theirs, where)
    account: list[Entry] = []
    for key in dict.fromkeys([*mine, *yours]):
        side: Literal["ours", "theirs", "both"] = (
            "both" if key in mine and key in yours else "ours" if key in mine else "theirs"
        )
        if key not in known:
            fate: Fate = "kept" if key in stands else "dropped"
            account.append(Entry(*key, side, "added", fate, "" if fate == "kept" else "a person decided"))
    for key in known:
        if key not in stands:
            side = "both" if key not in mine and key not in yours else "theirs" if key in mine else "ours"
            account.append(Entry(*key, side, "removed", "kept"))
    return replace(result, text=text, verdict="VERIFIED", resolved_by=PERSON, account=tuple(account))


def _statements(text: str | None, where: str) -> dict[tuple[str, str], None]:
    """Return section and text of all statements; of a file that is no page, all of it as one."""
    try:
        found = [] if text is None else Document.parse(text, where).statements()
    except DocumentError:
        return {("", text or ""): None}
    return {(s.section, s.text): None for s in found}


def _bytes(text: str | None) -> bytes:
    return (text or "").encode()
