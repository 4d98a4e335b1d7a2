from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace

import pytest

from tests.builders import git, make_plan, texts, upsert
from tests.returns_desk import records
from tests.trainer.doubles import SECRET, CaseEditor, NoteTaker, ScriptedExecutor, page, rollout
from trainer.components.case_loader import ListCaseLoader
from trainer.components.gradient_estimator import ExperienceGradientEstimator
from trainer.components.memory_store import ExperienceSetLoader, load_directory
from trainer.components.policy_optimizer import PatchMergePolicyOptimizer
from trainer.components.policy_updater import (
    DryRunPolicyUpdater,
    GitPolicyUpdater,
    MemoryFilePolicyUpdater,
)
from trainer.components.snapshotter import CommitSnapshotter, ContentHashPolicySnapshotter
from trainer.components.trajectory_analyzer import TrajectoryRolloutAnalyzer
from trainer.context import ApplyContext, CaseLoadContext, PipelineContext
from trainer.domain import EditResult, Message, TextPart
from trainer.errors import RolloutError
from trainer.importers import iter_rollouts
from trainer.offline.editor import OfflineEditor
from trainer.offline.extractor import OfflineExtractor
from trainer.offline.merger import StatementMerger
from trainer.pipeline import OfflinePolicyOptimizationPipeline
from trainer.store_door import StoreDoor
from trainer.trials import stamp_of
from xpstore import evidence
from xpstore.commit import commit
from xpstore.experience import ExperienceSet, MemoryFile
from xpstore.gradient import PatchSemanticGradient
from xpstore.init import init
from xpstore.location import Location

CONTEXT = PipelineContext(apply_context=ApplyContext(run_id="r1", branch="train/r1"), time_limit=5)
EMPTY = ExperienceSet(root_uri="experiences")


@pytest.fixture
def store(tmp_path):
    init(tmp_path / "s")
    return tmp_path / "s"


def cases(*names):
    return [rollout(name).case for name in names]


def pipeline(updater, executor, *, extractor=None, editor=None, snapshotter=None):
    return OfflinePolicyOptimizationPipeline(
        snapshotter=snapshotter or ContentHashPolicySnapshotter(),
        rollout_executor=executor,
        rollout_analyzer=TrajectoryRolloutAnalyzer(extractor or NoteTaker()),
        gradient_estimator=ExperienceGradientEstimator(editor or CaseEditor()),
        policy_optimizer=PatchMergePolicyOptimizer(StatementMerger()),
        policy_updater=updater,
    )


def in_store(store, work, executor=None, **parts):
    """Run `work(pipeline, policy set of main)` on a store."""

    async def run():
        async with StoreDoor(store) as door:
            made = pipeline(
                GitPolicyUpdater(door),
                executor or ScriptedExecutor(),
                snapshotter=CommitSnapshotter(),
                **parts,
            )
            return await work(made, await ExperienceSetLoader(door).load("main"))

    return asyncio.run(run())


def train(store, *names, executor=None, batch=None, context=CONTEXT, **fields):
    context = context.model_copy(update=fields)
    loader = ListCaseLoader(cases(*names), batch)
    return in_store(store, lambda made, policy: made.train(loader, policy, context), executor)


def rollouts_on_record(store):
    loc = Location.find(store)
    return [json.loads(evidence.read(loc, p)) for p in evidence.listing(loc, "rollouts")]


def test_an_epoch_teaches_and_the_next_one_sees_what_was_taught(store):
    executor = ScriptedExecutor()
    result = train(store, "a", "b", executor=executor, max_epochs=2, trials=2)
    first, second = result.epochs
    assert [(e.accuracy, e.n, e.cases, e.errors) for e in result.epochs] == [(0.0, 4, 2, 0), (1.0, 4, 2, 0)]
    assert first.changed
    assert not second.changed
    assert result.stopped == ""
    assert list(first.commits) == git(store, "log", "--reverse", "--format=%H", "main..train/r1").split()
    assert texts(Location.find(store), "train/r1").keys() == {"a", "b"}
    assert result.policy_set.snapshot_id == git(store, "rev-parse", "train/r1")
    ran_under = [told.policy_snapshot_id for _, told in executor.seen]
    assert ran_under == [git(store, "rev-parse", "main")] * 4 + [result.policy_set.snapshot_id] * 4
    assert all(told.training for _, told in executor.seen)
    assert len({(name, told.seed) for name, told in executor.seen}) == 8


