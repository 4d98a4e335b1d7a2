"""Merge one file, ask a resolver about what both sides changed, and check its answer. Writes nothing.

PROVEN = no model decided anything. VERIFIED = the resolver's decision passed every check. REFUSED = no
text may be written; ours is returned as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal

from xpstore.account_check import Objection
from xpstore.conflict import question
from xpstore.errors import DocumentError
from xpstore.merge import merge
from xpstore.resolution_check import check, errors
from xpstore.resolver import Declined

if TYPE_CHECKING:
    from xpstore.conflict import Conflict
    from xpstore.merge import MergeResult
    from xpstore.resolver import Claim, Resolver

ATTEMPTS = 2  # a second answer is given with the objections to the first at hand


@dataclass(frozen=True, slots=True)
class Resolved:
    """What a merge came to, and why."""

    text: str | None
    """None = the file is deleted. Where refused, ours as it was."""
    verdict: Literal["PROVEN", "VERIFIED", "REFUSED"]
    merged: MergeResult
    """The merge without a resolver, with its account of what is not in conflict."""
    conflict: Conflict | None = None
    account: tuple[Claim, ...] = ()
    """The resolver's account, by the numbers of the conflict."""
    objections: tuple[Objection, ...] = ()
    """Errors where refused, and warnings."""


def resolve(
    base: str | None, ours: str | None, theirs: str | None, resolver: Resolver, where: str = ""
) -> Resolved:
    """Merge three versions of a file; None = no file. Call it outside of any lock: a resolver may take long.

    A model is asked about every overlap, a fixed rule only where the merge alone may not be written. Where
    the answer is refused, or there is none, but the merge alone may be written, that is the result.
    """
    merged = merge(base, ours, theirs, where)
    is_settled = merged.verdict == "PROVEN" and not (merged.overlaps and resolver.model)
    conflict = None if is_settled else question(base, ours, theirs, merged, where)
    if conflict is None:
        return Resolved(merged.text, merged.verdict, merged)
    objections: tuple[Objection, ...] = ()
    for _ in range(ATTEMPTS):
        answer = resolver.resolve(conflict.hunks, errors(objections))
        if isinstance(answer, Declined):
            objections += (Objection("declined", answer.reason),)
            break
        text, objections = _made(conflict, answer.decisions, answer.account)
        if text is not None:
            verdict: Literal["PROVEN", "VERIFIED"] = "VERIFIED" if resolver.model else "PROVEN"
            return Resolved(text, verdict, merged, conflict, answer.account, objections)
    return Resolved(merged.text, merged.verdict, merged, conflict, (), objections)


@dataclass
class Asking:
    """Merges pages for a landing, and asks a resolver; keeps what every merge came to.

    Hand it to `landing.land` as `merge_page`. Where main moves meanwhile, only new questions are asked.
    """

    resolver: Resolver
    resolved: dict[tuple[str | None, str | None, str | None, str], Resolved] = field(default_factory=dict)
    """By base, ours, theirs and path."""

    def __call__(self, base: str | None, ours: str | None, theirs: str | None, where: str) -> MergeResult:
        """Return the merged page with the verdict of `resolve`."""
        asked = (base, ours, theirs, where)
        if asked not in self.resolved:
            self.resolved[asked] = resolve(base, ours, theirs, self.resolver, where)
        done = self.resolved[asked]
        return replace(done.merged, text=done.text, verdict=done.verdict)


def _made(
    conflict: Conflict, decisions: tuple[tuple[str, ...], ...], account: tuple[Claim, ...]
) -> tuple[str | None, tuple[Objection, ...]]:
    """Return the file of these decisions, or None, and what speaks against it."""
    if len(decisions) != len(conflict.hunks):
        wrong = f"{len(decisions)} decisions for {len(conflict.hunks)} hunks"
        return None, (Objection("account", wrong),)
    try:
        made = conflict.assemble(decisions)
    except DocumentError as error:
        return None, (Objection("front matter", error.message),)
    if made.verdict == "REFUSED" or made.text is None:
        return None, (Objection("outside", "the decision does not fit into the file, or contradicts it"),)
    objections = check(conflict, made.text, account)
    return (None if errors(objections) else made.text), objections
