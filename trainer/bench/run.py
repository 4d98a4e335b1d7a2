"""A run of a benchmark: floor, baseline, epochs, final evaluation, in a store of its own.

    DIR/store      the experiences: a repository, one commit per lesson
    DIR/rollouts   every rollout as a file
    DIR/report.json, service.log

The same command goes on where one was stopped: evaluations and training take up the rollouts that are kept.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from pydantic import JsonValue

from trainer.bench.artifacts import artifacts
from trainer.bench.report import BenchReport, bills_of, flips_of, pass_hats_of
from trainer.bench.world import IDLE, BenchEnvironment, check_service
from trainer.components.remote import RemoteCaseLoader, health_of
from trainer.copies import near_copy
from trainer.evaluate import Measurement, measure
from trainer.loop import Arranged, LoopOptions, train_loop
from trainer.remote.protocol import CasesQuery
from trainer.report import BASELINE_EPOCH, evaluation_stage
from trainer.store_door import StoreDoor
from trainer.trials import seed_of
from xpstore.errors import UsageError
from xpstore.git import Repo
from xpstore.init import init
from xpstore.model import Frozen

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from pathlib import Path

    from trainer.components.remote import Connect
    from trainer.context import ApplyContext
    from trainer.domain import Case
    from trainer.interfaces import PolicyTrainer
    from trainer.remote.protocol import Health
    from trainer.report import EvaluationStage, LoopReport, Stage
    from trainer.rollouts import Progress
    from trainer.strategies import ModelChoice

STORE, ROLLOUTS = "store", "rollouts"
TRAIN, TEST = "train", "test"
LABELS = "expected_actions"
"""The filter of a case query that asks for the training label."""
FLOOR_SUITE = "do-nothing"
"""What the floor is on record as: no score of anybody's experiences."""


@dataclass(frozen=True, slots=True)
class Bench:
    """What is measured, and how."""

    dataset: str
    domain: str
    loop: LoopOptions
    train_labels: bool = False
    """Whether training cases carry what a perfect agent does, for the learner."""
    choice: ModelChoice | None = None
    """The learner; None = the one without a model."""
    trainer: Callable[[StoreDoor, ApplyContext], PolicyTrainer] | None = None
    """Who trains instead of the learner."""
    learner: str = ""
    """The name of that trainer."""


@dataclass(frozen=True, slots=True)
class _Slice:
    """The data of a run."""

    health: Health
    suites: Mapping[str, Sequence[Case]]
    near: tuple[str, ...] = field(default=())


async def run_bench(
    where: Path,
    bench: Bench,
    connect: Connect,
    *,
    say: Callable[[Stage], None] | None = None,
    progress: Progress | None = None,
) -> BenchReport:
    """Run a benchmark with the service that `connect` reaches; `say` hears of every stage as it ends.

    Raises XpError; what was recorded and committed before that stays.
    """
    data = await _slice(bench, connect)
    store, folder = open_store(where), where / ROLLOUTS
    place = f"{bench.dataset}/{bench.domain}"
    limit = bench.loop.time_limit
    idle = BenchEnvironment(data.health, connect, folder, place, {"agent": IDLE}, limit)
    acting = BenchEnvironment(data.health, connect, folder, place, {}, limit)
    floor = None
    if bench.loop.evaluate:
        floor = await _floor(store, idle, data.suites[TEST], bench.loop, progress)
        if say:
            say(floor)
    loop = await train_loop(
        store,
        bench.loop,
        choice=bench.choice,
        arranged=Arranged(acting.world(), data.suites, bench.trainer, bench.learner),
        say=say,
        progress=progress,
    )
    return BenchReport(
        benchmark=bench.dataset,
        domain=bench.domain,
        service=data.health.model_dump(mode="json"),
        loop=loop,
        floor=floor,
        pass_hat=pass_hats_of(loop),
        flips=flips_of(loop.baseline, loop.final),
        bills=bills_of(loop, artifacts(folder), acting.id, await _seeds(store, loop, bench.loop)),
        near_copies=data.near,
        store=str(store),
        rollouts=str(folder),
    )


