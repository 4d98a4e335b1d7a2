from __future__ import annotations

from tests.builders import page
from tests.trainer.doubles import rollout
from trainer.domain import RubricCriterion
from trainer.model_estimate import bound, calls_for, estimate
from xpstore.experience import Experience, ExperienceSet
from xpstore.settings import LlmSettings

SETTINGS = LlmSettings(model="m", max_gradients=4, context_tokens=1_000)
EMPTY = ExperienceSet(root_uri="experiences")


def test_calls_are_one_to_read_a_rollout_one_for_a_case_and_two_for_a_group_of_edits():
    assert [calls_for(SETTINGS, n, n) for n in (0, 1, 4, 5, 32)] == [0, 4, 10, 14, 80]
    assert calls_for(SETTINGS, 8, 2) == 14


def test_more_to_read_is_estimated_higher_and_prices_make_a_sum():
    rollouts = [rollout(f"case-{n}") for n in range(5)]
    few, more = estimate(SETTINGS, rollouts[:1], EMPTY), estimate(SETTINGS, rollouts, EMPTY)
    assert (few.rollouts, more.rollouts, more.calls) == (1, 5, 14)
    assert few.prompt_tokens < more.prompt_tokens
    assert more.cost == 0
    pages = ExperienceSet(root_uri="experiences", policies=(Experience(name="a", text=page("a") * 9),))
    assert estimate(SETTINGS, rollouts, pages).prompt_tokens > more.prompt_tokens
    dear = LlmSettings(model="m", max_gradients=4, context_tokens=1_000, prompt_price=1e6)
    assert estimate(dear, rollouts, EMPTY).cost == more.prompt_tokens


def test_a_rollout_that_nobody_scored_is_judged_where_its_case_says_by_what():
    unscored = rollout("a", passed=None)
    rubric = unscored.case.rubric.model_copy(update={"criteria": (RubricCriterion(name="polite"),)})
    case = unscored.case.model_copy(update={"rubric": rubric})
    calls = [
        estimate(SETTINGS, [r], EMPTY).calls for r in (unscored, unscored.model_copy(update={"case": case}))
    ]
    assert calls == [4, 5]


def test_what_is_not_there_yet_is_bounded():
    most = bound(SETTINGS, 4, 4)
    assert (most.calls, most.prompt_tokens) == (10, 10_000)