def test_an_epoch_that_changed_nothing_is_the_last(store):
    result = train(store, "a", "silent", max_epochs=5)
    assert [epoch.changed for epoch in result.epochs] == [True, False]
    assert "epoch 1 changed nothing" in result.stopped


def test_no_cases_are_an_epoch_without_scores(store):
    result = train(store, max_epochs=3)
    assert [(e.n, e.accuracy, e.changed) for e in result.epochs] == [(0, None, False)]
    assert result.policy_set.snapshot_id == git(store, "rev-parse", "main")


def test_batches_follow_one_another_within_an_epoch(store):
    executor = ScriptedExecutor()
    result = train(store, "a", "b", "c", executor=executor, batch=1)
    assert len(result.epochs[0].training) == 3
    assert len({told.policy_snapshot_id for _, told in executor.seen}) == 3
    limited = train(
        store,
        "a",
        "b",
        case_load_context=CaseLoadContext(limit=1),
        context=PipelineContext(apply_context=ApplyContext(run_id="r2", branch="train/r2")),
    )
    assert limited.epochs[0].cases == 1


def test_what_goes_wrong_is_reported_under_its_case_and_the_rest_is_learned(store):
    names = ["a", "crash", "stray", "slow", "unscored", "broken"]
    result = train(store, *names, time_limit=1)
    (epoch,) = result.epochs
    failed = {(n, "execute") for n in ("crash", "stray", "slow")} | {("unscored", "evaluate")}
    assert {(f.name, f.stage) for f in epoch.failures} == failed
    assert [(f.case, f.stage) for f in epoch.training[0].failures] == [("broken", "analyze")]
    assert epoch.errors == 5
    assert {r.name: r.passed for r in epoch.results} == {"a": False, "broken": False}
    assert set(texts(Location.find(store), "train/r1")) == {"a"}
    assert {r["case"]["name"] for r in rollouts_on_record(store)} == {"a", "broken", "unscored"}


def test_rollouts_are_stamped_redacted_and_on_record(store):
    train(store, "secret-a")
    (kept,) = rollouts_on_record(store)
    assert "my token is" in json.dumps(kept)
    assert SECRET not in json.dumps(kept)
    stamp = stamp_of(SimpleNamespace(metadata=kept["metadata"]))
    (original,) = cases("secret-a")
    assert (stamp.run, stamp.epoch, stamp.number, stamp.case) == ("r1", 0, 0, original.id)


class Watched(GitPolicyUpdater):
    """An updater whose journal says when it has recorded something."""

    def __init__(self, door):
        super().__init__(door)
        self.recorded = asyncio.Queue()

    def journal(self, context):
        journal = super().journal(context)
        record = journal.record

        async def and_say_so(rollouts):
            await record(rollouts)
            for one in rollouts:
                self.recorded.put_nowait(one.case.name)

        journal.record = and_say_so
        return journal


