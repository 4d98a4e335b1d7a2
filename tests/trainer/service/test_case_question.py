from __future__ import annotations

import asyncio

import pytest

from tests.session_world import called, outcome, said
from tests.trainer.llm_learner.askers import FunctionAsker
from trainer.asking.question import AskError
from trainer.service.case_finding import NO_WORK, Spoken, spoken_of
from trainer.service.case_question import NOTHING, LLMCaseFinder
from trainer.service.session_messages import to_messages

GOOD = {
    "asked": "cancel my order please",
    "seen": "too late for that",
    "task": "Cancel an order that was sent already.",
    "criteria": [{"name": "refused", "description": "The order is not cancelled."}],
    "name": "late cancellation",
}


def spoken(*more):
    wire = [said("Could you cancel my order please?"), called(output="it is too late for that"), *more]
    return spoken_of(to_messages([m.stored(str(n), "now") for n, m in enumerate(wire)]))


def find(asked, *answers, nothing=""):
    """Ask a model that gives these cases, the same again after it was told what is wrong."""
    asker = FunctionAsker(lambda *_: {"cases": list(answers), "nothing": nothing})
    return asyncio.run(LLMCaseFinder(asker).find(asked, "session s")), asker


def test_a_case_is_what_was_asked_with_what_one_can_see():
    told, asker = find(spoken(), GOOD)
    (one,) = told.cases
    assert one.case.name == "late-cancellation"
    assert one.case.input == {"user_query": GOOD["task"]}
    assert [c.name for c in one.case.rubric.criteria] == ["refused"]
    assert one.evaluation is None  # whoever judges says so
    (question,) = asker.asked
    assert question.stage == "case"
    assert "cancel my order" in question.content


def test_the_outcome_of_the_session_is_that_of_its_only_case():
    (one,) = find(spoken(outcome(passed=False)), GOOD)[0].cases
    assert one.evaluation.passed is False
    both = find(spoken(outcome(passed=False)), GOOD, {**GOOD, "name": "other"})[0].cases
    assert [case.evaluation for case in both] == [None, None]


@pytest.mark.parametrize(
    "wrong",
    [
        {"asked": "refund my order at once"},
        {"seen": "the order was cancelled"},
        {"task": "  -  "},
        {"criteria": []},
        {"criteria": [GOOD["criteria"][0]] * 2},
        {"criteria": [{"name": " ", "description": "x"}]},
        {"task": "Use the key ghp_a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2a1B2."},
    ],
)
def test_what_is_invented_is_left_out(wrong):
    told, asker = find(spoken(), {**GOOD, **wrong}, {**GOOD, "name": "kept"})
    assert [one.case.name for one in told.cases] == ["kept"]
    assert asker.calls == 2  # it was told what is wrong
    with pytest.raises(AskError, match="case 1"):
        find(spoken(), {**GOOD, **wrong})


def test_where_there_is_no_case_the_model_says_why():
    assert find(spoken(), nothing="Nothing was asked for.")[0].why == "Nothing was asked for."
    told, asker = find(spoken())
    assert (told.why, asker.calls) == (NOTHING, 2)  # it was told to say why, and did not


def test_nothing_said_is_not_asked_about():
    told, asker = find(Spoken((), None, None), GOOD)
    assert (told.why, asker.asked) == (NO_WORK, [])


def test_a_name_that_is_none_is_replaced():
    assert find(spoken(), {**GOOD, "name": "../../etc"})[0].cases[0].case.name == "session-task"


def test_a_long_session_is_cut_and_quotes_from_all_of_it_count():
    told, asker = find(spoken(*(said(f"line {n} " * 200) for n in range(400))), GOOD)
    assert len(told.cases) == 1
    assert len(asker.asked[0].content) < 100_000
