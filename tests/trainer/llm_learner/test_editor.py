from __future__ import annotations

import asyncio

import pytest

from tests.builders import page
from tests.trainer.llm_learner.desk import FAILED, RULE, TRIALS, edit, edits, pages, propose, trial
from tests.trainer.llm_learner.talk import Chat, asker
from trainer.asking.budget import prompt_tokens
from trainer.components.gradient_estimator import ExperienceGradientEstimator
from trainer.context import ExperienceGradientContext
from trainer.llm_learner.editor import LLMEditor

MANY = tuple(trial(n, passed=n % 3 == 0) for n in range(60))


def test_it_says_who_learns_and_sees_the_trials_of_a_case():
    editor = LLMEditor(asker(Chat([])))
    assert (editor.learner, editor.scope) == ("llm/1+scripted", "case")


def test_one_question_shows_all_trials_with_their_scores_and_the_pages():
    _, chat = propose(edits(nothing="All is well."), policies=pages(("cancel-order", page("cancel-order"))))
    assert len(chat.asked) == 1
    assert chat.asked[0].messages[0].content.startswith("Stage: edit\n")
    for number, analysis in enumerate(TRIALS, 1):
        said = "passed, score 1" if analysis.evaluation.passed else "failed, score 0"
        assert f"trial {number}: {said}\n## Asked" in chat.content
    assert "page 1: cancel-order" in chat.content
    assert "[1] of page 1, Approach, fixed\n| - Look before you leap." in chat.content


def test_the_order_of_the_trials_makes_no_other_question():
    one, two = (propose(edits(nothing="x"), trials=t)[1].content for t in (TRIALS, TRIALS[::-1]))
    assert one == two


def test_nothing_to_change_has_the_models_reason():
    result, _ = propose(edits(nothing="Every page says it already."))
    assert result.nothing == {a.rollout.id: "Every page says it already." for a in TRIALS}


def test_a_reason_with_data_of_a_case_is_not_kept():
    result, _ = propose(edits(nothing="Order O17 had been shipped."))
    assert set(result.nothing.values()) == {"the model proposed nothing on it"}


def test_a_skipped_edit_is_a_reason_too():
    skipped = edit(action="skip", rationale="Too little evidence.", trials=FAILED)
    result, _ = propose(edits(skipped))
    assert set(result.nothing.values()) == {"Too little evidence.", "the model proposed nothing on it"}


def test_a_refused_edit_that_cites_no_trial_is_the_reason_of_all():
    result, _ = propose(edits(edit(trials=[])), edits(edit(trials=[])))
    assert set(result.nothing.values()) == {"a lesson was refused: it cites no trial"}


def test_neither_edit_nor_reason_is_asked_about():
    _, chat = propose(edits(), edits(nothing="Fine."))
    assert "neither an edit nor a reason" in chat.complaint


def test_what_is_cited_is_not_nothing():
    result, _ = propose(edits(edit()))
    (gradient,) = result.gradients
    assert set(result.nothing).isdisjoint(gradient.rollouts)
    assert {*result.nothing, *gradient.rollouts} == {a.rollout.id for a in TRIALS}


def test_trials_without_notes_are_not_asked_about():
    silent = trial(7, passed=False, notes=False)
    result, chat = propose(trials=(silent,))
    assert (chat.asked, result.nothing) == ([], {silent.rollout.id: "nobody spoke"})
    result, _ = propose(edits(nothing="Fine."), trials=(*TRIALS, silent))
    assert result.nothing[silent.rollout.id] == "nobody spoke"


@pytest.mark.parametrize("tokens", [2_000, 4_000, 16_000])
def test_a_question_holds_what_it_may(tokens: int):
    long = page("cancel-order", *(f"Rule {n} is a rule among many." for n in range(400)))
    result, chat = propose(
        edits(nothing="Fine."), trials=MANY, policies=pages(("cancel-order", long)), tokens=tokens
    )
    (request,) = chat.asked
    assert prompt_tokens(request) + request.max_tokens <= max(tokens, 2_600)
    assert set(result.nothing) == {a.rollout.id for a in MANY}


def test_of_too_many_trials_those_that_failed_are_shown_with_one_that_passed():
    result, chat = propose(edits(nothing="Fine."), trials=MANY, tokens=4_000)
    shown = [line for line in chat.content.split("\n") if line.startswith("trial ")]
    assert sum("passed" in line for line in shown) == 1
    assert 2 < len(shown) < 40
    assert "its case has more trials than one question holds" in result.nothing.values()


def test_the_estimator_takes_what_it_proposes():
    chat = Chat([edits(edit())])
    estimator = ExperienceGradientEstimator(LLMEditor(asker(chat)))
    result = asyncio.run(estimator.estimate(TRIALS, pages(), ExperienceGradientContext()))
    assert RULE in result.gradients[0].after_file.content
