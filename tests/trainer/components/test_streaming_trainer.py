from __future__ import annotations

import asyncio
from dataclasses import replace

import pytest

from tests.builders import git
from tests.returns_desk import records
from tests.trainer.doubles import SECRET, CaseEditor, NoteTaker, rollout
from trainer.assembly import engine_of
from trainer.components.gradient_estimator import ExperienceGradientEstimator
from trainer.components.memory_store import BranchPolicy
from trainer.components.policy_optimizer import PatchMergePolicyOptimizer
from trainer.components.policy_trainer import BatchPolicyTrainer
from trainer.components.policy_updater import GitPolicyUpdater
from trainer.components.streaming_trainer import StreamingPolicyTrainer, StreamingPolicyTrainerConfig
from trainer.components.trajectory_analyzer import TrajectoryRolloutAnalyzer
from trainer.context import ApplyContext, PipelineContext
from trainer.domain import Message, RolloutAnalysis, RubricEvaluation, TextPart
from trainer.engine import PolicyTrainingEngine
from trainer.errors import BatchError, ClosedError, CutOffError
from trainer.importers.detect import read_record
from trainer.inbox import GitInbox
from trainer.journal import GitJournal
from trainer.offline.editor import OfflineEditor
from trainer.offline.extractor import OfflineExtractor
from trainer.offline.merger import StatementMerger
from trainer.redaction import redact_rollout
from trainer.share import share_of
from trainer.store_door import StoreDoor
from trainer.strategies import Strategies
from xpstore import evidence
from xpstore.errors import RepositoryError, UsageError
from xpstore.inbox import entries
from xpstore.init import init
from xpstore.location import Location

BRANCH = "train/live"
AT_ONCE = StreamingPolicyTrainerConfig(retry_seconds=0)
CONTEXT = PipelineContext(apply_context=ApplyContext(branch=BRANCH))


class Away:
    """A model behind the learner that is there, or is not."""

    def __init__(self, why=""):
        self.why = why
        self.asked = 0

    def as_json(self):
        return {"name": "m"}

    async def cut_off(self):
        self.asked += 1
        return self.why


class Faulty(GitPolicyUpdater):
    """An updater that fails so many times."""

    def __init__(self, door, *failures):
        super().__init__(door)
        self.failures = list(failures)

    async def apply(self, plan, policy_set, context):
        if self.failures:
            raise self.failures.pop(0)
        return await super().apply(plan, policy_set, context)


class Held(NoteTaker):
    """An extractor that begins when it is told, or where nobody will tell it, at once."""

    def __init__(self, gate=None):
        self.gate = gate
        self.read = []
        self.begun = asyncio.Queue()

    async def extract(self, rollout, evaluation):
        self.read.append(rollout.id)
        self.begun.put_nowait(rollout.id)
        if self.gate:
            await self.gate.wait()
        return await super().extract(rollout, evaluation)


@pytest.fixture
def door(tmp_path):
    init(tmp_path / "s")
    door = StoreDoor(tmp_path / "s")
    yield door
    door.close()


@pytest.fixture
def loc(tmp_path, door):
    del door  # the store is made with it
    return Location.find(tmp_path / "s")


def double_engine(door, scope="case", *, updater=None, model=None, extractor=None):
    return PolicyTrainingEngine(
        analyzer=TrajectoryRolloutAnalyzer(extractor or NoteTaker()),
        estimator=ExperienceGradientEstimator(CaseEditor(scope)),
        optimizer=PatchMergePolicyOptimizer(StatementMerger()),
        updater=updater or GitPolicyUpdater(door),
        policy=BranchPolicy(door, BRANCH),
        model=model,
    )


def trainer_of(door, engine=None, config=AT_ONCE):
    return StreamingPolicyTrainer(
        engine or double_engine(door), GitJournal(door, BRANCH), GitInbox(door, BRANCH), CONTEXT, config
    )


def submit(trainer, *rollouts, errors=False):
    """Submit all of them at the same time, close, and return the results."""

    async def main():
        done = await asyncio.gather(*(trainer.submit_rollout(r) for r in rollouts), return_exceptions=errors)
        await trainer.close()
        return done

    return asyncio.run(main())


