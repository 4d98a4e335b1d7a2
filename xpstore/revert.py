"""Undo of plans as new plans, one for each. What came later stays: the undo is merged into it.

Plans are named by id or commit, or as all of a training run, or as all that rest on a piece of evidence.
Where a later plan changed what one of them wrote, it builds on it: it goes too, or nothing does. Reverting a
revert lands the plan again; a plain `git revert` counts as one.
"""

from __future__ import annotations

import re
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from xpstore import citing, decision, events, evidence, history, kept, timeline
from xpstore.applying import OFFLINE
from xpstore.errors import ConflictError, DependantsError, NotFoundError, RefusedError, UsageError
from xpstore.merged_page import deciders
from xpstore.plan import PolicyUpdatePlan
from xpstore.resolution import Asking
from xpstore.unwinding import Step, Unwinding

if TYPE_CHECKING:
    from collections.abc import Collection, Iterable, Sequence

    from xpstore.decision import Gating
    from xpstore.errors import Conflict
    from xpstore.events import Entry
    from xpstore.location import Location
    from xpstore.resolver import Resolver
    from xpstore.timeline import Timeline
    from xpstore.unwinding import Chosen, Unwound


@dataclass(frozen=True, slots=True)
class Undo:
    """The undo of one event's plans."""

    plan: PolicyUpdatePlan
    target: Entry
    """The commit whose plans are undone."""
    commit: str = ""
    """The new commit; "" in a dry run."""


@dataclass(frozen=True, slots=True)
class RevertResult:
    """The undos, and what they met."""

    undos: tuple[Undo, ...]
    """In the order in which they land: what was learned last goes first."""
    later: tuple[Entry, ...]
    """Later commits on the same experiences, oldest first, that stay."""
    dependants: tuple[Entry, ...] = ()
    """Commits of later plans that build on what was named, and are undone with it; oldest first."""
    branch: str = ""
    """Where it has landed, or waits; "" in a dry run."""
    verdict: str = ""
    """Why the gate accepts it, where one was asked."""

    @property
    def plans(self) -> tuple[PolicyUpdatePlan, ...]:
        """What lands."""
        return tuple(undo.plan for undo in self.undos)


class BlockedError(ConflictError):
    """What came later is in the way of an undo."""

    def __init__(
        self, message: str, conflicts: tuple[Conflict, ...], undo: PolicyUpdatePlan, *, hint: str
    ) -> None:
        super().__init__(message, conflicts, hint=hint)
        self.undo = undo
        """What was asked for, on top of the plan itself, where nothing is in the way."""

    def as_json(self) -> dict[str, object]:
        """Return it as any other conflict."""
        return {**super().as_json(), "error": ConflictError.__name__}


@dataclass(frozen=True, slots=True)
class Wanted:
    """What to undo: any of these. Ids may be abbreviated."""

    targets: tuple[str, ...] = ()
    """Plans, or their commits."""
    run: str = ""
    """All plans of a training run that are not undone yet."""
    evidence: str = ""
    """All plans that rest on a rollout, note, case or session (citing.py) and are not undone yet."""


@dataclass(slots=True)
class _Choice:
    """The events to take back, and why each."""

    events: Chosen = field(default_factory=dict)
    reasons: dict[int, str] = field(default_factory=dict)

    def add(self, at: int, plans: Iterable[str], reason: str) -> None:
        self.events[at] = tuple(dict.fromkeys((*self.events.get(at, ()), *plans)))
        self.reasons.setdefault(at, reason)


