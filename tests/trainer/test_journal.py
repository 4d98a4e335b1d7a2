from __future__ import annotations

import asyncio
import subprocess

import pytest

from tests.trainer.doubles import CaseEditor, NoteTaker, rollout
from trainer.components.gradient_estimator import ExperienceGradientEstimator
from trainer.components.memory_store import BranchPolicy
from trainer.components.policy_optimizer import PatchMergePolicyOptimizer
from trainer.components.policy_trainer import BatchPolicyTrainer
from trainer.components.policy_updater import GitPolicyUpdater
from trainer.components.trajectory_analyzer import TrajectoryRolloutAnalyzer
from trainer.context import ApplyContext, PipelineContext
from trainer.engine import PolicyTrainingEngine
from trainer.journal import GitJournal, NoJournal
from trainer.offline.merger import StatementMerger
from trainer.share import share_of
from trainer.store_door import StoreDoor
from trainer.trials import stamped, trials_of
from xpstore import evidence, layout
from xpstore.errors import NotFoundError, RepositoryError
from xpstore.init import init
from xpstore.location import Location

LEARNER = "double/1"


@pytest.fixture
def door(tmp_path):
    init(tmp_path / "s")
    door = StoreDoor(tmp_path / "s")
    yield door
    door.close()


def receive(door, *rollouts, learner=LEARNER, again=False, dry_run=False, branch="train/x"):
    journal = GitJournal(door, branch, dry_run=dry_run)
    return asyncio.run(journal.receive(rollouts, learner, again=again))


def train(door, *rollouts, branch="train/x"):
    policy = BranchPolicy(door, branch)
    engine = PolicyTrainingEngine(
        analyzer=TrajectoryRolloutAnalyzer(NoteTaker()),
        estimator=ExperienceGradientEstimator(CaseEditor()),
        optimizer=PatchMergePolicyOptimizer(StatementMerger()),
        updater=GitPolicyUpdater(door),
        policy=policy,
    )
    trainer = BatchPolicyTrainer(engine, GitJournal(door, branch))
    context = PipelineContext(apply_context=ApplyContext(branch=branch))

    async def run():
        return await trainer.train_rollouts(rollouts, await policy.reload(), context)

    return asyncio.run(run())


def location(tmp_path):
    return Location.find(tmp_path / "s")


def test_a_rollout_is_on_record_before_anything_is_made_of_it(door, tmp_path):
    one = rollout("a")
    received = receive(door, one, one)
    assert [r.id for r in received.fresh] == [one.id]
    assert [e["event"] for e in evidence.ledger(location(tmp_path), one.id)] == ["received"]
    assert evidence.find_ids(location(tmp_path), "rollouts", one.id[:6]) == [one.id]
    assert evidence.find_ids(location(tmp_path), "cases", one.case.id) == [one.case.id]


def test_received_but_not_learned_is_fresh_again(door):
    receive(door, rollout("a"))
    assert len(receive(door, rollout("a")).fresh) == 1


def test_learned_rollouts_are_already_known_and_are_earlier_evidence(door):
    train(door, rollout("a"))
    received = receive(door, rollout("a"), rollout("b"))
    assert received.already == (rollout("a").id,)
    assert [r.case.name for r in received.fresh] == ["b"]
    assert [a.rollout.id for a in received.earlier] == [rollout("a").id]
    assert received.earlier[0].trajectories[0].content == "please do a"


def test_what_taught_nothing_is_not_tried_again_by_the_same_learner(door):
    result = train(door, rollout("silent"))
    assert result.nothing == {rollout("silent").id: "said nothing"}
    assert receive(door, rollout("silent")).already == (rollout("silent").id,)
    assert len(receive(door, rollout("silent"), learner="other/1").fresh) == 1


def test_again_overrides(door):
    train(door, rollout("a"))
    received = receive(door, rollout("a"), again=True)
    assert (len(received.fresh), received.already, received.earlier) == (1, (), ())


def test_deleting_a_candidate_frees_its_rollouts(door, tmp_path):
    train(door, rollout("a"), branch="train/gone")
    assert receive(door, rollout("a")).already
    subprocess.run(["git", "-C", str(tmp_path / "s"), "branch", "-qD", "train/gone"], check=True)
    assert len(receive(door, rollout("a")).fresh) == 1


def test_a_dry_run_writes_nothing(door, tmp_path):
    assert len(receive(door, rollout("a"), dry_run=True).fresh) == 1
    assert evidence.tip(location(tmp_path)) is None


def test_without_a_store_everything_is_new():
    received = asyncio.run(NoJournal().receive([rollout("a"), rollout("a")], LEARNER, again=False))
    assert (len(received.fresh), received.already, received.earlier) == (1, (), ())


HALF = rollout("c").model_copy(update={"metadata": {"note": "\udcff"}}).model_dump(mode="json")


