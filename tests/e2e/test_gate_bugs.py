"""What went wrong at others' gates: one bad candidate that held up the good ones, noise that was progress."""

from __future__ import annotations

import pytest

from tests.builders import git, make_plan, page, upsert
from tests.trainer.case_store import install_scripted
from tests.trainer.doubles import ScriptedExecutor
from tests.trainer.gate_store import make_gate_store
from trainer.gate.decide import CaseChange, judge
from trainer.gate.landing import LandingGate
from xpstore import gate_record
from xpstore.candidate import LandingCandidate
from xpstore.commit import commit
from xpstore.landing import land
from xpstore.location import Location
from xpstore.settings import GatePolicy


@pytest.fixture
def loc(tmp_path, monkeypatch):
    monkeypatch.syspath_prepend(str(install_scripted(tmp_path / "site")))
    return Location.find(make_gate_store(tmp_path / "s"))


def landed(loc, branch):
    """Land a branch; return what became of it, why, and how many trials were run for it."""
    gate = LandingGate(loc.repo.place)
    result = land(loc, branch, gate=gate)
    assert gate.gated is not None
    return result.state, gate.gated.record.reason, gate.gated.ran


def test_of_a_batch_the_good_land_the_bad_is_named_and_nothing_is_run_again(loc, monkeypatch):
    commit(loc, [make_plan(loc, upsert("ill", page("ill")))], "train/ill")
    execute = ScriptedExecutor.execute

    async def break_down(self, cases, policy_set, context):
        if policy_set.get("ill") is not None:
            raise RuntimeError("the machine is ill, not the candidate")
        return await execute(self, cases, policy_set, context)

    monkeypatch.setattr(ScriptedExecutor, "execute", break_down)
    batch = ["train/better", "train/worse", "train/ill", "train/neither"]
    found = {branch: landed(loc, branch) for branch in batch}
    assert {branch: state for branch, (state, _, _) in found.items()} == {
        "train/better": "landed",
        "train/worse": "rejected",
        "train/ill": "inconclusive",
        "train/neither": "landed",
    }
    assert "it is worse" in found["train/worse"][1]
    assert found["train/ill"][1].startswith("not measured")
    assert "train/neither" not in git(loc.repo.place, "branch", "--no-merged", "main")
    # main has moved to what the last one was measured as, and the bad one is bad on record
    record = next(
        r
        for r in gate_record.of_experiences(loc, *_trees(loc, "main", "main~1"))
        if r.decided_by == gate_record.GATE
    )
    assert record.candidate == loc.repo.resolve("main")


def _trees(loc, *commits):
    return [git(loc.repo.place, "rev-parse", f"{commit}:experiences") for commit in commits]


def test_what_lands_is_what_was_measured_and_a_score_from_before_main_moved_is_not_taken(loc):
    before = LandingGate(loc.repo.place)
    assert land(loc, "train/better", gate=before, dry_run=True).state == "landed"
    assert landed(loc, "train/neither")[0] == "landed"
    state, _, ran = landed(loc, "train/better")
    assert (state, ran > 0) == ("landed", True)
    (record,) = gate_record.of_experiences(loc, *_trees(loc, "main", "main~1"))
    assert record.experiences != before.gated.record.experiences


def test_the_same_experiences_are_never_progress(loc):
    main = loc.repo.resolve("main")
    same = git(loc.repo.place, "commit-tree", "-p", main, "-m", "Nothing", f"{main}^{{tree}}")
    gate = LandingGate(loc.repo.place)
    gate(LandingCandidate("train/same", "main", main, same))
    assert (gate.gated.record.decision, gate.gated.record.progress, gate.gated.ran) == ("accept", False, 0)


def test_one_case_of_ten_that_came_out_better_is_no_proof_and_the_answer_stays():
    cases = [CaseChange(case=f"{n}", name=f"{n}", n=1, baseline=0, candidate=int(n == 0)) for n in range(10)]
    found = [judge(cases, 1, GatePolicy()) for _ in range(3)]
    assert (found[0].decision, found[0].progress) == ("inconclusive", False)
    assert found == [found[0]] * 3


def test_a_branch_that_is_gated_twice_has_one_answer(loc):
    gates = [LandingGate(loc.repo.place) for _ in range(2)]
    verdicts = [land(loc, "train/neither", gate=gate, dry_run=True).verdict for gate in gates]
    assert verdicts[0] == verdicts[1]
    assert (gates[0].gated.ran > 0, gates[1].gated.ran) == (True, 0)
