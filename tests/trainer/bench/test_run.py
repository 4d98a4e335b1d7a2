from __future__ import annotations

import asyncio
from dataclasses import replace
from typing import TYPE_CHECKING

import pytest

from tests.builders import make_plan, page, upsert
from tests.env_world import Words, said, serving, word_case
from trainer.bench.run import Bench, open_store, run_bench
from trainer.bench.world import IDLE
from trainer.domain import RolloutTrainingResult
from trainer.env_kit.service import make_service
from trainer.loop import LoopOptions
from trainer.remote.client import JsonClient
from xpstore.commit import commit
from xpstore.errors import UsageError, XpError
from xpstore.init import init
from xpstore.plan import PolicyApplyResult
from xpstore.snapshot import snapshot

if TYPE_CHECKING:
    from collections.abc import Iterator, Sequence
    from pathlib import Path

    from trainer.context import ApplyContext, PipelineContext
    from trainer.domain import Rollout
    from trainer.env_kit.runtime import RolloutRequest
    from trainer.report import Stage
    from trainer.store_door import StoreDoor
    from xpstore.experience import ExperienceSet
    from xpstore.location import Location

BENCH = Bench("words", "", LoopOptions(trials=2, eval_trials=2, train_limit=2, eval_limit=3, seed=1))


class Teaching:
    """A PolicyTrainer that writes a page."""

    def __init__(self, door: StoreDoor, target: ApplyContext) -> None:
        self._door = door
        self._target = target

    async def train_rollouts(
        self, rollouts: Sequence[Rollout], policy_set: ExperienceSet, context: PipelineContext, analyses=None
    ) -> RolloutTrainingResult:
        def write(loc: Location) -> ExperienceSet:
            if loc.tip_of(self._target.branch) is None:
                plan = make_plan(loc, upsert("manners", page("manners", "Say please.")))
                commit(loc, [plan], self._target.branch, start=self._target.start)
            return snapshot(loc, self._target.branch)

        after = await self._door.call(write)
        applied = PolicyApplyResult(updated_policy_set=after, commits=(after.snapshot_id,))
        return RolloutTrainingResult(apply_result=applied)


def polite(request: RolloutRequest) -> Rollout:
    """Pass with a page, or in the first test case; never where nothing is done; say what it cost."""
    rollout = said(request)
    able = bool(request.experiences.policies) or request.case.name == "test-0"
    passed = able and request.options.get("agent") != IDLE
    evaluation = rollout.evaluation.model_copy(update={"passed": passed, "score": float(passed)})
    usage = {"agent": {"calls": 1, "prompt_tokens": 100, "completion_tokens": 10, "cost": 0.5}}
    return rollout.model_copy(
        update={"evaluation": evaluation, "metadata": {**rollout.metadata, "usage": usage}}
    )


@pytest.fixture
def words() -> Words:
    runtime = Words(4)
    runtime.make = polite
    return runtime


@pytest.fixture
def url(words: Words) -> Iterator[str]:
    with serving(make_service(words, labels=True)) as address:
        yield address


def bench(where: Path, url: str, what: Bench = BENCH, stages: list[Stage] | None = None):
    say = stages.append if stages is not None else None
    teaching = replace(what, trainer=Teaching, learner="teaching/1")
    return asyncio.run(run_bench(where, teaching, lambda: JsonClient(url, retries=0), say=say))


def test_a_run_has_a_floor_two_evaluations_and_everything_beside(words: Words, url: str, tmp_path: Path):
    stages: list[Stage] = []
    report = bench(tmp_path / "b", url, stages=stages)
    assert [stage.stage for stage in stages] == ["floor_eval", "baseline_eval", "train_epoch", "final_eval"]
    assert [f"{stage.passed}/{stage.n}" for stage in stages] == ["0/3", "2/6", "0/4", "6/6"]
    assert report.exit_code == 0
    assert report.loop.delta == pytest.approx(2 / 3)
    assert report.pass_hat == {
        "baseline_eval": {1: pytest.approx(1 / 3), 2: pytest.approx(1 / 3)},
        "final_eval": {1: 1.0, 2: 1.0},
    }
    assert (report.flips.better, report.flips.worse, report.flips.same) == (("test-1", "test-2"), (), 1)
    assert {name: (bill.rollouts, bill.total.cost) for name, bill in report.bills.items()} == {
        "baseline_eval": (6, 3.0),
        "train_epoch_0": (4, 2.0),
        "final_eval": (6, 3.0),
    }
    assert len(words.requests) == 3 + 6 + 4 + 6