def events(loc, one):
    return sorted(str(e["event"]) for e in evidence.ledger(loc, one.id))


def pages(loc, branch=BRANCH):
    return git(loc.repo.place, "ls-tree", "--name-only", f"{branch}:experiences").split()


def subjects(loc, ref):
    return git(loc.repo.place, "log", "--format=%s", ref).splitlines()


@pytest.mark.parametrize("scope", ["rollout", "case", "batch"])
def test_each_rollout_is_learned_from_in_one_update(door, loc, scope):
    names = ("a", "b", "silent", "empty", "broken", "bad")
    if scope == "batch":
        names = names[:-1]  # one that cannot be learned from spoils the whole group there
    results = submit(trainer_of(door, double_engine(door, scope)), *map(rollout, names))
    by_name = dict(zip(names, results, strict=True))
    # set aside, it is evidence for whoever looks at all of it
    assert pages(loc) == ["a.md", "b.md", *(["empty.md"] if scope != "case" else [])]
    for name in ("a", "b"):
        one, result = rollout(name), by_name[name]
        assert [p.rollouts[0].id for p in result.plans] == [one.id]
        assert [g.target_experience_name for g in result.gradients] == [name]
        assert {p.plan_id for p in result.plans} < {p.plan_id for p in result.apply_result.plans}
        assert len(result.apply_result.plans) == len(result.apply_result.commits)
        assert events(loc, one) == ["analysed", "planned", "received"]
    assert by_name["silent"].nothing == {rollout("silent").id: "said nothing"}
    assert by_name["broken"].failures[0].stage == "analyze"
    if scope != "batch":
        assert by_name["bad"].failures[0].stage == "estimate"
    if scope != "rollout":
        assert by_name["empty"].nothing == {rollout("empty").id: "the analysis found nothing to note"}
    open_ = {entry.rollout for entry in entries(loc)}
    assert open_ == {rollout(n).id for n in ("broken", "bad") if n in names}


def test_what_is_submitted_together_is_received_in_one_commit(door, loc):
    rollouts = [rollout("a", n) for n in range(20)]
    submit(trainer_of(door), *rollouts)
    received = [s for s in subjects(loc, loc.evidence_ref) if s.startswith("Receive")]
    assert len(received) < 5
    assert sum(int(s.split()[1]) for s in received) == 20
    assert all(events(loc, r) == ["analysed", "planned", "received"] for r in rollouts[:1])


def test_a_rollout_is_on_record_and_redacted_before_anything_is_made_of_it(door, loc):
    secret = rollout("a").model_copy(
        update={"messages": (Message(role="user", parts=(TextPart(text=f"my token is {SECRET}"),)),)}
    )

    class Looking(NoteTaker):
        async def extract(self, rollout, evaluation):
            assert events(loc, rollout) == ["received"]
            assert SECRET not in rollout.messages[0].text
            return await super().extract(rollout, evaluation)

    (result,) = submit(trainer_of(door, double_engine(door, extractor=Looking())), secret)
    assert len(result.plans) == 1
    assert redact_rollout(redact_rollout(secret)) == redact_rollout(secret)


@pytest.fixture(scope="module")
def desk():
    return [redact_rollout(read_record(row)[1]) for row in records(cases=16, trials=3)]


def offline():
    return Strategies(OfflineExtractor(), OfflineEditor(), StatementMerger())


def test_batch_and_streaming_end_with_the_same_pages(door, loc, desk, tmp_path):
    target = CONTEXT.apply_context
    batch = target.model_copy(update={"branch": "train/batch"})
    init(tmp_path / "b")

    async def main():
        async with StoreDoor(tmp_path / "b") as other:
            engine = engine_of(other, batch, offline())
            assert type(engine) is PolicyTrainingEngine
            await BatchPolicyTrainer(engine, GitJournal(other, batch.branch)).train_rollouts(
                desk, await engine.reload(), PipelineContext(apply_context=batch)
            )
        engine = engine_of(door, target, offline())
        assert type(engine) is PolicyTrainingEngine
        trainer = trainer_of(door, engine, replace(AT_ONCE, max_gradients_per_update=24))
        await asyncio.gather(*(trainer.submit_rollout(r) for r in desk[::-1][:40]))
        await trainer.train_rollouts(desk, await engine.reload(), CONTEXT)
        await trainer.close()

    asyncio.run(main())
    expected = git(tmp_path / "b", "rev-parse", "train/batch:experiences")
    assert git(loc.repo.place, "rev-parse", f"{BRANCH}:experiences") == expected
    assert len(subjects(loc, f"main..{BRANCH}")) > 1
    assert entries(loc) == []


