"""How a page of a plan was merged, as the plan's record keeps it: what went in, what came out, who decided.

Of the versions, base and ours are in the branch's history. What the plan wanted is in no history once it was
merged, so its text stays here. The account has the words of every statement that a side added, changed or
removed, so that a reader needs none of them.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from xpstore.hashing import blob_id
from xpstore.merge_statements import Entry
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xpstore.merge import MergeResult


class MergedPage(Frozen):
    """One page that a branch and a plan had both changed. Blob ids; forty zeros = no file."""

    name: str
    base: str
    """What the plan was made on."""
    ours: str
    """What the branch had."""
    theirs: str
    """What the plan wanted."""
    wanted: str | None = None
    """The text of `theirs`."""
    result: str
    verdict: Literal["PROVEN", "VERIFIED"]
    """VERIFIED = a model or a person decided, and it passed the checks; PROVEN = fixed rules did."""
    resolved_by: str = ""
    """Who decided what both had changed: a resolver's name, `person`, or nobody, for nothing overlapped."""
    account: tuple[Entry, ...] = ()
    """What became of every statement that either had added, changed or removed."""

    @classmethod
    def of(
        cls, name: str, blobs: tuple[str, str, str], result: MergeResult, wanted: str | None = None
    ) -> MergedPage:
        """Return what a merge came to. `blobs`: base, ours, theirs. Raises ValueError for a refused one."""
        if result.verdict == "REFUSED":
            raise ValueError(f"{name} was not merged")
        base, ours, theirs = blobs
        return cls(
            name=name,
            base=base,
            ours=ours,
            theirs=theirs,
            wanted=wanted,
            result=blob_id(result.text),
            verdict=result.verdict,
            resolved_by=result.resolved_by,
            account=result.account,
        )


def deciders(pages: Iterable[MergedPage], before: str = "") -> str:
    """Return who decided, for the trailer `Resolved-By`: those named before, then those of the pages."""
    named = [*before.split(", "), *(page.resolved_by for page in pages)]
    return ", ".join(dict.fromkeys(name for name in named if name))
