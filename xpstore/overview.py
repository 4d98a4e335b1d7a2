"""How a store stands: `xp status`."""

from __future__ import annotations

from collections import Counter
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import history, inbox, kept, layout, tracking
from xpstore.evidence_read import find_ids
from xpstore.experience import STATUSES
from xpstore.serving import readable
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from xpstore.location import Location


@dataclass(frozen=True, slots=True)
class Candidate:
    """An open branch of a training run."""

    branch: str
    plans: int
    """How many of its commits main does not have."""


@dataclass(frozen=True, slots=True)
class Overview:
    """A store at one moment."""

    branch: str
    """The branch that is checked out; empty when HEAD is detached."""
    commit: str
    """Where `statuses` was counted: the branch's tip, or main's where the branch has none yet."""
    statuses: dict[str, int]
    """Experiences per status, only those that occur, in the order of a page's life."""
    unreadable: dict[str, str]
    """Files that are no experience, and why."""
    candidates: tuple[Candidate, ...]
    rollouts: int
    """Rollouts on record."""
    open_rollouts: int
    """Those in the inbox (inbox.py)."""
    conflicts: tuple[str, ...]
    """Branches that keep a plan which was refused and has not landed."""
    only_local: tuple[str, ...]
    """Main, evidence and candidates that no remote had whole when it was last seen."""


def overview(loc: Location) -> Overview:
    """Return how the store stands. Raises NotFoundError where it has no commit at all."""
    head = loc.repo.head_ref() or ""
    commit = loc.repo.ref(head or "HEAD") or loc.resolve(loc.main_ref)
    pages, unreadable = readable(snapshot(loc, commit, parsed=True))
    counts = Counter(page.status for page in pages)
    candidates = history.candidates(loc)
    shared = [loc.main_ref, loc.evidence_ref, *(f"{layout.HEADS}{branch}" for branch in candidates)]
    return Overview(
        branch=head.removeprefix(layout.HEADS),
        commit=commit,
        statuses={status: counts[status] for status in STATUSES if counts[status]},
        unreadable=unreadable,
        candidates=tuple(
            Candidate(branch, sum(1 for _ in history.log(loc, f"{loc.config.main}..{branch}")))
            for branch in candidates
        ),
        rollouts=len(find_ids(loc, "ledger", "")),
        open_rollouts=len(inbox.entries(loc)),
        conflicts=kept.waiting(loc),
        only_local=tuple(ref.removeprefix(layout.HEADS) for ref in tracking.unpublished(loc.repo, shared)),
    )