def test_what_was_learned_before_is_not_learned_again(door, loc):
    submit(trainer_of(door), rollout("a"))
    tip = loc.tip_of(BRANCH)
    (again,) = submit(trainer_of(door), rollout("a"))
    assert (again.already, again.plans) == ((rollout("a").id,), ())
    assert loc.tip_of(BRANCH) == tip


def test_the_same_rollout_twice_at_the_same_time_is_learned_once(door, loc):
    reader = Held()
    one, two = submit(trainer_of(door, double_engine(door, extractor=reader)), rollout("a"), rollout("a"))
    assert one is two
    assert len(reader.read) == 1
    assert len(subjects(loc, f"main..{BRANCH}")) == 1


def test_who_is_cancelled_harms_nobody_and_the_rollout_stays_open(door, loc):
    async def main():
        gate = asyncio.Event()
        reader = Held(gate)
        trainer = trainer_of(door, double_engine(door, extractor=reader))
        gone, same, other = (
            asyncio.create_task(trainer.submit_rollout(rollout(n))) for n in ("gone", "same", "other")
        )
        also = asyncio.create_task(trainer.submit_rollout(rollout("same")))
        for _ in range(3):
            await reader.begun.get()
        gone.cancel()
        same.cancel()
        await asyncio.wait([gone, same])
        gate.set()
        results = [await also, await other]
        await trainer.close()
        return results

    assert [len(r.plans) for r in asyncio.run(main())] == [1, 1]
    assert [entry.rollout for entry in entries(loc)] == [rollout("gone").id]
    assert pages(loc) == ["other.md", "same.md"]


def test_a_model_that_went_away_leaves_all_open_and_the_next_start_learns_it_once(door, loc):
    away = Away("no answer from the host")
    rollouts = [rollout("a"), rollout("b")]
    results = submit(trainer_of(door, double_engine(door, model=away)), *rollouts)
    assert away.asked == 3  # twice more than once
    for result in results:
        assert result.failures[0].error == "held back until the rest is answered: no answer from the host"
    assert [e.progress for e in entries(loc)] == ["analysed", "analysed"]
    reader = Held()

    async def next_start():
        trainer = trainer_of(door, double_engine(door, model=Away(), extractor=reader))
        found = await asyncio.gather(trainer.recover(), trainer.recover())
        assert found[0] is found[1]
        assert await trainer.recover() == []
        await trainer.close()
        return found[0]

    assert [len(r.plans) for r in asyncio.run(next_start())] == [1, 1]
    assert reader.read == []  # the notes are on record
    assert entries(loc) == []
    assert len(subjects(loc, f"main..{BRANCH}")) == 2


def test_a_passing_fault_of_the_repository_is_tried_again(door, loc):
    updater = Faulty(door, RepositoryError("busy"), RepositoryError("busy"))
    (result,) = submit(trainer_of(door, double_engine(door, updater=updater)), rollout("a"))
    assert len(result.plans) == 1
    assert entries(loc) == []


def test_a_fault_that_stays_fails_the_members_of_the_update_and_what_comes_then_is_learned(door, loc):
    updater = Faulty(door, *(RepositoryError("full", hint="make room") for _ in range(3)))

    async def main():
        trainer = trainer_of(door, double_engine(door, updater=updater))
        first = await asyncio.gather(
            *(trainer.submit_rollout(rollout(n)) for n in "ab"), return_exceptions=True
        )
        then = await trainer.submit_rollout(rollout("c"))
        recovered = await trainer.recover()  # what failed here is this trainer's own
        await trainer.close()
        return first, then, recovered

    (a, b), c, recovered = asyncio.run(main())
    assert isinstance(a, BatchError)
    assert isinstance(b, BatchError)
    assert (a.message, a.hint) == ("full", "make room")
    assert len(c.plans) == 1
    assert [len(r.plans) for r in recovered] == [1, 1]
    assert entries(loc) == []


