"""`xp train` without files: baseline, epochs on the training cases, final evaluation (RFC §8.1, §15.2).

A run is named by what it starts from: the experiences of main, the training cases, seed, environment and
learner. So the same command finds the branch and the rollouts of a run that was interrupted and goes on.
A run that has landed and was undone since is not gone on with; the same command starts another one.
"""

from __future__ import annotations

from contextlib import AsyncExitStack
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Protocol

from trainer.assembly import learner_of, learning, trainer_of
from trainer.components.case_loader import ListCaseLoader
from trainer.components.memory_store import ExperienceSetLoader
from trainer.components.snapshotter import CommitSnapshotter
from trainer.context import ApplyContext, PatchMergePolicyOptimizerContext, PipelineContext
from trainer.environment import world_of
from trainer.evaluate import Measurement, measure
from trainer.journal import GitJournal
from trainer.pipeline import OfflinePolicyOptimizationPipeline
from trainer.report import BASELINE_EPOCH, LoopReport, delta_of, epoch_stage, evaluation_stage
from trainer.store_door import StoreDoor
from trainer.suite import load_suites, suite_digest
from trainer.trials import check_count
from xpstore.evaluation import experiences_at
from xpstore.hashing import content_id
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from contextlib import AbstractAsyncContextManager
    from pathlib import Path

    from pydantic import JsonValue

    from trainer.domain import Case
    from trainer.environment import World
    from trainer.interfaces import PolicyTrainer
    from trainer.report import EpochStage, EvaluationStage, Stage
    from trainer.results import TrainEpochResult
    from trainer.rollouts import Progress
    from trainer.strategies import ModelChoice, Strategies
    from xpstore.location import Location
    from xpstore.settings import DuplicateSettings, LlmSettings


class LoopOptions(Frozen):
    """The options of the loop."""

    epochs: int = 1
    trials: int = 8
    """Training trials of each case in an epoch."""
    eval_trials: int | None = None
    """Test trials of each case; None = as xp.toml says."""
    train_limit: int | None = None
    """At most so many training cases, the first ones."""
    eval_limit: int | None = None
    seed: int | None = None
    """What all seeds are derived from; None = as xp.toml says."""
    parallel: int = 8
    time_limit: float | None = None
    """Seconds that one rollout may take."""
    evaluate: bool = True


@dataclass(frozen=True, slots=True)
class Arranged:
    """A run whose world and cases are not those of the store: a benchmark's."""

    world: World
    suites: Mapping[str, Sequence[Case]]
    """`train`, and `test` where it is evaluated. Nobody checks here that they are apart."""
    trainer: Callable[[StoreDoor, ApplyContext], PolicyTrainer] | None = None
    """Makes who trains instead of the learner; None = the learner."""
    learner: str = ""
    """The name of that trainer."""


class Elsewhere(Protocol):
    """Other machines, where agents work and rollouts are studied."""

    def world(self, world: World) -> World:
        """Return the world with its agents over there; what it scores is the same."""
        ...

    def strategies(self, strategies: Strategies) -> Strategies:
        """Return the strategies with what can be done over there done there."""
        ...


@dataclass(frozen=True, slots=True)
class Run:
    """A training run before it begins."""

    world: World
    options: LoopOptions
    start: str
    """The commit of main that it starts from."""
    target: ApplyContext
    cases: tuple[Case, ...]
    measurement: Measurement | None
    """How it is measured before and after; None = not at all."""
    duplicates: DuplicateSettings
    llm: LlmSettings | None = None
    """The model that learns; None = the learner has none."""

    def at(self, elsewhere: Elsewhere) -> Run:
        """Return the run with its agents on other machines."""
        world = elsewhere.world(self.world)
        measurement = replace(self.measurement, world=world) if self.measurement else None
        return replace(self, world=world, measurement=measurement)

    @property
    def context(self) -> PipelineContext:
        """The pipeline's context. Training seeds come from the run id, which has the base seed in it."""
        return PipelineContext(
            optimization_context=PatchMergePolicyOptimizerContext(
                run_id=self.target.run_id, duplicates=self.duplicates
            ),
            apply_context=self.target,
            max_epochs=self.options.epochs,
            trials=self.options.trials,
            seed=int(self.target.run_id, 16),
            time_limit=self.options.time_limit,
            parallel=self.options.parallel,
        )


async def prepare(
    door: StoreDoor,
    options: LoopOptions,
    choice: ModelChoice | None = None,
    arranged: Arranged | None = None,
) -> Run:
    """Return the run that these options name, with this learner. Writes, executes and asks nothing.

    Raises UsageError: no environment, no cases, a case that is in two suites, more rollouts than can be kept,
    no model.
    """
    return await door.call(lambda location: _prepare(location, options, choice, arranged))


