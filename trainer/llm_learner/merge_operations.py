"""The operations of an account that was found right: which pages change, and which change together. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.patch_merge import SAID, MergedStatement, MergeOperation
from xpstore.errors import XpError
from xpstore.guards import check_items
from xpstore.plan import PolicyPlanItem

if TYPE_CHECKING:
    from collections.abc import Iterator

    from trainer.llm_learner.merge_account import Account
    from trainer.llm_learner.union import Said
    from xpstore.settings import Limits


@dataclass(frozen=True)
class Changed:
    """Pages that change together, because statements went from one to another."""

    pages: dict[str, str | None]
    """Name → new text; None = it goes."""
    edits: frozenset[int]
    """The edits that have a part in it, by their places in the group."""


def changed(account: Account) -> list[Changed]:
    """Return what an account changes. Raises DocumentError where a page cannot be laid out."""
    texts = account.texts()
    current = account.union.current
    pages: dict[str, str | None] = {n: t for n, t in texts.items() if t != current.get(n)}
    pages |= {n: None for n, text in current.items() if text is not None and _goes(account, n)}
    clusters: list[set[str]] = [{name} for name in pages]
    for places in _journeys(account):
        joined = [c for c in clusters if c & places]
        if len(joined) > 1:
            clusters = [c for c in clusters if not c & places]
            clusters.append(set().union(*joined))
    return [Changed({n: pages[n] for n in sorted(c)}, _edits(account, c)) for c in clusters]


def operations(account: Account) -> tuple[MergeOperation, ...]:
    """Return one operation per page that changes; each says which gradients and statements led to it."""
    union = account.union
    made: list[MergeOperation] = []
    for cluster in changed(account):
        rows = [
            row
            for places, edits, row in _rows(account)
            if places & cluster.pages.keys() or edits & cluster.edits
        ]
        for number, (name, text) in enumerate(cluster.pages.items()):
            beyond = frozenset(n for n in cluster.edits if union.group.patches[n - 1].target != name)
            made.append(
                MergeOperation(
                    kind="upsert" if text is not None else "delete",
                    name=name,
                    content=text,
                    reason=_reason(account, name, text),
                    gradients=union.gradients(beyond),
                    account=tuple(rows) if number == 0 else (),
                )
            )
    return tuple(made)


def idle(account: Account) -> dict[str, str]:
    """Return why edits change nothing, by the ids of their gradients."""
    union = account.union
    used = frozenset[int]().union(*(cluster.edits for cluster in changed(account)))
    found: dict[str, str] = {}
    for number in sorted(set(range(1, len(union.group.patches) + 1)) - used):
        fates = [account.by_number.get(s.number) for s in union.statements if number in s.added_by]
        left = [f.reason for f in fates if f is not None and f.fate == "dropped"]
        (gradient,) = union.gradients({number})
        found[gradient] = f"left out when edits were merged: {left[0]}" if left else SAID
    return found


def guard(account: Account, limits: Limits) -> Iterator[str]:
    """Yield why what an account changes may not be written as plans."""
    for cluster in changed(account):
        names = ", ".join(cluster.pages)
        if not cluster.edits:
            yield f"no edit has to do with {names}: leave it as it is"
        items = [
            PolicyPlanItem(
                kind="upsert_experience" if text is not None else "delete_experience",
                target_experience_name=name,
                before_content=account.union.current.get(name),
                after_content=text,
            )
            for name, text in cluster.pages.items()
        ]
        try:
            check_items(items, limits)
        except XpError as error:
            yield error.message


def _goes(account: Account, page: str) -> bool:
    """Whether a page that is there now is not there under its name in the end."""
    change = account.change_of.get(page)
    return (
        change is not None and change.change in {"deleted", "renamed"} and page not in account.final.values()
    )


def _journeys(account: Account) -> Iterator[set[str]]:
    """Yield the names of the pages that one statement, or one page, connects."""
    for before, after in account.final.items():
        yield {before, after}
    for said in account.union.statements:
        yield {said.page, account.final.get(said.page, said.page), *_places(account, said)}


def _places(account: Account, said: Said) -> set[str]:
    """Return where a statement, or what says it now, stands in the end."""
    place = account.page_of(said)
    if place is not None:
        return {place}
    fate = account.by_number.get(said.number)
    if fate is None or fate.fate == "dropped":
        return set()
    wording = next((w for w in account.wordings if w.number == fate.into), None)
    if wording is not None:
        return {account.final.get(wording.page, wording.page)}
    other = account.union.by_number.get(fate.into)
    place = account.page_of(other) if other else None
    return {place} if place else set()


def _edits(account: Account, cluster: set[str]) -> frozenset[int]:
    union = account.union
    found = {
        n for n, patch in enumerate(union.group.patches, 1) if cluster & {patch.target, *patch.supersedes}
    }
    for said in union.statements:
        if said.page in cluster or cluster & _places(account, said):
            found |= said.added_by | said.taken_by
    return frozenset(found)


def _rows(account: Account) -> Iterator[tuple[set[str], frozenset[int], MergedStatement]]:
    """Yield what did not stay where it was, with the pages and the edits that it concerns."""
    union = account.union
    texts = {s.number: s.text for s in union.statements} | account.worded
    for said in union.statements:
        fate = account.by_number.get(said.number)
        places = _places(account, said)
        if fate is None or (fate.fate == "kept" and said.page in places):
            continue
        row = MergedStatement(
            page=said.page,
            text=said.text,
            fate=fate.fate,
            into=", ".join(sorted(places)) if fate.fate == "kept" else texts.get(fate.into, ""),
            reason=fate.reason,
            gradients=union.gradients(said.added_by | said.taken_by),
        )
        yield {said.page, *places}, said.added_by | said.taken_by, row


def _reason(account: Account, name: str, text: str | None) -> str:
    change = account.change_of.get(name)
    if text is None and change is not None and change.change == "renamed":
        return f"renamed to {change.name}"
    if text is None:
        places = {p for s in account.union.of(name) for p in _places(account, s)}
        return f"what it says is on {', '.join(sorted(places))}" if places else ""
    return ""
