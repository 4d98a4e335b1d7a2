"""StreamingPolicyTrainer: learns from rollouts as they come, many of them in one update (RFC §9.2).

    submit_rollout → the inbox, durable → analyze ─→ estimate → batcher → plan → apply
                                                 └→ batcher → estimate → plan → apply

A learner that looks at one rollout at a time estimates before the batch, and a rollout counts as many
gradients as it has. One that compares several (the trials of a case, or all evidence) can only do so when it
is known who is in the batch: there a rollout with notes counts as one gradient. All trainers have one engine.
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

from trainer.batcher import BatchRules, Place, StreamingBatcher
from trainer.components.policy_trainer import HELD_BACK
from trainer.components.streaming_result import joined, part_of, without_update
from trainer.domain import EditResult, Received, RolloutFailure, RolloutTrainingResult
from trainer.engine import joined_edits
from trainer.errors import BatchError, CutOffError
from trainer.outcome import NO_LESSON, Outcome
from trainer.redaction import redact_rollout
from xpstore.errors import FormatError, NotFoundError, RepositoryError, UsageError

if TYPE_CHECKING:
    from collections.abc import Sequence

    from trainer.context import PipelineContext
    from trainer.domain import Rollout, RolloutAnalysis
    from trainer.engine import PolicyTrainingEngine
    from trainer.interfaces import TrainingInbox, TrainingJournal
    from xpstore.experience import ExperienceSet

trace = logging.getLogger("xpstore.trace.stream")

TOGETHER = 256
"""As many rollouts go on record in one commit."""
AT_ONCE = 32
"""As many rollouts are taken up from the inbox at the same time."""
ROUNDS = 4
"""How often an update is made anew because other processes put evidence on record meanwhile."""
LEFT = "with all that is on record it is more than one update studies, and it is not of the share"


@dataclass(frozen=True, slots=True)
class StreamingPolicyTrainerConfig:
    """When an update is made (RFC §9.2)."""

    max_gradients_per_update: int = 8
    max_wait_seconds: float = 10.0
    """How long the oldest gradient waits at most."""
    timer_check_interval_seconds: float = 1.0
    """Of the RFC, whose timer looks from time to time. This one is set to the moment: it changes nothing."""
    trace_console: bool = False
    """Whether each update is logged at INFO, which a console shows, or at DEBUG (xpstore.trace.stream)."""
    flush_when_idle: bool = True
    """Whether an update is made at once where no other rollout is on its way."""
    retries: int = 2
    """How often an update that failed for a passing reason is tried again."""
    retry_seconds: float = 1.0
    """The pause before the first of these; twice as long before each further one."""

    def __post_init__(self) -> None:
        """Raise UsageError for a number that makes no sense."""
        if (
            self.max_gradients_per_update < 1
            or min(self.max_wait_seconds, self.retries, self.retry_seconds) < 0
        ):
            raise UsageError(f"these settings make no sense: {self}", hint="at least 1 gradient, no negative")


@dataclass(frozen=True, slots=True)
class _Item:
    """A rollout on its way into an update."""

    analysis: RolloutAnalysis
    edits: EditResult | None = None
    """What was estimated on it alone; None where that is to come."""

    @property
    def size(self) -> int:
        """How many gradients it counts as."""
        return int(bool(self.analysis.trajectories)) if self.edits is None else len(self.edits.gradients)

    @property
    def why_nothing(self) -> str:
        """Why it taught nothing, where its size is 0."""
        said = self.edits.nothing.get(self.analysis.rollout.id) if self.edits else ""
        return said or self.analysis.nothing or NO_LESSON


Work = Callable[[Place[_Item, RolloutTrainingResult]], Awaitable[RolloutTrainingResult]]


class StreamingPolicyTrainer:
    """Learns from each rollout that is submitted, exactly once; answers when its update has been applied.

    `context` is for all of its updates. One trainer per branch and process: get_streaming_policy_trainer
    gives the shared one.
    """

    def __init__(
        self,
        engine: PolicyTrainingEngine,
        journal: TrainingJournal,
        inbox: TrainingInbox,
        context: PipelineContext,
        config: StreamingPolicyTrainerConfig | None = None,
    ) -> None:
        self._engine = engine
        self._journal = journal
        self._inbox = inbox
        self._context = context
        self._config = config or StreamingPolicyTrainerConfig()
        rules = BatchRules(
            self._config.max_gradients_per_update,
            self._config.max_wait_seconds,
            self._config.flush_when_idle,
            self._config.retries,
            self._config.retry_seconds,
        )
        together = BatchRules(TOGETHER, retries=self._config.retries, pause=self._config.retry_seconds)
        self._updates = StreamingBatcher(self._update, rules, is_transient)
        self._arrivals = StreamingBatcher(self._admit, together, is_transient)
        self._asides = StreamingBatcher(self._set_aside, together, is_transient)
        self._running: dict[str, _Running] = {}
        self._recovery: asyncio.Future[list[RolloutTrainingResult]] | None = None

    async def submit_rollout(self, rollout: Rollout) -> RolloutTrainingResult:
        """Learn from a rollout, and return what came of it when that is applied.

        It is redacted and on record before anything is made of it: whatever happens then, it is not lost.
        What a stage could not handle is in `failures`, and the rollout stays open; `recover`, or the next
        start, takes it up. Submitted twice at the same time it is learned from once. Who is cancelled harms
        nobody; the rollout stays open where nothing was made of it yet.

        Raises BatchError where its update, or putting it on record, failed; ClosedError after `close`.
        """
        with self._updates.place():
            clean = await asyncio.to_thread(redact_rollout, rollout)
        return await self._once(clean.id, lambda place: self._learn(place, clean))

    async def settled(self) -> None:
        """Wait for what is going on record, and into a commit, now: also of those who were cancelled."""
        await self._arrivals.settled()
        await self._updates.settled()

    async def train_rollouts(
        self,
        rollouts: Sequence[Rollout],
        policy_set: ExperienceSet,
        context: PipelineContext,
        analyses: Sequence[RolloutAnalysis] | None = None,
    ) -> RolloutTrainingResult:
        """Learn from rollouts that come together, as a PolicyTrainer; they may end in several updates.

        Raises UsageError where `context` is for another branch, BatchError where every update failed.
        """
        del policy_set
        mine, theirs = self._context.apply_context, context.apply_context
        if (mine.branch, mine.start) != (theirs.branch, theirs.start):
            raise UsageError(
                f"this trainer is for branch {mine.branch!r}, not {theirs.branch!r}",
                hint="a trainer has one branch: get another one",
            )
        have = {a.rollout.id: a for a in analyses or ()}
        unique = list({r.id: r for r in rollouts}.values())
        works = [self._once(r.id, partial(self._learn, rollout=r, analysis=have.get(r.id))) for r in unique]
        done = await asyncio.gather(*works, return_exceptions=True)
        latest = await self._engine.reload()
        return joined(_settled(unique, done, latest), latest)

    async def recover(self) -> list[RolloutTrainingResult]:
        """Learn from what is open in the inbox and nobody is at; return a result for each.

        What is on its way here is left alone, so it may be called at any time; callers at the same time have
        one result. Raises ClosedError where the trainer is closed meanwhile.
        """
        if self._recovery is None or self._recovery.done():
            self._recovery = asyncio.ensure_future(self._recover())
        return await asyncio.shield(self._recovery)

    async def retry(self, rollouts: Sequence[str]) -> list[RolloutTrainingResult]:
        """Learn from rollouts on record; an analysis on record is not made again. Raises ClosedError."""
        gate = asyncio.Semaphore(AT_ONCE)

        async def one(rollout_id: str) -> RolloutTrainingResult:
            async with gate:
                return await self._retry(rollout_id)

        return await asyncio.gather(*map(one, rollouts))

    async def _recover(self) -> list[RolloutTrainingResult]:
        return await self.retry([i for i in await self._inbox.open() if i not in self._running])

    async def _retry(self, rollout_id: str) -> RolloutTrainingResult:
        async def work(place: Place[_Item, RolloutTrainingResult]) -> RolloutTrainingResult:
            rollout, analysis = await self._inbox.take(rollout_id, self._engine.learner)
            return await self._learn(place, rollout, analysis)

        try:
            return await self._once(rollout_id, work)
        except (BatchError, FormatError, NotFoundError) as error:
            failure = RolloutFailure(rollout=rollout_id, case="", stage="recall", error=error.message)
            return without_update(await self._engine.reload(), failures=(failure,))

    async def close(self) -> None:
        """Take nothing new, finish what was begun, and return. Idempotent.

        What is being taken up from the inbox, and is in no update yet, is left to the next start.
        """
        if self._recovery is not None and not self._recovery.done():
            self._recovery.cancel()
            await asyncio.wait([self._recovery])
        await self._updates.close()
        while self._running:
            await asyncio.wait([running.task for running in self._running.values()])
        await asyncio.gather(self._arrivals.close(), self._asides.close())
        await self._inbox.close()

    async def _once(self, rollout_id: str, work: Work) -> RolloutTrainingResult:
        """Do the work, or wait for who does it; it ends when nobody waits for it any more."""
        running = self._running.get(rollout_id)
        if running is None or not running.waiting:
            place = self._updates.announce()
            running = self._running[rollout_id] = _Running(asyncio.ensure_future(work(place)))
            running.task.add_done_callback(partial(self._ended, rollout_id, running, place))
        running.waiting += 1
        try:
            return await asyncio.shield(running.task)
        finally:
            running.waiting -= 1
            if not running.waiting:
                running.task.cancel()

    def _ended(
        self,
        rollout_id: str,
        running: _Running,
        place: Place[_Item, RolloutTrainingResult],
        task: asyncio.Future[RolloutTrainingResult],
    ) -> None:
        place.leave()
        if self._running.get(rollout_id) is running:
            del self._running[rollout_id]
        if not task.cancelled():
            task.exception()  # seen, also where nobody waits for it any more

    async def _learn(
        self,
        place: Place[_Item, RolloutTrainingResult],
        rollout: Rollout,
        analysis: RolloutAnalysis | None = None,
    ) -> RolloutTrainingResult:
        received = await self._arrivals.submit(rollout)
        if received is None or not received.fresh:
            latest = await self._engine.reload()
            refused, already = (received.refused, received.already) if received else ((), ())
            return without_update(latest, failures=refused, already=already)
        item, failures = await self._prepared(rollout, analysis)
        if item is None:
            return without_update(await self._engine.reload(), failures=failures)
        try:
            result = await place.submit(item, item.size)
        except BatchError as error:
            if not isinstance(error.__cause__, CutOffError):
                raise
            held = _failure(rollout, f"{HELD_BACK}: {error.message}")
            return without_update(await self._engine.reload(), failures=(held,))
        result = result or await self._asides.submit(item)
        return result or without_update(await self._engine.reload())

    async def _prepared(
        self, rollout: Rollout, analysis: RolloutAnalysis | None
    ) -> tuple[_Item | None, tuple[RolloutFailure, ...]]:
        """Return the rollout analysed, and estimated where the learner looks at it alone; or why not."""
        failures: list[RolloutFailure] = []
        if analysis is None:
            made, failures = await self._engine.analyze([rollout], self._context)
            if not made:
                return None, tuple(failures)
            (analysis,) = made
        if self._engine.scope != "rollout":
            return _Item(analysis), ()
        latest = await self._engine.reload()
        edits, failures = await self._engine.estimate([analysis], (), latest, self._context)
        return (None, tuple(failures)) if failures else (_Item(analysis, edits), ())

    async def _admit(self, rollouts: Sequence[Rollout]) -> list[Received]:
        again = self._context.apply_context.again
        received = await self._inbox.admit(rollouts, self._engine.learner, again=again)
        fresh = {r.id: r for r in received.fresh}
        refused = {f.rollout: f for f in received.refused}
        return [
            Received(
                fresh=(fresh[r.id],) if r.id in fresh else (),
                already=(r.id,) if r.id in received.already else (),
                refused=(refused[r.id],) if r.id in refused else (),
            )
            for r in rollouts
        ]

    async def _set_aside(self, items: Sequence[_Item]) -> list[RolloutTrainingResult]:
        """Record that rollouts taught nothing, without an update."""
        done = [item.analysis for item in items]
        nothing = {item.analysis.rollout.id: item.why_nothing for item in items}
        await self._journal.analysed(done, self._engine.learner)
        await self._journal.nothing(nothing, self._engine.learner)
        latest = await self._engine.reload()
        return [
            without_update(latest, nothing={a.rollout.id: nothing[a.rollout.id]}, analyses=(a,)) for a in done
        ]

    async def _update(self, items: Sequence[_Item]) -> list[RolloutTrainingResult]:
        """Make one update of all these. Raises CutOffError, and what the updater raises."""
        done = [item.analysis for item in items]
        learner = self._engine.learner
        await self._journal.analysed(done, learner)
        outcomes: list[Outcome] = []
        for _ in range(ROUNDS):
            before = await self._inbox.noted(learner) if self._engine.scope == "batch" else frozenset()
            around = await self._inbox.earlier(done, learner, self._engine.scope)
            outcomes.append(await self._round(items, around))
            if self._engine.scope != "batch" or await self._inbox.noted(learner) <= before:
                break
        nothing = {i: why for i, why in outcomes[-1].nothing.items() if all(i in o.nothing for o in outcomes)}
        nothing |= dict.fromkeys(around.left, LEFT)
        await self._journal.nothing(nothing, learner)
        commits = [commit for outcome in outcomes for commit in outcome.planned.result.commits]
        level = logging.INFO if self._config.trace_console else logging.DEBUG
        trace.log(level, "update of %d rollouts: %s", len(items), ", ".join(commits) or "nothing to change")
        return [part_of(a, outcomes, nothing, around.refused) for a in done]

    async def _round(self, items: Sequence[_Item], around: Received) -> Outcome:
        """Estimate what is still to be estimated, plan all of it and apply the plan."""
        done = [item.analysis for item in items if item.analysis.rollout.id not in around.left]
        ready = [item.edits for item in items if item.edits is not None]
        if len(ready) == len(items):
            edits, missed = joined_edits(ready, {a.rollout.id for a in done}), list[RolloutFailure]()
        else:
            latest = await self._engine.reload()
            edits, missed = await self._engine.estimate(done, around.earlier, latest, self._context)
        everything = [*around.earlier, *done]
        planned = await self._engine.plan_and_apply(edits.gradients, everything, self._context)
        return Outcome.of(done, edits, missed, planned)


@dataclass(slots=True)
class _Running:
    """A rollout that is being learned from, and how many wait for it."""

    task: asyncio.Future[RolloutTrainingResult]
    waiting: int = 0


def is_transient(error: Exception) -> bool:
    """Say whether it may work a moment later: the model or the disk did not answer."""
    return isinstance(error, CutOffError | RepositoryError | ConnectionError | TimeoutError)


def _failure(rollout: Rollout, why: str) -> RolloutFailure:
    return RolloutFailure(rollout=rollout.id, case=rollout.case.name, stage="estimate", error=why)


def _settled(
    rollouts: Sequence[Rollout],
    done: Sequence[RolloutTrainingResult | BaseException],
    latest: ExperienceSet,
) -> list[RolloutTrainingResult]:
    """Return a result for each; a failed update is a failure of its members, and an error if all are."""
    results: list[RolloutTrainingResult] = []
    for rollout, one in zip(rollouts, done, strict=True):
        if isinstance(one, BatchError) and not all(isinstance(o, BatchError) for o in done):
            results.append(without_update(latest, failures=(_failure(rollout, one.message),)))
        elif isinstance(one, BaseException):
            raise one
        else:
            results.append(one)
    return results