def test_the_same_again_runs_nothing_and_says_the_same(words: Words, url: str, tmp_path: Path):
    first = bench(tmp_path / "b", url)
    count = len(words.requests)
    second = bench(tmp_path / "b", url)
    assert len(words.requests) == count
    for name in ("pass_hat", "flips", "bills"):
        assert getattr(second, name) == getattr(first, name)


def test_another_run_in_the_same_folder_has_a_bill_of_its_own(url: str, tmp_path: Path):
    bench(tmp_path / "b", url)
    few = BENCH.loop.model_copy(update={"eval_trials": 1, "eval_limit": 2})
    report = bench(tmp_path / "b", url, replace(BENCH, loop=few))
    assert [(name, bill.rollouts) for name, bill in report.bills.items()] == [
        ("baseline_eval", 2),
        ("train_epoch_0", 4),
        ("final_eval", 2),
    ]


def test_what_was_stopped_goes_on(words: Words, url: str, tmp_path: Path):
    class Stopped(Exception):  # noqa: N818  # no error
        pass

    def stop(stage: Stage) -> None:
        if stage.stage == "train_epoch":
            raise Stopped

    teaching = replace(BENCH, trainer=Teaching, learner="teaching/1")
    with pytest.raises(Stopped):
        asyncio.run(run_bench(tmp_path / "b", teaching, lambda: JsonClient(url, retries=0), say=stop))
    count = len(words.requests)
    report = bench(tmp_path / "b", url)
    assert len(words.requests) == count + 6
    assert report.loop.final.passed == 6
    assert report.loop.epochs[0].taken_up == 4


def test_what_breaks_is_no_score_and_is_tried_again(words: Words, url: str, tmp_path: Path):
    def broken(request: RolloutRequest) -> Rollout:
        if request.case.name == "test-1" and not request.experiences.policies:
            raise XpError("the model is gone")
        return polite(request)

    words.make = broken
    report = bench(tmp_path / "b", url)
    assert report.exit_code == 1
    assert (report.loop.baseline.n, len(report.loop.baseline.failures)) == (4, 2)
    assert report.pass_hat["baseline_eval"][1] == pytest.approx(1 / 3)
    words.make = polite
    again = bench(tmp_path / "b", url)
    assert again.exit_code == 0
    assert again.loop.baseline.n == 6


def test_labels_reach_training_cases_only_where_they_are_wanted(words: Words, url: str, tmp_path: Path):
    wanted = replace(BENCH, train_labels=True)
    words.cases = lambda query: [
        word_case(n, query.split).model_copy(
            update={"input": {"user_query": f"say word {n} {query.split}", "expected_actions": []}}
        )
        for n in range(3)
    ]
    for what, expected in ((BENCH, set()), (wanted, {"train-0", "train-1"})):
        folder = tmp_path / str(len(expected))
        bench(folder, url, what)
        kept = [
            file for file in (folder / "rollouts").rglob("*.json") if b"expected_actions" in file.read_bytes()
        ]
        assert {file.name.split(".")[0] for file in kept} == expected


def test_near_copies_of_the_benchmarks_own_are_told(words: Words, url: str, tmp_path: Path):
    text = "please say the word of the day to everybody in this room"
    words.cases = lambda query: [word_case(0, query.split).model_copy(update={"input": {"user_query": text}})]
    [said_so] = bench(tmp_path / "b", url).near_copies
    assert "test-0 of test is a near copy of train-0" in said_so


def test_another_service_is_refused(url: str, tmp_path: Path):
    with pytest.raises(UsageError, match="is the service of words, not of tau2"):
        bench(tmp_path / "b", url, replace(BENCH, dataset="tau2"))
    assert not (tmp_path / "b").exists()


def test_a_split_without_cases(words: Words, url: str, tmp_path: Path):
    words.count = 0
    with pytest.raises(UsageError, match="no cases in 'train'"):
        bench(tmp_path / "b", url)


def test_a_store_goes_where_nothing_else_is(tmp_path: Path):
    (tmp_path / "a" / "store").mkdir(parents=True)
    (tmp_path / "a" / "store" / "mine.txt").write_text("x", "utf-8")
    with pytest.raises(UsageError, match="no store of ours"):
        open_store(tmp_path / "a")
    init(tmp_path / "code")
    with pytest.raises(UsageError, match="inside the repository"):
        open_store(tmp_path / "code" / "bench")
    assert open_store(tmp_path / "b") == open_store(tmp_path / "b") == tmp_path / "b" / "store"