class BenchPlan(Frozen):
    """What a run would do, at most; what is kept is not run again."""

    benchmark: str
    domain: str
    service: dict[str, JsonValue]
    """What the service says of itself."""
    train_cases: int
    test_cases: int
    rollouts: dict[str, int]
    """Stage → rollouts."""


async def plan_bench(bench: Bench, connect: Connect) -> BenchPlan:
    """Return what `run_bench` would do: asks for the cases, runs and writes nothing. Raises XpError."""
    data = await _slice(bench, connect)
    loop = bench.loop
    train = len(data.suites[TRAIN][: loop.train_limit])
    test = len(data.suites.get(TEST, ())[: loop.eval_limit])
    evaluation = test * (loop.eval_trials or loop.trials)
    return BenchPlan(
        benchmark=bench.dataset,
        domain=bench.domain,
        service=data.health.model_dump(mode="json"),
        train_cases=train,
        test_cases=test,
        rollouts={
            "floor_eval": test,
            "baseline_eval": evaluation,
            "train_epochs": train * loop.trials * loop.epochs,
            "final_eval": evaluation,
        },
    )


def open_store(where: Path) -> Path:
    """Return the store below a folder; a new one where there is none. Raises UsageError: something else."""
    store = where / STORE
    if not (store / "xp.toml").is_file():
        if store.exists() and any(store.iterdir()):
            raise UsageError(f"{store} is no store of ours", hint="name another directory")
        if (around := Repo.discover(_existing(where))) is not None:
            raise UsageError(
                f"{where} is inside the repository {around.place}", hint="name a directory outside of it"
            )
        init(store)
    return store


def _existing(path: Path) -> Path:
    at = path.resolve()
    while not at.exists():
        at = at.parent
    return at


async def _slice(bench: Bench, connect: Connect) -> _Slice:
    async with connect() as client:
        health = await health_of(client)
        check_service(health, bench.dataset, client.host)
    suites: dict[str, Sequence[Case]] = {}
    for split in (TRAIN, *([TEST] if bench.loop.evaluate else [])):
        labels = bench.train_labels and split == TRAIN
        query = CasesQuery(
            dataset=bench.dataset,
            domain=bench.domain,
            split=split,
            filters={LABELS: True} if labels else {},
        )
        suites[split] = await RemoteCaseLoader(connect, query, labels=labels).load()
        if not suites[split]:
            raise UsageError(f"{bench.domain} has no cases in {split!r}", hint="another domain has")
    return _Slice(health, suites, _near(suites))


def _near(suites: Mapping[str, Sequence[Case]]) -> tuple[str, ...]:
    """Return which test case is a near copy of a training case: the split is the benchmark's and stays."""
    found = near_copy(suites)
    if found is None:
        return ()
    (first, one), (second, other), share = found
    return (f"{other} of {second} is a near copy of {one} of {first}: {share:.0%} of their words are equal",)


async def _floor(
    store: Path,
    idle: BenchEnvironment,
    cases: Sequence[Case],
    options: LoopOptions,
    progress: Progress | None,
) -> EvaluationStage:
    """Return what an agent scores that does nothing: the same in every trial, so one is enough."""
    async with StoreDoor(store) as door:
        main = await door.call(lambda location: location.config.main)
        what = Measurement(
            world=idle.world(),
            suite=FLOOR_SUITE,
            cases=cases[: options.eval_limit],
            trials=1,
            seed=0,
            parallel=options.parallel,
            time_limit=options.time_limit,
        )
        measured = await measure(door, main, what, progress, "do-nothing floor")
    return evaluation_stage("floor_eval", BASELINE_EPOCH, measured)


async def _seeds(store: Path, loop: LoopReport, options: LoopOptions) -> dict[int, int | None]:
    """Return the seeds of this run's trials, each with its epoch; None = one of the evaluations."""
    async with StoreDoor(store) as door:
        config = await door.call(lambda location: location.config)
    base = config.evaluation.seed if options.seed is None else options.seed
    trials = max((stage.trials for stage in (loop.baseline, loop.final) if stage), default=0)
    evaluated = {seed_of(base, number, training=False): None for number in range(trials)}
    trained = {
        seed_of(int(loop.run_id, 16), number, training=True): number // options.trials
        for number in range(options.trials * options.epochs)
    }
    return {**evaluated, **trained}