def test_a_run_that_was_stopped_goes_on_where_it_was(store):
    names = ["a", "b", "slow-c"]

    async def stopped():
        async with StoreDoor(store) as door:
            updater = Watched(door)
            made = pipeline(updater, ScriptedExecutor(), snapshotter=CommitSnapshotter())
            policy = await ExperienceSetLoader(door).load("main")
            training = made.train(ListCaseLoader(cases(*names)), policy, CONTEXT)
            task = asyncio.create_task(training)
            for _ in "ab":
                await updater.recorded.get()
            task.cancel()
            with pytest.raises(asyncio.CancelledError):
                await task

    asyncio.run(stopped())
    assert sorted(r["case"]["name"] for r in rollouts_on_record(store)) == ["a", "b"]
    assert git(store, "branch", "--list", "train/*") == ""
    executor = ScriptedExecutor(hangs=False)
    result = train(store, *names, executor=executor)
    assert [name for name, _ in executor.seen] == ["slow-c"]
    assert (result.epochs[0].taken_up, result.epochs[0].n) == (2, 3)
    assert len(rollouts_on_record(store)) == 3
    assert texts(Location.find(store), "train/r1").keys() == set(names)


def test_a_run_that_is_done_is_done(store):
    first = train(store, "a", "b", max_epochs=2, trials=2)
    before = git(store, "for-each-ref")
    executor = ScriptedExecutor()
    again = train(store, "a", "b", max_epochs=2, trials=2, executor=executor)
    assert executor.seen == []
    assert [e.taken_up for e in again.epochs] == [4, 4]
    assert [e.results for e in again.epochs] == [e.results for e in first.epochs]
    assert [e.commits for e in again.epochs] == [(), ()]
    assert git(store, "for-each-ref") == before
    more = train(
        store,
        "a",
        "b",
        max_epochs=1,
        trials=2,
        executor=executor,
        apply_context=ApplyContext(run_id="r2", branch="train/r2"),
    )
    assert len(executor.seen) == 4  # another run has rollouts of its own
    assert more.epochs[0].taken_up == 0


class Counting(CaseEditor):
    """Writes how many rollouts there are, so that every epoch changes the page."""

    async def edit(self, analyses, experience_set, context):
        current = experience_set.get("count")
        return EditResult(
            gradients=(
                PatchSemanticGradient(
                    before_file=MemoryFile(name="count", content=current.text) if current else None,
                    after_file=MemoryFile(name="count", content=page("count", f"{len(analyses)} so far.")),
                    rollouts=tuple(a.rollout.id for a in analyses),
                    evidence_trajectory_uris=tuple(t.uri for a in analyses for t in a.trajectories),
                    rationale="counted",
                    confidence=0.5,
                ),
            )
        )


def test_a_run_with_several_epochs_goes_on_in_the_epoch_where_it_was(store):
    def run(epochs, executor):
        context = CONTEXT.model_copy(update={"max_epochs": epochs})
        loader = ListCaseLoader(cases("a", "b"))
        return in_store(store, lambda made, p: made.train(loader, p, context), executor, editor=Counting())

    first = run(3, ScriptedExecutor())
    executor = ScriptedExecutor()
    again = run(4, executor)
    assert [e.taken_up for e in again.epochs] == [2, 2, 2, 0]
    assert [e.results for e in again.epochs[:3]] == [e.results for e in first.epochs]
    assert {told.metadata["trial"] for _, told in executor.seen} == {3}
    (text,) = texts(Location.find(store), "train/r1").values()
    assert "8 so far." in text


@pytest.mark.parametrize("call", ["train", "eval"])
def test_nothing_is_locked_while_an_agent_works(store, call):
    executor = ScriptedExecutor()
    context = CONTEXT.model_copy(update={"time_limit": None})

    async def work(made, policy):
        task = asyncio.create_task(getattr(made, call)(ListCaseLoader(cases("slow-a")), policy, context))
        await executor.stuck.get()
        loc = Location.find(store)
        (landed,) = commit(loc, [make_plan(loc, upsert("other", page("other", "Do it.")))], "main")
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        return landed.commit

    assert in_store(store, work, executor) == git(store, "rev-parse", "main")


def evaluate(made, policy, *names, **more):
    return made.eval(
        ListCaseLoader(cases(*names)), policy, CONTEXT.model_copy(update={"time_limit": 5}), **more
    )