@pytest.mark.parametrize(
    ("recorded", "event", "why"),
    [
        (evidence.json_file("x", {"case": {}}).data, {}, "cannot be read: case.name: Field required"),
        (evidence.json_file("x", HALF).data, {}, "cannot be read: Invalid JSON"),
        (b"no JSON", {}, "cannot be read: Invalid JSON"),
        (b"[]", {}, "cannot be read: Input should be an object"),
        (None, {}, "there is no rollout"),
        (
            evidence.json_file("x", rollout("c", passed=None).model_dump(mode="json")).data,
            {},
            "passed: Input",
        ),
        (
            evidence.json_file("x", rollout("c").model_dump(mode="json")).data,
            {"trajectories": ["aa11"]},
            "aa11",
        ),
    ],
)
def test_an_earlier_recording_that_cannot_be_read_is_set_aside_and_named(
    door, tmp_path, recorded, event, why
):
    train(door, rollout("b"))
    bad = "ab" * 10
    told = {"event": "analysed", "learner": LEARNER, **event}
    files = [
        evidence.ledger_file(bad, told),
        evidence.ledger_file(bad, {"event": "received", "run": "run-1"}),
        evidence.EvidenceFile(layout.trajectory_path("aa11"), b"no note"),
    ]
    if recorded is not None:
        files.append(evidence.EvidenceFile(layout.rollout_path(bad), recorded))
    evidence.write(location(tmp_path), files, "By hand")
    for number in range(2):
        result = train(door, rollout("a", number))
        assert [a.rollout.case.name for a in result.analyses] == ["a"]
        failures = [(f.rollout, f.stage) for f in result.failures]
        if recorded is None:  # as after a damaged merge: there is nothing to study
            assert failures == []
            continue
        assert failures == [(bad, "recall")]
        assert why in result.failures[0].error
        assert ": :" not in result.failures[0].error
    assert asyncio.run(GitJournal(door, "train/x").of_run("run-1")) == {}


def test_nothing_is_received_where_history_was_cut_off(tmp_path):
    train_in = StoreDoor(tmp_path / "s")
    init(tmp_path / "s")
    train(train_in, rollout("a"), branch="main")
    train_in.close()
    url = f"file://{tmp_path / 's'}"
    subprocess.run(["git", "clone", "-q", "--depth=1", url, str(tmp_path / "c")], check=True)
    door = StoreDoor(tmp_path / "c")
    with pytest.raises(RepositoryError, match="shallow"):
        receive(door, rollout("b"))
    door.close()
    assert evidence.tip(Location.find(tmp_path / "c")) is None


def test_what_is_more_than_one_run_studies_is_left_on_record(door, tmp_path, monkeypatch):
    monkeypatch.setattr("trainer.journal.share_of", lambda sizes: share_of(sizes, rollouts=3))
    rollouts = [rollout(name) for name in "abcdef"]
    first = sorted(r.id for r in rollouts)[:3]
    received = receive(door, *rollouts)
    assert sorted(r.id for r in received.fresh) == first
    assert set(received.left) == {r.id for r in rollouts} - set(first)
    assert set(evidence.find_ids(location(tmp_path), "rollouts", "")) == {r.id for r in rollouts}


def test_one_batch_or_two_study_the_same_share(door, monkeypatch):
    monkeypatch.setattr("trainer.journal.share_of", lambda sizes: share_of(sizes, rollouts=3))
    rollouts = [rollout(name) for name in "abcdef"]
    train(door, *rollouts[:3])
    received = receive(door, *rollouts[3:])
    studied = [r.id for r in received.fresh] + [a.rollout.id for a in received.earlier]
    assert sorted(studied) == sorted(r.id for r in rollouts)[:3]


def test_a_run_finds_what_it_has_recorded(door):
    trials = trials_of([rollout("a").case, rollout("b").case], 1, 1, training=True)
    mine = [stamped(rollout(t.case.name), t, "run-1", 0) for t in trials]
    other = stamped(rollout("a"), trials[0], "run-2", 0)
    journal = GitJournal(door, "train/x")
    asyncio.run(journal.record([*mine, other, rollout("a")]))
    found = asyncio.run(journal.of_run("run-1"))
    assert found == {trial.key: one.id for trial, one in zip(trials, mine, strict=True)}
    assert asyncio.run(journal.rollout(mine[0].id)) == mine[0]
    assert asyncio.run(journal.of_run("run-3")) == {}
    with pytest.raises(NotFoundError, match="there is no rollout 00ff"):
        asyncio.run(journal.rollout("00ff"))


def test_without_a_journal_nothing_is_found():
    journal = NoJournal()
    asyncio.run(journal.record([rollout()]))
    assert asyncio.run(journal.of_run("run-1")) == {}
    with pytest.raises(NotFoundError, match="there is no rollout"):
        asyncio.run(journal.rollout(rollout().id))