def revert(  # noqa: PLR0913  # the options of the verb
    loc: Location,
    wanted: Wanted | str,
    branch: str,
    *,
    dry_run: bool = False,
    with_dependants: bool = False,
    resolver: Resolver = OFFLINE,
    gating: Gating | None = None,
) -> RevertResult:
    """Undo plans on a branch; a text is one plan's id or commit. `gating`: how it gets there (decision.py).

    `resolver` decides where people's later changes overlap with what goes; a rule does not. It is asked under
    no lock, and once.

    Raises NotFoundError where the branch has no such plan, UsageError for a person's commit, RefusedError
    where they are undone already, DependantsError (one of those) where later plans build on them and may
    not go too, HeldError (another) where the gate does not accept it, and ConflictError where commits of
    people build on them: then the undo of the plan that they build on stays on a branch of its own, which
    the error names.
    """
    what = Wanted((wanted,)) if isinstance(wanted, str) else wanted
    asking = Asking(resolver)

    def decide(tip: str) -> RevertResult:
        return _planned(loc, what, branch, tip, asking, with_dependants=with_dependants)

    if dry_run:
        return decide(events.commit_of(loc, branch))
    try:
        settled = decision.land(loc, branch, decide, gating)
    except BlockedError as error:
        error.kept = kept.keep_all(loc, [error.undo])
        if error.kept:
            error.hint = f"decide with `{error.next[0]}`, or revert those first"
        raise
    undos = zip(settled.decision.undos, settled.commits, strict=True)
    return replace(
        settled.decision,
        undos=tuple(replace(undo, commit=commit) for undo, commit in undos),
        branch=settled.branch,
        verdict=settled.verdict,
    )


def _planned(  # noqa: PLR0913  # as `revert`, on one tip
    loc: Location, wanted: Wanted, branch: str, tip: str, asking: Asking, *, with_dependants: bool
) -> RevertResult:
    line = timeline.build(loc, tip)
    choice = _choice(loc, line, wanted, branch)
    named = set(choice.events)
    unwinding = Unwinding(loc, line, tip, asking)
    found = unwinding.unwind(choice.events)
    while more := unwinding.building_on(found, choice.events):
        for at, plans in more.items():
            choice.add(at, plans, "It builds on a plan that is undone too.")
        found = unwinding.unwind(choice.events)
    if found.conflicts:
        raise _conflict(unwinding, found, choice)
    dependants = [line.moments[at].entry for at in sorted(set(choice.events) - named)]
    if dependants and not with_dependants:
        raise _dependants(dependants)
    undos = tuple(_undo(loc, line, tip, step, choice) for step in found.steps if step.items)
    if not undos:
        commits = ", ".join(line.moments[at].entry.commit[:12] for at in sorted(named))
        raise RefusedError(
            f"nothing is left of {commits} to undo: later commits took it away", hint="xp log lists them"
        )
    return RevertResult(undos, _staying(unwinding, found.steps), tuple(dependants))


def _choice(loc: Location, line: Timeline, wanted: Wanted, branch: str) -> _Choice:
    choice = _Choice()
    for target in wanted.targets:
        choice.add(*_target(loc, line, target, branch), "")
    if wanted.run:
        runs = [history.plans_of_run(moment.entry, wanted.run) for moment in line.moments]
        plans = {plan for ran in runs for plan in ran}
        _add_all(line, choice, plans, f"of run {wanted.run}", branch)
    if wanted.evidence:
        cited = citing.find(loc, wanted.evidence)
        _add_all(line, choice, cited.plans, f"that rests on {cited.kind} {cited.id}", branch)
    if not choice.events:
        raise UsageError("nothing was named to undo", hint="name a plan, a run or a piece of evidence")
    return choice


def _add_all(line: Timeline, choice: _Choice, plans: Collection[str], which: str, branch: str) -> None:
    """Choose those of the plans that are active, each where it landed last."""
    landed = {
        stamp.plan_id: at
        for at, moment in enumerate(line.moments)
        for stamp in moment.entry.stamps
        if stamp.plan_id in plans
    }
    if not landed:
        raise NotFoundError(f"{branch} has no plan {which}", hint=f"xp log {branch} lists its plans")
    open_ = {plan: at for plan, at in landed.items() if line.is_active(plan)}
    if not open_:
        raise RefusedError(f"every plan {which} is already reverted", hint=f"xp log {branch} lists by what")
    for plan, at in open_.items():
        choice.add(at, [plan], f"It is a plan {which}.")