def test_eval_neither_analyses_nor_writes(store):
    before = git(store, "for-each-ref")
    executor = ScriptedExecutor(luck=0.5)
    names = ("broken", "b", "c")
    result = in_store(store, lambda made, policy: evaluate(made, policy, *names, trials=4), executor)
    assert git(store, "for-each-ref") == before
    assert result.policy_snapshot_id == git(store, "rev-parse", "main")
    assert [(r.name, r.trial) for r in result.results] == [
        (n, t) for t in range(4) for n in ("broken", "b", "c")
    ]
    assert 0 < result.accuracy < 1
    assert not any(told.training for _, told in executor.seen)
    assert {told.seed % 2 for _, told in executor.seen} == {0}


def test_a_missing_evaluation_is_an_error_that_names_the_case(store):
    result = in_store(store, lambda made, policy: evaluate(made, policy, "a", "unscored", "crash"))
    assert [(f.name, f.stage) for f in result.failures] == [("unscored", "evaluate"), ("crash", "execute")]
    assert "case 'unscored' has no evaluation" in result.failures[0].error
    assert (result.passed, result.n, result.accuracy) == (0, 1, 0.0)


def test_rollouts_from_elsewhere_are_learned_and_masked(store):
    told = Message(role="user", parts=(TextPart(text=f"my token is {SECRET}"),))
    mine = [rollout("a"), rollout("b").model_copy(update={"messages": (told,)})]
    result = in_store(store, lambda made, policy: made.train_from_rollouts(mine, policy, CONTEXT))
    assert len(result.apply_result.commits) == 2
    assert "my token is" in json.dumps(rollouts_on_record(store))
    assert SECRET not in json.dumps(rollouts_on_record(store))
    with pytest.raises(RolloutError, match="rollout 1"):
        in_store(store, lambda made, policy: made.train_from_rollouts([rollout("")], policy, CONTEXT))


def test_a_plain_directory_learns_too(tmp_path):
    (tmp_path / "silent.md").write_text(page("silent", "Be still."), encoding="utf-8")
    made = pipeline(MemoryFilePolicyUpdater(tmp_path), ScriptedExecutor())
    context = PipelineContext(max_epochs=3)
    result = asyncio.run(made.train(ListCaseLoader(cases("a", "b"), 1), load_directory(tmp_path), context))
    assert [p.name for p in load_directory(tmp_path).policies] == ["a", "b", "silent"]
    assert [e.accuracy for e in result.epochs] == [0.0, 1.0]


def test_a_dry_run_learns_in_memory():
    made = pipeline(DryRunPolicyUpdater(), ScriptedExecutor())
    result = asyncio.run(made.train(ListCaseLoader(cases("a", "b"), 1), EMPTY, PipelineContext(max_epochs=2)))
    assert [p.name for p in result.policy_set.policies] == ["a", "b"]
    assert [e.accuracy for e in result.epochs] == [0.0, 1.0]


@pytest.fixture(scope="module")
def recorded(tmp_path_factory):
    file = tmp_path_factory.mktemp("desk") / "all.jsonl"
    file.write_text("".join(json.dumps(r) + "\n" for r in records(14)), encoding="utf-8")
    return [item.rollout for item in iter_rollouts([file])]


def learned(tmp_path, name, parts):
    """Train on the parts one after the other; return the bytes of what was learned."""
    init(tmp_path / name)

    async def work(made, policy):
        for part in parts:
            result = await made.train_from_rollouts(part, policy, CONTEXT)
            policy = result.updated_policy_set

    in_store(tmp_path / name, work, extractor=OfflineExtractor(), editor=OfflineEditor())
    return texts(Location.find(tmp_path / name), "train/r1")


@pytest.mark.slow
def test_one_batch_or_four_in_another_order_end_with_the_same_bytes(tmp_path, recorded):
    whole = learned(tmp_path, "one", [recorded])
    assert whole
    assert learned(tmp_path, "four", [recorded[::-1][i::4] for i in (2, 0, 3, 1)]) == whole
