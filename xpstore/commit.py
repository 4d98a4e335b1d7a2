"""Apply plans to a branch: each one commit, a group all or nothing, evidence before the branch.

No working tree, index or process is needed. Everything is built on the tip as it is, written as one pack
and made visible by compare-and-swap (publish.py). Where the tip moved, the group is built again on the new
one: an item whose file is still what the plan saw is re-parented, one whose result is there already is
left out, and any other is merged with what the tip has. Where both changed the same it is a conflict, which
somebody has to decide (applying.py).

Writers of one branch take turns (waiting.py): whoever has the store lock writes what the others wait for too,
in one pack and one move. Its own plans, and those of each of the others, are all or nothing by themselves.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Literal

from xpstore import (
    evidence,
    guards,
    item_merge,
    layout,
    maintain,
    objects,
    publish,
    record,
    signatures,
    trees,
    waiting,
    witness,
)
from xpstore.errors import Conflict, ConflictError, NotFoundError, RefusedError, UsageError, XpError
from xpstore.git import Move
from xpstore.hashing import blob_id
from xpstore.objects import GitObject, Person, Tree
from xpstore.trailers import plan_ids
from xpstore.wanted import Wanted, prepare

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

    from xpstore.evidence import EvidenceFile
    from xpstore.location import Location
    from xpstore.merged_page import MergedPage
    from xpstore.objects import Sign
    from xpstore.plan import PolicyPlanItem, PolicyUpdatePlan
    from xpstore.record import Rendered
    from xpstore.waiting import Asked

NOTHING = blob_id(None)


@dataclass(frozen=True, slots=True)
class Landed:
    """Where a plan is: its own new commit, or the commit that had its result already."""

    plan_id: str
    commit: str
    state: Literal["applied", "already"]


def commit(  # noqa: PLR0913  # one way in, and what a caller may say of it
    loc: Location,
    plans: Sequence[PolicyUpdatePlan],
    branch: str,
    *,
    start: str = "",
    extra_evidence: Sequence[EvidenceFile] = (),
    is_exact: bool = False,
) -> list[Landed]:
    """Check the plans, apply them in order and return where each one is; all of them or, with an error, none.

    A missing branch is made from `start` (default: the store's main branch). `extra_evidence` goes on
    record in the same group. A plan of which some items have their result at the tip already lands with
    the others only; where pages were merged, its record says how. A plan whose Plan-Id the branch has gained
    since the plan's base is not applied again, even if its commit was reverted meanwhile. With `is_exact`, no
    page is merged.

    Raises ConflictError (with the texts) where tip and plan changed the same, NotFoundError for an update
    or deletion of what never was there, the guards' RefusedError, LimitError, InvalidNameError and
    UsageError, and FormatError for a gradient that cannot be a patch.
    """
    prepared = prepare(loc, plans)
    return apply(loc, prepared, branch, start=start, extra_evidence=extra_evidence, is_exact=is_exact)


def apply(  # noqa: PLR0913  # as `commit`
    loc: Location,
    prepared: Sequence[Rendered],
    branch: str,
    *,
    start: str = "",
    extra_evidence: Sequence[EvidenceFile] = (),
    is_exact: bool = False,
) -> list[Landed]:
    """Apply what `prepare` returned; see `commit`."""
    ref = loc.branch_ref(branch)
    if ref == loc.evidence_ref:
        raise UsageError(f"{branch} is the evidence branch", hint="plans go to main or to a candidate")
    wanted = Wanted(tuple(prepared), ref, start, tuple(extra_evidence), is_exact)
    sign = signatures.signer(loc)
    done: list[Landed] = []

    def attempt() -> bool:
        if sign:  # it takes its time, and may ask a person: nobody waits for it, and nobody else's is signed
            landed = _write(loc, wanted, (), sign)
            done.extend(landed or ())
            return landed is not None
        with waiting.turn(loc.repo.common_dir, lambda: wanted.encode(loc)) as turn:
            landed = _answered(turn.answer) if turn.answer else _write(loc, wanted, turn.others())
        done.extend(landed or ())
        return landed is not None

    publish.retried(loc.repo, attempt, ref, is_slow=sign is not None)
    maintain.after_writing(loc)
    return done


def _write(
    loc: Location, wanted: Wanted, others: Iterable[Asked], sign: Sign | None = None
) -> list[Landed] | None:
    """Write what is wanted, and what others wait for; None where another program moved the branch."""
    group = _build(loc, wanted, sign)
    mine = list(group.landed)
    answers: list[tuple[Asked, list[Landed]]] = []
    for asked in others:
        theirs = wanted.decode(loc, asked.data)
        landed = group.take_along(theirs) if theirs else None
        if landed is not None:
            answers.append((asked, landed))
    try:
        if not _publish(loc, wanted.ref, group):
            return None
    except XpError:
        if not answers:
            raise
        return _write(loc, wanted, (), sign)  # perhaps one of the others is refused: it hears of it
    for asked, landed in answers:
        asked.answer(json.dumps([[one.plan_id, one.commit, one.state] for one in landed]).encode())
    return mine


def _publish(loc: Location, ref: str, group: _Group) -> bool:
    """Make a group visible, its evidence first; False where another program moved the branch."""
    branch = ref.removeprefix(layout.HEADS)
    addition = evidence.add(loc, group.evidence, f"Evidence for {branch}", who=group.committer)
    moves = addition.moves(loc.evidence_ref, f"xp: evidence for {branch}")
    if group.objects:
        count = len(group.landed)
        reason = f"xp: {count} plans" if count > 1 else "xp: plan"
        moves.append(Move(ref, group.old, group.tip, reason))
    if moves and not publish.publish(loc.repo, [*addition.objects, *group.objects], moves):
        return False
    if addition.objects and addition.new:
        witness.remember(loc, addition.new)
    return True


def _answered(data: bytes) -> list[Landed]:
    """Return what another process says has landed."""
    return [Landed(plan_id, commit_, state) for plan_id, commit_, state in json.loads(data)]


def _build(loc: Location, wanted: Wanted, sign: Sign | None) -> _Group:
    ref, start = wanted.ref, wanted.start
    old = loc.repo.ref(ref)
    base = old or loc.tip_of(ref) or (loc.resolve(start) if start else loc.tip_of(loc.main_ref))
    if base is None and ref != loc.main_ref:
        raise NotFoundError(
            f"{loc.config.main} has no commit to start {ref} from", hint="commit xp.toml there first"
        )
    group = _Group(loc.at(base) if base else loc, old, base or "", sign)
    group.add(wanted)
    return group


def _plans_since(loc: Location, tip: str, plans: Sequence[PolicyUpdatePlan]) -> dict[str, str]:
    """Return the plans that first-parent history has gained since the plans were made, with their commits."""
    open_bases = {plan.base_commit for plan in plans}
    found: dict[str, str] = {}
    for commit_ in loc.repo.first_parents(tip):
        open_bases.discard(commit_.id)
        if not open_bases:
            break
        for plan_id in plan_ids(commit_.message):
            found.setdefault(plan_id, commit_.id)
    return found


@dataclass
class _Group:
    """The commits of a group, stacked on a tip, none of them in the repository yet."""

    loc: Location
    old: str | None
    tip: str
    """The last commit so far; "" before the first one of an unborn branch."""
    sign: Sign | None
    landed: list[Landed] = field(default_factory=list)
    objects: list[GitObject] = field(default_factory=list)
    evidence: list[EvidenceFile] = field(default_factory=list)
    _trees: dict[str, Tree] = field(default_factory=dict)
    _blobs: dict[str, bytes] = field(default_factory=dict)

    def __post_init__(self) -> None:
        self.base = self.tip
        """The commit that the first one is stacked on."""
        self._root = self.loc.repo.commit(self.tip).tree if self.tip else None
        self._folder = self.loc.in_tree(layout.EXPERIENCES)
        self.committer = self.loc.repo.person()

    def add(self, wanted: Wanted) -> None:
        """Stack the commits of these plans. Raises ConflictError, NotFoundError, RefusedError."""
        plans = [rendered.plan for rendered in wanted.prepared]
        known = _plans_since(self.loc, self.base, plans) if self.base else {}
        known |= {one.plan_id: one.commit for one in self.landed if one.state == "applied"}
        self.evidence += wanted.extra
        for rendered in wanted.prepared:
            plan_id = rendered.plan.plan_id
            if plan_id in known:
                self.landed.append(Landed(plan_id, known[plan_id], "already"))
            else:
                self._add(rendered, is_exact=wanted.is_exact)

    def take_along(self, wanted: Wanted) -> list[Landed] | None:
        """Stack what another one wants as well; None, and nothing of it, where that is refused."""
        tip, root = self.tip, self._root
        kept = [(rows, len(rows)) for rows in (self.landed, self.objects, self.evidence)]
        try:
            self.add(wanted)
        except XpError:
            self.tip, self._root = tip, root
            for rows, length in kept:
                del rows[length:]
            return None
        return self.landed[kept[0][1] :]

    def _add(self, rendered: Rendered, *, is_exact: bool) -> None:
        plan = rendered.plan
        entries = self._experiences()
        items: list[PolicyPlanItem] = []
        merges: list[MergedPage] = []
        conflicts: list[Conflict] = []
        for item in plan.items:
            at_tip = _blob_at(entries, item)
            if self._is_there(plan, item, at_tip):
                continue
            if at_tip == item.base_blob:
                items.append(item)
                continue
            ours = self._text(entries, item)
            is_stale = not self._is_seen(plan, item)
            merged = None if is_exact or is_stale else item_merge.by_rule(item, ours)
            if merged is None:
                name = item.target_experience_name
                conflicts.append(Conflict(name, item.before_content, ours, item.after_content, is_stale))
            elif not merged.is_there:
                items.append(merged.item)
                merges.append(merged.page)
        if conflicts:
            changed = ", ".join(c.name for c in conflicts)
            raise ConflictError(
                f"changed since the plan was made: {changed}",
                tuple(conflicts),
                hint="decide what to keep, or plan again on a new snapshot; nothing was written",
            )
        if not items:
            self.landed.append(Landed(plan.plan_id, self.tip, "already"))
            return
        created = [item.target_experience_name for item in items if item.before_content is None]
        if created:
            guards.check_twins(created, [n[:-3] for n in entries.names() if n.endswith(".md")])
        if items != list(plan.items):
            guards.check_items(items, self.loc.config.limits)
            rendered = record.render(plan.with_items(items, merges))
        self._stack(rendered)

    def _stack(self, rendered: Rendered) -> None:
        plan = rendered.plan
        changes = {
            f"{self._folder}/{i.target_experience_name}.md": None
            if i.after_content is None
            else i.after_content.encode()
            for i in plan.items
        }
        spliced = trees.splice(self._read_tree, self._root, changes)
        made = objects.make_commit(
            spliced.tree,
            [self.tip] if self.tip else [],
            _author(plan.learner, self.committer),
            self.committer,
            rendered.message,
            sign=self.sign,
        )
        self._trees.update((item.id, item.tree) for item in spliced.objects if item.tree is not None)
        self._blobs.update((item.id, item.data) for item in spliced.objects if item.kind == "blob")
        self.objects += [*spliced.objects, made]
        self.evidence += rendered.files
        self.landed.append(Landed(plan.plan_id, made.id, "applied"))
        self.tip, self._root = made.id, spliced.tree

    def _read_tree(self, tree_id: str) -> Tree:
        known = self._trees.get(tree_id)
        return self.loc.repo.read_tree(tree_id) if known is None else known

    def _experiences(self) -> Tree:
        folder = trees.find(self._read_tree, self._root, self._folder)
        return self._read_tree(folder.id) if folder and folder.is_tree else trees.EMPTY

    def _text(self, entries: Tree, item: PolicyPlanItem) -> str | None:
        entry = entries.get(f"{item.target_experience_name}.md")
        if entry is None:
            return None
        if not entry.is_file:
            raise RefusedError(
                f"{item.target_experience_uri} is no ordinary file", hint="move it out of the way"
            )
        data = self._blobs.get(entry.id)
        try:
            return (self.loc.repo.blob(entry.id) if data is None else data).decode()
        except UnicodeDecodeError as error:
            raise RefusedError(
                f"{item.target_experience_uri} is not UTF-8", hint="convert it first"
            ) from error

    def _is_there(self, plan: PolicyUpdatePlan, item: PolicyPlanItem, at_tip: str) -> bool:
        """Whether the tip has the item's result. Raises NotFoundError where its target never existed."""
        if at_tip == NOTHING and item.before_content is not None and not self._was_in_base(plan, item):
            raise NotFoundError(
                f"no {item.target_experience_uri} to change, neither at the tip nor at the plan's base",
                hint="plan again on a new snapshot",
            )
        return at_tip == item.result_blob

    def _was_in_base(self, plan: PolicyUpdatePlan, item: PolicyPlanItem) -> bool:
        return self._in_base(plan, item) == item.base_blob

    def _is_seen(self, plan: PolicyUpdatePlan, item: PolicyPlanItem) -> bool:
        """Whether the plan can have been made on what it says: a text that ever was here, or no page."""
        if item.before_content is None:
            return self._in_base(plan, item) == NOTHING
        return item.base_blob in self._blobs or self.loc.repo.has(item.base_blob)

    def _in_base(self, plan: PolicyUpdatePlan, item: PolicyPlanItem) -> str:
        """Return the blob that the plan's base has; "" where that commit is not here."""
        repo = self.loc.repo
        if not plan.base_commit or not repo.has(plan.base_commit):
            return ""
        path = self.loc.at(plan.base_commit).in_tree(item.target_experience_uri)
        entry = repo.entry(repo.commit(plan.base_commit).tree, path)
        return entry.id if entry else NOTHING


def _blob_at(entries: Tree, item: PolicyPlanItem) -> str:
    entry = entries.get(f"{item.target_experience_name}.md")
    return entry.id if entry else NOTHING


def _author(learner: str, committer: Person) -> Person:
    if learner in {"", "person"}:
        return committer
    mailbox = "".join(c if c.isascii() and (c.isalnum() or c in "._-") else "-" for c in learner)
    return Person(learner, f"{mailbox}@xpstore.invalid", committer.time, committer.offset)
