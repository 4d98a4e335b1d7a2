"""ExperienceStore: the public face of a store. It delegates; each module has one matter."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Self

from xpstore import (
    applying,
    blame,
    evaluation,
    evidence,
    forget,
    history,
    init,
    landing,
    layout,
    lease,
    note,
    revert,
    review,
    snapshot,
    status,
    verify,
)
from xpstore.location import Location
from xpstore.page_index import PageIndex
from xpstore.resolution import Asking

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from contextlib import AbstractContextManager

    from xpstore.blame import Blame
    from xpstore.commit import Landed
    from xpstore.evaluation import EvaluationRecord
    from xpstore.events import Entry
    from xpstore.evidence import EvidenceFile
    from xpstore.experience import ExperienceSet, PolicyStatus
    from xpstore.forget import Forgotten
    from xpstore.held_plans import OnSuspect
    from xpstore.landing import Gate, LandingResult
    from xpstore.plan import PolicyUpdatePlan
    from xpstore.resolver import Resolver
    from xpstore.revert import RevertResult, Wanted
    from xpstore.review import Review
    from xpstore.source import Source
    from xpstore.status import StatusResult
    from xpstore.trajectory import Trajectory
    from xpstore.verify import Finding


class ExperienceStore:
    r"""What an agent has learned, in a git repository. Belongs to the thread that opened it.

    Branches default to the store's main branch. What git or a guard refuses is an XpError with a hint.

    >>> from pathlib import Path
    >>> from tempfile import mkdtemp
    >>> from xpstore import ExperienceStore, PolicyPlanItem, PolicyUpdatePlan
    >>> store = ExperienceStore.init(Path(mkdtemp()) / "agent")
    >>> page = "---\ndescription: A refund is asked for.\n---\n\n## Approach\n\n- Ask why.\n"
    >>> item = PolicyPlanItem(
    ...     kind="upsert_experience", target_experience_name="refund", before_content=None, after_content=page
    ... )
    >>> plan = PolicyUpdatePlan(
    ...     items=(item,), store_id=store.id, base_commit=store.snapshot().snapshot_id, learner="me/1",
    ...     subject="Ask before a refund",
    ... )
    >>> [landed] = store.commit([plan])
    >>> [entry.subject for entry in store.log()]
    ['Ask before a refund']
    >>> store.snapshot().get("refund").description
    'A refund is asked for.'
    >>> [finding.state for finding in store.verify()]
    ['intact']
    >>> store.revert(plan.plan_id).undos[0].plan.subject
    'Revert "Ask before a refund"'
    >>> store.snapshot().policies
    ()
    """

    def __init__(self, location: Location) -> None:
        self.location = location
        """Where the store is, for the functions of the other modules."""

    @classmethod
    def init(
        cls, path: Path | str, *, name: str = "", main: str | None = None, source: Source | None = None
    ) -> Self:
        """Make a store: a new repository, or a folder in an existing one. Raises UsageError, RefusedError.

        `source` has its first files, see `xpstore.source.read_source`.
        """
        return cls(init.init(Path(path), name=name, main=main, source=source))

    @classmethod
    def open(cls, path: Path | str = ".", *, store: str | None = None) -> Self:
        """Open the store that a directory is in; `store` chooses among several. Raises NotAStoreError."""
        return cls(Location.find(Path(path), store))

    @property
    def id(self) -> str:
        """The store id; every plan names it."""
        return self.location.config.id

    @property
    def main(self) -> str:
        """The branch that agents read from."""
        return self.location.config.main

    def snapshot(self, ref: str = "", *, versions: bool = False, parsed: bool = False) -> ExperienceSet:
        """Return the experiences at a ref; `versions` tells how often each was changed, `parsed` reads it."""
        return snapshot.snapshot(self.location, ref or self.main, versions=versions, parsed=parsed)

    def page_index(self, ref: str = "") -> PageIndex:
        """Return the experiences at a ref to look something up in; use it in a `with` block."""
        return PageIndex.at(self.location, ref or self.main)

    def commit(
        self,
        plans: Sequence[PolicyUpdatePlan],
        branch: str = "",
        *,
        start: str = "",
        extra_evidence: Sequence[EvidenceFile] = (),
        resolver: Resolver = applying.OFFLINE,
    ) -> list[Landed]:
        """Apply plans, one commit each, all or none; `resolver` decides what the branch has changed too.

        See `xpstore.commit.commit` for what is refused, and `xpstore.applying.apply` for where it stays.
        """
        return applying.apply(
            self.location,
            plans,
            branch or self.main,
            start=start,
            extra_evidence=extra_evidence,
            resolver=resolver,
        )

    def lease(self, branch: str = "", *, wait: float = lease.WAIT) -> AbstractContextManager[None]:
        """Hold a branch's lease in a `with` block, to plan and apply strictly one after the other.

        Nobody needs one to write, and it stops only others who ask for it. Raises RefusedError where it was
        not free within `wait` seconds.
        """
        return lease.lease(self.location, branch or self.main, wait=wait)

    def land(
        self,
        branch: str,
        *,
        gate: Gate | None = None,
        dry_run: bool = False,
        resolver: Resolver = applying.OFFLINE,
        on_suspect: OnSuspect = "hold",
    ) -> LandingResult:
        """Fast-forward main to a candidate, if the gate accepts it; see `xpstore.landing.land`."""
        asking = Asking(resolver)
        return landing.land(
            self.location, branch, gate=gate, dry_run=dry_run, merge_page=asking, on_suspect=on_suspect
        )

    def evaluations(self, ref: str = "") -> list[EvaluationRecord]:
        """Return what is on record of how the experiences at a ref did. Raises NotFoundError, FormatError."""
        return evaluation.of_commit(self.location, self.location.resolve(ref or self.main))

    def log(self, ref: str = "", *, name: str | None = None, limit: int | None = None) -> Iterator[Entry]:
        """Yield the commits that changed experiences, newest first; `ref` may be a range."""
        return history.log(self.location, ref or self.main, name=name, limit=limit)

    def show(self, plan_or_rev: str) -> Review:
        """Return a plan with its diff and the evidence of each lesson. Raises NotFoundError."""
        return review.show(self.location, plan_or_rev)

    def blame(self, name: str, ref: str = "") -> Blame:
        """Return who wrote each line of an experience, and on what evidence. Raises NotFoundError."""
        return blame.blame(self.location, name, ref or self.main, evidence=True)

    def diff(self, a: str, b: str, name: str | None = None) -> str:
        """Return git's diff of the experiences between two revisions. Raises NotFoundError."""
        return history.diff(self.location, a, b, name)

    def revert(
        self,
        wanted: Wanted | str,
        branch: str = "",
        *,
        dry_run: bool = False,
        with_dependants: bool = False,
        resolver: Resolver = applying.OFFLINE,
    ) -> RevertResult:
        """Undo plans by new plans. Raises RefusedError where they are undone already, ConflictError."""
        return revert.revert(
            self.location,
            wanted,
            branch or self.main,
            dry_run=dry_run,
            with_dependants=with_dependants,
            resolver=resolver,
        )

    def verify(self, ref: str = "") -> list[Finding]:
        """Check every plan in the history of a ref, and the evidence branch."""
        return verify.verify(self.location, ref or self.main)

    def promote(self, names: Sequence[str], branch: str = "", *, dry_run: bool = False) -> StatusResult:
        """Put experiences into production. Raises NotFoundError, and RefusedError where they are there."""
        return self._set_status(names, "production", branch, dry_run=dry_run)

    def deprecate(self, names: Sequence[str], branch: str = "", *, dry_run: bool = False) -> StatusResult:
        """Stop serving experiences that something better replaces. Raises as `promote`."""
        return self._set_status(names, "deprecated", branch, dry_run=dry_run)

    def archive(self, names: Sequence[str], branch: str = "", *, dry_run: bool = False) -> StatusResult:
        """Stop serving experiences, for the record only. Raises as `promote`."""
        return self._set_status(names, "archived", branch, dry_run=dry_run)

    def forget(self, rollout: str, *, dry_run: bool = False) -> Forgotten:
        """Take a rollout out of the repository for good, and list the lessons that rest on it."""
        return forget.forget(self.location, rollout, dry_run=dry_run)

    def rollout(self, rollout_id: str) -> dict[str, object] | None:
        """Return a recorded rollout as JSON; None where there is none (any more)."""
        path = layout.rollout_path(rollout_id)
        data = evidence.read(self.location, path)
        return None if data is None else evidence.parse_json(data, path)

    def trajectory(self, trajectory_id: str) -> Trajectory | None:
        """Return a note on a rollout; None where there is none (any more)."""
        path = layout.trajectory_path(trajectory_id)
        data = evidence.read(self.location, path)
        return None if data is None else note.from_text(data.decode("utf-8", "replace"), path)

    def ledger(self, rollout_id: str) -> list[dict[str, object]]:
        """Return what happened to a rollout: events in no order of time."""
        return evidence.ledger(self.location, rollout_id)

    def record(self, files: Sequence[EvidenceFile], message: str) -> str | None:
        """Put evidence on record; None where all of it is there already. Raises RefusedError."""
        return evidence.write(self.location, files, message)

    def _set_status(
        self, names: Sequence[str], to: PolicyStatus, branch: str, *, dry_run: bool
    ) -> StatusResult:
        return status.set_status(self.location, names, to, branch or self.main, dry_run=dry_run)
