"""Take plans back, the newest first, on the texts of a tip: what that changes, what is in the way, and why.

Per experience: base = what the plan left, ours = the page as it is by then, theirs = what was there before
the plan. Whatever else came later stays. Nothing is written here.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from xpstore import effects, layout
from xpstore.effects import Effect
from xpstore.errors import Conflict
from xpstore.hashing import blob_id
from xpstore.merged_page import MergedPage
from xpstore.plan import PolicyPlanItem
from xpstore.resolution import Asking

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

    from xpstore.events import Entry
    from xpstore.location import Location
    from xpstore.merge import MergePage
    from xpstore.timeline import Timeline

Chosen = dict[int, tuple[str, ...]]
"""Place in the timeline → the plans of that event that are taken back."""


@dataclass(frozen=True, slots=True)
class Step:
    """One event taken back."""

    at: int
    """Its place in the timeline."""
    effects: tuple[Effect, ...]
    items: tuple[PolicyPlanItem, ...]
    """What that changes; none where nothing of it was left."""
    merges: tuple[MergedPage, ...] = ()
    """How it was merged into pages that had changed since."""


@dataclass(frozen=True, slots=True)
class Unwound:
    """How far it went."""

    steps: tuple[Step, ...]
    """In their order: newest event first."""
    conflicts: tuple[Conflict, ...] = ()
    """What was in the way of the event `blocked`; nothing was done from there on."""
    blocked: int = -1
    hit: tuple[Effect, ...] = ()
    """The effects of the blocked event that are in conflict."""


@dataclass(slots=True)
class Unwinding:
    """The events of a branch, and the texts at its tip."""

    loc: Location
    line: Timeline
    tip: str
    merge_page: MergePage = field(default_factory=Asking)
    """Who decides where a later change overlaps with what is taken back: nobody does without a model."""
    _effects: dict[tuple[int, tuple[str, ...]], tuple[Effect, ...]] = field(default_factory=dict)

    def unwind(self, chosen: Mapping[int, tuple[str, ...]]) -> Unwound:
        """Take these events back, up to the first that is in conflict with what stays."""
        texts: dict[str, str | None] = {}
        steps: list[Step] = []
        for at in sorted(chosen, reverse=True):
            found = self.effects(at, chosen[at])
            conflicts: list[tuple[Effect, Conflict]] = []
            items = list(self._items(found, texts, conflicts))
            if conflicts:
                hit, clashes = zip(*conflicts, strict=True)
                return Unwound(tuple(steps), tuple(clashes), at, tuple(hit))
            texts |= {item.target_experience_name: item.after_content for item, _ in items}
            made = tuple(item for item, _ in items)
            steps.append(Step(at, found, made, tuple(page for _, page in items if page)))
        return Unwound(tuple(steps))

    def building_on(self, found: Unwound, chosen: Mapping[int, tuple[str, ...]]) -> Chosen:
        """Return the plans that stay so far and build on what goes.

        They gave a statement of it new figures or other words below its first paragraph; or, where an event
        is in conflict, they changed what that one had written.
        """
        if found.conflicts:
            return self._later(found.blocked, chosen, found.hit, Effect.is_touched_by)
        more: Chosen = {}
        for step in found.steps:
            more |= self._later(step.at, chosen, step.effects, Effect.is_carried_on_by)
        return more

    def _later(
        self,
        at: int,
        chosen: Mapping[int, tuple[str, ...]],
        effects_: Sequence[Effect],
        builds: Callable[[Effect, Effect], bool],
    ) -> Chosen:
        names = {name for effect in effects_ for name in effect.names}
        more: Chosen = {}
        for later in range(at + 1, len(self.line.moments)):
            moment = self.line.moments[later]
            plans = tuple(p for p in moment.plans if self.line.is_active(p))
            touched = {name for c in moment.entry.changes for name in (c.name, c.old_name)}
            if later in chosen or not plans or moment.role != "plan" or names.isdisjoint(touched):
                continue
            if any(builds(mine, theirs) for theirs in self.effects(later, plans) for mine in effects_):
                more[later] = plans
        return more

    def effects(self, at: int, plans: Sequence[str]) -> tuple[Effect, ...]:
        """Return what plans of an event did, under the names that the pages have at the tip."""
        key = (at, tuple(plans))
        if key not in self._effects:
            entry, later = self.line.moments[at].entry, self.since(at)
            done = effects.of_plans(self.loc, entry, plans)
            self._effects[key] = tuple(effects.followed(effect, later) for effect in done)
        return self._effects[key]

    def taken_back(self, at: int, plans: Sequence[str]) -> Iterator[PolicyPlanItem]:
        """Yield what takes plans of an event back right after it, under the names of that time."""
        for effect in effects.of_plans(self.loc, self.line.moments[at].entry, plans):
            yield PolicyPlanItem(
                kind="delete_experience" if effect.before is None else "upsert_experience",
                target_experience_name=effect.name,
                before_content=effect.after,
                after_content=effect.before,
            )

    def since(self, at: int) -> list[Entry]:
        """Return the first-parent events after one; the merge that brought it is part of it."""
        later = list(self.line.moments[at + 1 :])
        if self.line.moments[at].side:
            while later.pop(0).side:
                pass
        return [moment.entry for moment in later if not moment.side]

    def _items(
        self,
        found: Iterable[Effect],
        texts: Mapping[str, str | None],
        conflicts: list[tuple[Effect, Conflict]],
    ) -> Iterator[tuple[PolicyPlanItem, MergedPage | None]]:
        for effect in found:
            ours = texts[effect.name] if effect.name in texts else self._at_tip(effect.name)
            if ours is None and effect.after is not None:
                continue  # the file is gone, and with it what the plan did
            where = f"{layout.EXPERIENCES}/{effect.name}.md"
            result = self.merge_page(effect.after, ours, effect.before, where)
            # to keep what both say is no answer here: one of both is to go
            if result.verdict == "REFUSED" or (result.overlaps and result.verdict == "PROVEN"):
                conflicts.append((effect, Conflict(effect.name, effect.after, ours, effect.before)))
            elif result.text != ours:
                item = PolicyPlanItem(
                    kind="delete_experience" if result.text is None else "upsert_experience",
                    target_experience_name=effect.name,
                    before_content=ours,
                    after_content=result.text,
                )
                blobs = (blob_id(effect.after), item.base_blob, blob_id(effect.before))
                page = MergedPage.of(effect.name, blobs, result, effect.before)
                yield item, page if ours != effect.after else None

    def _at_tip(self, name: str) -> str | None:
        path = self.loc.at(self.tip).in_tree(f"{layout.EXPERIENCES}/{name}.md")
        entry = self.loc.repo.entry(self.loc.repo.commit(self.tip).tree, path)
        return effects.text_of(self.loc, entry.id) if entry and entry.is_file else None
