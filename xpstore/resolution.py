"""Merge one file, ask a resolver about what both sides changed, and check its answer. Writes nothing.

PROVEN = no model decided anything. VERIFIED = the resolver's decision passed every check. REFUSED = no
text may be written; ours is returned as it was.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Literal, TypeAlias

from xpstore.account_check import Objection
from xpstore.conflict import question
from xpstore.errors import DocumentError
from xpstore.merge import Entry, merge
from xpstore.resolution_check import check, errors
from xpstore.resolver import OFFLINE, Claim, Declined, OfflineResolver

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xpstore.conflict import Conflict, Numbered
    from xpstore.merge import MergeResult
    from xpstore.merge_statements import Change
    from xpstore.resolver import Resolver

Question: TypeAlias = tuple[str | None, str | None, str | None, str]
"""Base, ours, theirs and path of a page."""

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
    resolved_by: str = ""
    """Who decided what both sides had changed; empty where they changed nothing that is the same."""

    @property
    def as_merge(self) -> MergeResult:
        """The result as what merges a page returns it, the resolver's claims in the account."""
        account = self.merged.account
        if self.conflict is not None and self.account:
            decided = entries(self.conflict, self.account)
            numbered = {(entry.section, entry.text) for entry in decided}
            account = (*(e for e in account if (e.section, e.text) not in numbered), *decided)
        return replace(
            self.merged, text=self.text, verdict=self.verdict, resolved_by=self.resolved_by, account=account
        )


def resolve(
    base: str | None, ours: str | None, theirs: str | None, resolver: Resolver, where: str = ""
) -> Resolved:
    """Merge three versions of a file; None = no file. Call it outside of any lock: a resolver may take long.

    A model is asked about every overlap, a fixed rule only where the merge alone may not be written. Where
    the answer is refused, or there is none, but the merge alone may be written, that is the result.
    """
    merged = merge(base, ours, theirs, where)
    alone = Resolved(merged.text, merged.verdict, merged, resolved_by=_rule(merged))
    conflict = None if is_settled(merged, resolver) else question(base, ours, theirs, merged, where)
    if conflict is None:
        return alone
    objections: tuple[Objection, ...] = ()
    for _ in range(ATTEMPTS):
        answer = resolver.resolve(conflict.hunks, errors(objections))
        if isinstance(answer, Declined):
            objections += (Objection("declined", answer.reason),)
            break
        text, objections = _made(conflict, answer.decisions, answer.account)
        if text is not None:
            verdict: Literal["PROVEN", "VERIFIED"] = "VERIFIED" if resolver.model else "PROVEN"
            return Resolved(text, verdict, merged, conflict, answer.account, objections, resolver.name)
    return replace(alone, conflict=conflict, objections=objections)


def is_settled(merged: MergeResult, resolver: Resolver) -> bool:
    """Return whether a resolver would not be asked about the outcome of a merge."""
    return merged.verdict == "PROVEN" and not (merged.overlaps and resolver.model)


class UnaskedError(Exception):
    """A question that nobody was asked yet, met where nobody may be asked. Ask, and start over."""

    def __init__(self, question: Question) -> None:
        super().__init__(question[-1])
        self.question = question


@dataclass
class Asking:
    """Merges pages, and asks a resolver; keeps what every merge came to.

    Where a branch moves meanwhile, only new questions are asked.
    """

    resolver: Resolver = field(default_factory=OfflineResolver)
    resolved: dict[Question, Resolved] = field(default_factory=dict)
    """By base, ours, theirs and path."""

    def __call__(self, base: str | None, ours: str | None, theirs: str | None, where: str) -> MergeResult:
        """Return the merged page with the verdict of `resolve`."""
        asked = (base, ours, theirs, where)
        if asked not in self.resolved:
            self.resolved[asked] = resolve(base, ours, theirs, self.resolver, where)
        return self.resolved[asked].as_merge

    def known(self, base: str | None, ours: str | None, theirs: str | None, where: str) -> MergeResult:
        """Return the same without asking a model, so that it may be called under a lock.

        Raises UnaskedError where one would have to be asked.
        """
        asked = (base, ours, theirs, where)
        if asked not in self.resolved and self.resolver.model:
            merged = merge(base, ours, theirs, where)
            if not is_settled(merged, self.resolver) and question(base, ours, theirs, merged, where):
                raise UnaskedError(asked)
        return self(base, ours, theirs, where)


def entries(conflict: Conflict, account: Iterable[Claim]) -> tuple[Entry, ...]:
    """Return a resolver's account of a conflict, statement by statement, in the order of their numbers."""
    claims = {claim.number: claim for claim in account}
    found = [(s, claims[s.number]) for hunk in conflict.hunks for s in hunk.statements if s.number in claims]
    return tuple(
        Entry(s.section, s.text, *_origin(s), claim.fate, claim.reason, claim.into, s.number)
        for s, claim in found
    )


def claims(account: Iterable[Entry]) -> tuple[Claim, ...]:
    """Return what `entries` made entries of."""
    return tuple(Claim(e.number, e.fate, e.into, e.reason) for e in account if e.number)


def _origin(statement: Numbered) -> tuple[Literal["ours", "theirs", "both"], Change]:
    """Return which side added or removed a statement; both and "changed" where all three versions have it."""
    mine, yours = ("ours" in statement.sides, "theirs" in statement.sides)
    if statement.is_added:
        return ("both" if mine and yours else "ours" if mine else "theirs"), "added"
    if mine and yours:
        return "both", "changed"
    return ("theirs" if mine else "ours" if yours else "both"), "removed"


def _rule(merged: MergeResult) -> str:
    """Return who decided where nobody was asked: the rule that keeps both, if anything overlapped."""
    return OFFLINE if merged.overlaps and merged.verdict == "PROVEN" else ""


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
