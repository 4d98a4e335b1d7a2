from __future__ import annotations

import asyncio

import pytest

from tests.session_world import called, outcome, said, session, spec
from trainer.domain import CriterionResult, RubricEvaluation
from trainer.remote.session_case import OUTCOME_HEADER, render_outcome
from trainer.service.case_finding import NO_OUTCOME, NO_TASK, OfflineCaseFinder, spoken_of
from trainer.service.session_messages import WireText, to_messages
from xpstore.errors import FormatError


def messages(*wire):
    return to_messages([m.stored(str(n), "now") for n, m in enumerate(wire)])


def found(*wire):
    return asyncio.run(OfflineCaseFinder().find(spoken_of(messages(*wire)), "session s"))


def test_what_a_session_declares_is_no_part_of_what_was_said():
    spoken = spoken_of(messages(*session("refund", passed=False)))
    assert [m.role for m in spoken.messages] == ["user", "assistant"]
    assert spoken.case.name == "refund"
    assert spoken.outcome.passed is False


def test_who_called_is_known_where_a_case_is_declared_and_else_it_was_the_agent():
    theirs = called().model_copy(update={"role": "user"})
    both = theirs.model_copy(update={"parts": (WireText(type="text", text="ok"), *theirs.parts)})
    declared = spoken_of(messages(spec(), said(), theirs))
    assert [(m.role, len(m.tools), len(m.calls)) for m in declared.messages] == [
        ("user", 0, 0),
        ("user", 1, 0),
    ]
    plug_in = spoken_of(messages(said(), theirs, both))
    assert [(m.role, len(m.calls)) for m in plug_in.messages] == [
        ("user", 0),
        ("assistant", 1),
        ("user", 0),
        ("assistant", 1),
    ]
    (one,) = found(said("Cancel it"), theirs).cases
    assert one.case.name == "session-cancel_order"


def test_only_the_first_message_declares_a_case_and_only_the_last_one_an_outcome():
    spoken = spoken_of(messages(said(), spec("other"), outcome(), said("bye")))
    assert (spoken.case, spoken.outcome, len(spoken.messages)) == (None, None, 4)


def test_that_nobody_scored_it_is_no_message_and_no_outcome():
    nobody = said(f'{OUTCOME_HEADER}\n\n```json\n{{"evaluation": null}}\n```')
    spoken = spoken_of(messages(spec(), said(), nobody))
    assert (spoken.outcome, len(spoken.messages)) == (None, 1)


@pytest.mark.parametrize(
    "header", ["# OpenViking Batch Training CaseSpec v1", "# OpenViking OutcomeEvaluation"]
)
def test_what_is_malformed_is_an_error(header):
    with pytest.raises(FormatError):
        spoken_of(messages(said(f"{header}\n\n```json\n{{]\n```")))


def test_nothing_is_no_session():
    assert spoken_of(()) == spoken_of(messages())


@pytest.mark.parametrize(
    ("status", "output", "passed"),
    [("completed", "{}", True), ("error", "too late", False), ("error", "", False)],
)
def test_without_an_opinion_the_last_call_that_changes_something_tells_the_outcome(status, output, passed):
    told = found(said("Cancel it"), called("get_order"), called("cancel_order", status, output), said("ok"))
    (one,) = told.cases
    assert one.case.name == "session-cancel_order"
    assert one.case.input == {"user_query": "Cancel it"}
    assert one.evaluation.passed is passed
    assert [c.name for c in one.case.rubric.criteria] == ["cancel_order accepted"]


def test_a_declared_outcome_is_that_of_the_case():
    result = CriterionResult(criterion_name="polite", passed=False, score=0.0)
    declared = RubricEvaluation(passed=False, score=0.0, criterion_results=(result,))
    (one,) = found(said("Cancel it"), said("no", "assistant"), said(render_outcome(declared))).cases
    assert one.evaluation.passed is False
    assert (one.case.name, [c.name for c in one.case.rubric.criteria]) == ("session-talk", ["polite"])


@pytest.mark.parametrize(
    ("wire", "why"),
    [
        ([said("  "), called()], NO_TASK),
        ([said("Hi", "assistant"), called()], NO_TASK),
        ([said("Hi")], NO_OUTCOME),
        ([said("Hi"), called("get_order")], NO_OUTCOME),
        ([said("Hi"), called(), called(status="pending")], NO_OUTCOME),
        ([said("Hi"), called("rm -rf / #")], NO_OUTCOME),
    ],
)
def test_without_a_task_and_an_outcome_there_is_no_case(wire, why):
    told = found(*wire)
    assert (told.cases, told.why) == ((), why)
