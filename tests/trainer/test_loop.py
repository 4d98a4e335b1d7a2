from __future__ import annotations

import asyncio

import pytest

from tests.builders import git, identify, make_store, texts
from tests.trainer.case_store import make_case_store, write_suites
from tests.trainer.doubles import CaseEditor, ScriptedEnvironment
from trainer import environment
from trainer.loop import LoopOptions, prepare, train_loop
from trainer.store_door import StoreDoor
from xpstore import evaluation, evidence
from xpstore.errors import UsageError
from xpstore.location import Location

pytestmark = pytest.mark.usefixtures("desk")


@pytest.fixture
def store(tmp_path):
    return make_case_store(tmp_path / "s", train=["a", "b", "c"], test=["d", "e"])


@pytest.fixture
def desk(monkeypatch):
    """The one environment; the learner writes a page per case, so a case that was trained is done well."""
    made = ScriptedEnvironment()
    monkeypatch.setattr(environment, "load_environment", lambda *_: made)
    monkeypatch.setattr("trainer.assembly.OfflineEditor", CaseEditor)
    return made.executor()


def run(store, **options):
    said = []
    options = LoopOptions(**{"trials": 2, "time_limit": 10, **options})
    report = asyncio.run(train_loop(store, options, say=lambda stage: said.append(stage.line)))
    return report, said


def test_baseline_epochs_final_and_the_difference(store):
    write_suites(store, test=["a2", "e"])
    report, said = run(store, epochs=2)
    assert [line.partition(" accuracy")[0] for line in said] == [
        "[baseline_eval] epoch=-1 cases=2",
        "[train_epoch] epoch=0 cases=3",
        "[train_epoch] epoch=1 cases=3",
        "[final_eval] epoch=2 cases=2",
    ]
    assert report.branch == f"train/{report.run_id}"
    assert (
        list(report.epochs[0].commits)
        == git(store, "log", "--reverse", "--format=%H", f"main..{report.branch}").split()
    )
    assert texts(Location.find(store), report.branch).keys() == {"a", "b", "c"}
    assert (report.epochs[0].accuracy, report.epochs[1].accuracy) == (0.0, 1.0)
    assert report.delta == 0.0  # nothing that was taught is tested
    assert report.exit_code == 0
    assert report.baseline.trials == 2
    assert report.final.commit == git(store, "rev-parse", report.branch)


def test_the_test_suite_teaches_nothing(store, desk):
    run(store)
    training = {name for name, told in desk.seen if told.training}
    measured = {name for name, told in desk.seen if not told.training}
    assert (training, measured) == ({"a", "b", "c"}, {"d", "e"})
    loc = Location.find(store)
    cases = [evidence.read(loc, path) for path in evidence.listing(loc, "cases")]
    assert len(cases) == 3


def test_the_same_command_again_runs_nothing(store, desk):
    first, said = run(store)
    desk.seen.clear()
    again, said_again = run(store)
    assert desk.seen == []
    assert again.run_id == first.run_id
    assert [line.partition(" commits")[0] for line in said_again] == [
        line.partition(" commits")[0] for line in said
    ]
    assert (again.baseline.reused, again.final.reused, again.epochs[0].taken_up) == (4, 4, 6)
    assert again.epochs[0].commits == ()


def test_a_run_that_landed_and_was_undone_is_not_gone_on_with(store):
    first, _ = run(store)
    git(store, "merge", "-q", "--ff-only", first.branch)
    git(store, "revert", "--no-edit", f"main~{len(first.epochs[0].commits)}..main")
    second, _ = run(store)
    assert second.run_id != first.run_id
    assert second.epochs[0].taken_up == 0
    assert git(store, "merge-base", "main", second.branch) == git(store, "rev-parse", "main")
    again, _ = run(store)
    assert again.run_id == second.run_id