def test_one_update_that_cannot_be_made_fails_nobody_else(door):
    updater = Faulty(door, ValueError("these two together"))
    results = submit(trainer_of(door, double_engine(door, updater=updater)), rollout("a"), rollout("b"))
    assert [len(r.plans) for r in results] == [1, 1]


def test_as_a_policy_trainer_it_returns_one_result(door):
    rollouts = [rollout(n) for n in ("a", "b", "silent", "broken", "a")]
    given = RolloutAnalysis(rollout=rollouts[3], evaluation=RubricEvaluation(passed=True, score=1.0))

    async def main():
        trainer = trainer_of(door)
        policy_set = await BranchPolicy(door, BRANCH).reload()
        first = await trainer.train_rollouts(rollouts, policy_set, CONTEXT)
        second = await trainer.train_rollouts(rollouts[2:], policy_set, CONTEXT, analyses=[given])
        with pytest.raises(UsageError, match="for branch 'train/live', not 'main'"):
            await trainer.train_rollouts(
                rollouts, policy_set, PipelineContext(apply_context=ApplyContext(branch="main"))
            )
        await trainer.close()
        return first, second

    first, second = asyncio.run(main())
    assert len(first.plans) == len(first.apply_result.commits) == 2
    assert [p.name for p in first.updated_policy_set.policies] == ["a", "b"]
    assert list(first.nothing.values()) == ["said nothing"]
    assert [f.case for f in first.failures] == ["broken"]
    assert (len(second.already), second.failures) == (2, ())
    assert second.nothing == {rollouts[3].id: "no lesson that holds cites it"}


def test_a_policy_trainer_reports_an_update_that_failed_and_raises_where_all_did(door):
    cut = CutOffError("gone")

    async def main(*failures):
        trainer = trainer_of(
            door,
            double_engine(door, updater=Faulty(door, *failures)),
            replace(AT_ONCE, max_gradients_per_update=1),
        )
        policy_set = await BranchPolicy(door, BRANCH).reload()
        try:
            return await trainer.train_rollouts([rollout("a"), rollout("b")], policy_set, CONTEXT)
        finally:
            await trainer.close()

    with pytest.raises(BatchError, match="ValueError: no"):
        asyncio.run(main(ValueError("no"), ValueError("no")))
    result = asyncio.run(main(ValueError("no")))
    assert [(f.stage, f.error) for f in result.failures] == [("estimate", "ValueError: no")]
    assert len(result.plans) == 1
    assert "held back" in asyncio.run(main(cut, cut, cut)).failures[0].error


def test_what_is_more_than_one_update_studies_is_closed_with_a_reason(door, loc, monkeypatch):
    monkeypatch.setattr("trainer.inbox.share_of", lambda sizes: share_of(sizes, rollouts=2))
    rollouts = sorted((rollout(n) for n in "abc"), key=lambda r: r.id)
    results = submit(trainer_of(door, double_engine(door, "batch")), *rollouts)
    assert [bool(r.plans) for r in results] == [True, True, False]
    assert "not of the share" in results[2].nothing[rollouts[2].id]
    assert entries(loc) == []


def test_after_closing_nothing_is_taken(door):
    trainer = trainer_of(door)
    submit(trainer)
    with pytest.raises(ClosedError):
        asyncio.run(trainer.submit_rollout(rollout("a")))


def test_settings_that_make_no_sense_are_refused():
    assert StreamingPolicyTrainerConfig() == StreamingPolicyTrainerConfig(8, 10.0, 1.0, trace_console=False)
    for wrong in ({"max_gradients_per_update": 0}, {"max_wait_seconds": -1}, {"retries": -1}):
        with pytest.raises(UsageError, match="make no sense"):
            StreamingPolicyTrainerConfig(**wrong)


@pytest.mark.parametrize("console", [False, True])
def test_each_update_is_logged(door, caplog, console):
    with caplog.at_level("DEBUG", "xpstore.trace.stream"):
        submit(trainer_of(door, config=replace(AT_ONCE, trace_console=console)), rollout("a"))
    assert [r.levelname for r in caplog.records if "update of 1" in r.message] == [
        "INFO" if console else "DEBUG"
    ]