async def train_loop(  # noqa: PLR0913  # the options of the verb
    location: Path,
    options: LoopOptions,
    *,
    store: str | None = None,
    choice: ModelChoice | None = None,
    arranged: Arranged | None = None,
    elsewhere: Callable[[StoreDoor], AbstractAsyncContextManager[Elsewhere]] | None = None,
    say: Callable[[Stage], None] | None = None,
    progress: Progress | None = None,
) -> LoopReport:
    """Train on the store's own cases, or on those `arranged`; `say` hears of every stage as it ends.

    Without a `choice`, the learner without a model learns. With `elsewhere`, it is done on the machines that
    this opens. What was recorded and committed before an error or an interrupt stays. Raises XpError.
    """
    heard = say or (lambda _: None)
    async with AsyncExitStack() as stack:
        door = await stack.enter_async_context(StoreDoor(location, store))
        strategies = await stack.enter_async_context(learning(door, choice))
        run = await prepare(door, options, choice, arranged)
        if elsewhere:
            there = await stack.enter_async_context(elsewhere(door))
            run, strategies = run.at(there), there.strategies(strategies)

        async def measured(stage: str, epoch: int, commit: str) -> EvaluationStage | None:
            if run.measurement is None:
                return None
            done = evaluation_stage(
                stage, epoch, await measure(door, commit, run.measurement, progress, stage)
            )
            heard(done)
            return done

        baseline = await measured("baseline_eval", BASELINE_EPOCH, run.start)
        pipeline = OfflinePolicyOptimizationPipeline(
            snapshotter=CommitSnapshotter(),
            rollout_executor=run.world.environment.executor(),
            policy_trainer=(
                arranged.trainer(door, run.target)
                if arranged and arranged.trainer
                else trainer_of(door, run.target, strategies, progress=progress)
            ),
            journal=GitJournal(door, run.target.branch),
            progress=progress,
        )
        epochs: list[EpochStage] = []

        def on_epoch(done: TrainEpochResult) -> None:
            epochs.append(epoch_stage(done, run.target))
            heard(epochs[-1])

        policy_set = await ExperienceSetLoader(door).load(run.start)
        context = strategies.tuned(run.context)
        result = await pipeline.train(ListCaseLoader(run.cases), policy_set, context, on_epoch=on_epoch)
        after = result.policy_set.snapshot_id
        final = await measured("final_eval", len(epochs), after)
    return LoopReport(
        run_id=run.target.run_id,
        branch=run.target.branch,
        environment=run.world.id,
        agent=run.world.environment.agent,
        baseline=baseline,
        epochs=tuple(epochs),
        final=final,
        delta=delta_of(baseline, final),
        stopped=result.stopped,
        model=strategies.model.use() if strategies.model else None,
    )


def _free_run_id(location: Location, start: str, name: list[JsonValue]) -> str:
    """Return the id of the run of this name; where its commits are in main's past, of the next one.

    Main has the pages of before again, so somebody took back what that run had landed: going on with it
    could change nothing.
    """
    while True:
        run_id = content_id(name)[:8]
        tip = location.tip_of(f"{location.candidate_prefix}{run_id}")
        if tip is None or tip == start or not location.repo.is_ancestor(tip, start):
            return run_id
        name = [*name, tip]


def _prepare(
    location: Location, options: LoopOptions, choice: ModelChoice | None, arranged: Arranged | None
) -> Run:
    config = location.config
    learner = (arranged.learner if arranged else "") or learner_of(config, choice)
    world = arranged.world if arranged else world_of(config.environment, config.llm)
    suites: Mapping[str, Sequence[Case]]
    if arranged:
        suites = arranged.suites
    else:
        suites = load_suites(location, config.main, "train", *(["test"] if options.evaluate else []))
    start = location.resolve(config.main)
    cases = tuple(suites["train"][: options.train_limit])
    check_count(len(cases), options.trials)
    seed = config.evaluation.seed if options.seed is None else options.seed
    who = world.environment
    name: list[JsonValue] = [
        experiences_at(location, start),
        *(suite_digest(cases), options.trials, seed, learner),
        *(world.id, who.agent, who.model, who.simulator, who.version),
    ]
    run_id = _free_run_id(location, start, name)
    measurement = Measurement(
        world=world,
        suite="test",
        cases=suites["test"][: options.eval_limit] if options.evaluate else [],
        trials=options.eval_trials or config.evaluation.trials,
        seed=seed,
        parallel=options.parallel,
        time_limit=options.time_limit,
    )
    check_count(len(measurement.cases), measurement.trials)
    return Run(
        world=world,
        options=options,
        start=start,
        target=ApplyContext(run_id=run_id, branch=f"{location.candidate_prefix}{run_id}", start=start),
        cases=cases,
        measurement=measurement if options.evaluate else None,
        duplicates=config.duplicates,
        llm=choice.askable(config) if choice else None,
    )
