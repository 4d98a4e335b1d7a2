from __future__ import annotations

import asyncio

import pytest

from tests.trainer.doubles import ScriptedEnvironment, page, rollout
from trainer.environment import World
from trainer.gate.selftest import SelfTest, compared, sabotages, self_test
from xpstore.evaluation import TrialResult
from xpstore.experience import Experience, ExperienceSet
from xpstore.settings import GatePolicy

CASES = [rollout(f"g{n}").case for n in range(20)]
KNOWN = tuple(Experience.read(f"g{n}", page(f"g{n}", f"Use `get_order` for g{n}.")) for n in range(10))
PAGES = ExperienceSet(root_uri="experiences", snapshot_id="s", policies=KNOWN)


def tried(environment: ScriptedEnvironment, pages: ExperienceSet = PAGES) -> SelfTest:
    world = World(environment, "scripted")
    return asyncio.run(self_test(world, CASES, pages, GatePolicy(trials=2)))


def test_a_noisy_agent_is_hardly_ever_better_than_itself_and_a_harm_is_rejected():
    found = tried(ScriptedEnvironment(luck=0.3))
    assert (found.comparisons, found.called_progress, found.called_worse) == (15, 0, 0)
    assert (found.harm, found.harm_decision, found.problems) == ("no experiences at all", "reject", [])
    assert found.effect < -0.2
    nothing, gain, loss = found.simulated
    assert (nothing.effect, gain.effect, loss.effect) == (0.0, 0.2, -0.1)
    assert gain.progress > nothing.progress


def test_where_nothing_harms_the_gate_measures_nothing():
    found = tried(ScriptedEnvironment(luck=1.0))
    assert (found.harm, found.harm_decision) == ("", "inconclusive")
    assert found.problems == [
        "no sabotage that was tried harms the agent: its experiences decide nothing here"
    ]


def test_where_no_trial_could_be_scored_nothing_was_measured(monkeypatch):
    async def down(*_: object) -> None:
        raise RuntimeError("down")

    monkeypatch.setattr("tests.trainer.doubles.ScriptedExecutor._one", down)
    found = tried(ScriptedEnvironment())
    assert found.problems == ["nothing was measured: no trial could be scored"]
    assert found.failures == 6 * 20 * 2


def test_draws_that_are_not_independent_are_a_problem():
    found = tried(ScriptedEnvironment(luck=0.3)).model_copy(update={"called_progress": 9})
    assert "9 of 15 comparisons of the same experiences were called progress" in found.problems[0]
    missed = found.model_copy(update={"called_progress": 0, "harm_decision": "accept", "harm_reason": "fine"})
    assert missed.problems == ["a planted harm was not rejected: fine"]


def test_trials_of_one_number_are_pairs_whatever_their_seeds():
    def result(case: str, trial: int, seed: int, *, passed: bool) -> TrialResult:
        return TrialResult(case=case, name=case, trial=trial, seed=seed, passed=passed, score=float(passed))

    one = [result("a", 0, 1, passed=True), result("a", 1, 2, passed=False), result("b", 0, 1, passed=True)]
    other = [result("a", 0, 7, passed=False), result("a", 1, 8, passed=False), result("c", 0, 7, passed=True)]
    assert [(c.case, c.n, c.baseline, c.candidate) for c in compared(one, other)] == [("a", 2, 1, 0)]


@pytest.mark.parametrize("pages", [PAGES, ExperienceSet(root_uri="experiences")])
def test_sabotage_is_a_page_that_is_read_for_every_task(pages):
    made = sabotages(pages, CASES)
    (page_,) = [
        p for p in made["a page for every task, full of wrong orders"].policies if p.name == "sabotage"
    ]
    assert page_.document.front["always"] is True
    assert ("`get_order`" in page_.text) == bool(pages.policies)
    assert made["no experiences at all"].policies == ()