@pytest.mark.parametrize("other", [{"seed": 6}, {"trials": 3}, {"train_limit": 2}])
def test_another_seed_or_suite_is_another_run(store, desk, other):
    async def run_id(**options):
        async with StoreDoor(store) as door:
            return (await prepare(door, LoopOptions(**options))).target.run_id

    assert asyncio.run(run_id()) == asyncio.run(run_id(epochs=4, eval_limit=1))
    assert asyncio.run(run_id()) != asyncio.run(run_id(**other))
    assert desk.seen == []


def test_edited_code_measures_anew_with_the_same_seeds(store, monkeypatch):
    first, _ = run(store, eval_trials=1)
    git(store, "branch", "-D", first.branch)
    monkeypatch.setattr(ScriptedEnvironment, "code", "1")
    again, _ = run(store, eval_trials=1)
    assert again.run_id == first.run_id
    assert (first.baseline.reused, again.baseline.reused, again.final.reused) == (0, 0, 0)
    third, _ = run(store, eval_trials=1)
    assert third.baseline.reused == third.baseline.n
    monkeypatch.setattr(ScriptedEnvironment, "version", "2")
    other, _ = run(store, eval_trials=1)
    assert other.run_id != first.run_id


def test_limits_and_no_evaluation(store, desk):
    report, said = run(store, train_limit=1, evaluate=False)
    assert (report.baseline, report.final, report.delta) == (None, None, None)
    assert [line.split()[:3] for line in said] == [["[train_epoch]", "epoch=0", "cases=1"]]
    assert {name for name, _ in desk.seen} == {"a"}
    report, _ = run(store, train_limit=1, eval_limit=1, eval_trials=1)
    assert (report.baseline.cases, report.baseline.n) == (1, 1)


def test_what_cannot_run_is_reported_and_the_exit_code_says_so(store):
    write_suites(store, train=["a", "crash"], test=["d", "unscored"])
    report, _ = run(store)
    assert {f.name for f in report.epochs[0].failures} == {"crash"}
    assert {f.name for f in report.final.failures} == {"unscored"}
    assert report.epochs[0].errors == 2
    assert report.exit_code == 1
    assert "a" in texts(Location.find(store), report.branch)


def test_where_nothing_is_learned_the_final_evaluation_is_the_baseline(store):
    write_suites(store, train=["silent"])
    report, _ = run(store, epochs=3)
    assert "epoch 0 changed nothing" in report.stopped
    assert report.final.reused == report.final.n
    assert report.final.commit == git(store, "rev-parse", "main")
    assert len(evaluation.of_commit(Location.find(store), report.final.commit)) == 1
    assert git(store, "branch", "--list", "train/*") == ""


def test_a_store_without_environment_or_cases_is_one_clear_error(store, tmp_path):
    bare = tmp_path / "bare"
    make_store(bare)
    with pytest.raises(UsageError, match="names no environment"):
        run(bare)
    git(store, "rm", "-q", "cases/test.jsonl")
    git(store, "commit", "-q", "-m", "Remove the tests")
    with pytest.raises(UsageError, match=r"no cases in cases/test.jsonl at main"):
        run(store)
    report, _ = run(store, evaluate=False)
    assert report.epochs


def test_a_leak_stops_it_before_anything_runs(store, desk):
    write_suites(store, test=["a"])
    with pytest.raises(UsageError, match="is in suite 'train' too"):
        run(store)
    assert desk.seen == []


def test_a_store_in_a_folder_of_other_code(tmp_path):
    code = tmp_path / "code"
    code.mkdir()
    git(code, "init", "-q", "-b", "main")
    identify(code)
    (code / "app.py").write_text("print()\n")
    git(code, "add", ".")
    git(code, "commit", "-q", "-m", "Write an app")
    store = make_case_store(code / "agent", train=["a"], test=["d"])
    report, _ = run(store)
    changed = git(code, "diff", "--name-only", f"main...{report.branch}").split()
    assert changed == ["agent/experiences/a.md"]
    git(code, "commit", "-q", "--allow-empty", "-m", "Change the code")
    again, _ = run(store)
    assert (again.run_id, again.baseline.reused, again.epochs[0].taken_up) == (report.run_id, 2, 2)