def _target(loc: Location, line: Timeline, target: str, branch: str) -> tuple[int, tuple[str, ...]]:
    """Return the place of the target in the timeline, and the plans that change their state with it."""
    commit_id = history.find_commit(loc, target, within=branch)
    found = [i for i, moment in enumerate(line.moments) if moment.entry.commit == commit_id]
    if not found:
        raise NotFoundError(
            f"{target} ({commit_id[:12]}) is not in the history of {branch}", hint=f"xp log {branch} lists it"
        )
    moment = line.moments[found[-1]]
    own = moment.entry.plan_ids
    named = [p for p in own if p.startswith(target.strip())]
    # without a plan of its own it is a plain `git revert`: undoing that one brings its plans back
    plans = named or own or [t for t in moment.targets if t in line.learners]
    if not plans:
        raise UsageError(f"{commit_id[:12]} is no plan but a person's commit", hint="git revert undoes it")
    open_ = tuple(p for p in plans if line.is_active(p) is bool(own))
    if not open_:
        event = line.last_event(plans[0])
        raise RefusedError(
            f"{target} is already reverted, by commit {event[:12]}",
            hint=f"xp revert {event[:12]} brings it back",
        )
    return found[-1], open_


def _undo(loc: Location, line: Timeline, tip: str, step: Step, choice: _Choice) -> Undo:
    entry, plans = line.moments[step.at].entry, choice.events[step.at]
    said = (
        f"A person undid plan {', '.join(plans)} (commit {entry.commit}). {choice.reasons[step.at]}"
        if set(plans) & set(entry.plan_ids)
        else f"A person took back commit {entry.commit}, an undo of plan {', '.join(plans)}. "
        f"{choice.reasons[step.at]}"
    )
    plan = PolicyUpdatePlan(
        items=step.items,
        subject=_subject(_title(loc, entry, plans)),
        rationale=said.rstrip(),
        base_commit=tip,
        store_id=loc.config.id,
        learner=events.PERSON,
        reverts=plans,
        reverts_events=tuple(dict.fromkeys(line.last_event(p) for p in plans)),
        merges=step.merges,
        resolved_by=deciders(step.merges),
    )
    return Undo(plan, entry)


def _staying(unwinding: Unwinding, steps: Sequence[Step]) -> tuple[Entry, ...]:
    """Return the later commits on the same experiences that are not undone, oldest first."""
    undone = {unwinding.line.moments[step.at].entry.commit for step in steps}
    found: dict[str, Entry] = {}
    for step in reversed(steps):
        names = {name for effect in step.effects for name in effect.names}
        for entry in unwinding.since(step.at):
            if entry.commit not in undone and names & {c.name for c in entry.changes}:
                found[entry.commit] = entry
    order = [moment.entry.commit for moment in unwinding.line.moments]
    return tuple(found[commit] for commit in dict.fromkeys(order) if commit in found)


def _dependants(entries: Sequence[Entry]) -> DependantsError:
    found = [(plan, entry.commit, entry.subject) for entry in entries for plan in entry.plan_ids]
    listed = "; ".join(f"{plan} ({commit[:9]}) {subject}" for plan, commit, subject in found)
    number = "1 later plan builds" if len(found) == 1 else f"{len(found)} later plans build"
    return DependantsError(
        f"{number} on it: {listed}", tuple(found), hint="--with-dependants undoes them too, newest first"
    )


def _conflict(unwinding: Unwinding, found: Unwound, choice: _Choice) -> BlockedError:
    names = {name for effect in found.hit for name in effect.names}
    later = [e for e in unwinding.since(found.blocked) if names & {c.name for c in e.changes}]
    by = "; ".join(f"{e.commit[:12]} {e.subject}" for e in later) or "the branch itself"
    at = found.blocked
    commit = unwinding.line.moments[at].entry.commit
    bare = Step(at, (), tuple(unwinding.taken_back(at, choice.events[at])))
    return BlockedError(
        f"later changes to {', '.join(c.name for c in found.conflicts)} build on it: {by}",
        found.conflicts,
        _undo(unwinding.loc, unwinding.line, commit, bare, choice).plan,
        hint="revert those first, or edit the page by hand",
    )


def _title(loc: Location, entry: Entry, plans: Sequence[str]) -> str:
    """Return the subject of what is undone; one plan of a squash has its own on record."""
    if len(plans) == 1 and len(entry.plan_ids) > 1:
        subjects = [r.get("subject") for r in evidence.records(loc, plans[0]).values()]
        return next((s for s in subjects if isinstance(s, str) and s), entry.subject)
    return entry.subject


def _subject(title: str) -> str:
    again = re.fullmatch(r'(Revert|Reapply) "(.*)"', title)
    if again is None:
        return f'Revert "{title}"'
    return f'Reapply "{again[2]}"' if again[1] == "Revert" else f'Revert "{again[2]}"'
