from __future__ import annotations

from tests.trainer.offline.world import call, facts
from trainer.offline.condition import Atom
from trainer.offline.corpus import Corpus
from trainer.offline.grammar import Avoid, CallBefore, Refused
from trainer.offline.objects import Ref, Term
from trainer.offline.outcomes import FAILED, LEFT_OUT, columns, compares_cases, outcomes_for, tells

READ = call("get_order", {"order_id": "O1"}, {"order_id": "O1"})
CANCEL = call("cancel", {"order_id": "O1", "why": "x"}, {})
WANTED = {"name": "cancel", "arguments": {"order_id": "O1", "why": "y"}}


def columns_of(messages: list, **options: object) -> set[str]:
    corpus = Corpus.of([facts(messages, case=str(n), trial=n, **options) for n in range(3)])
    return {name for name, column in columns(corpus).items() if all(column)}


def test_failures_are_explained_by_labels() -> None:
    assert columns_of([READ], passed=False, expected=[WANTED]) == {FAILED, LEFT_OUT}
    assert columns_of([READ, CANCEL], passed=False, expected=[]) == {FAILED}
    assert columns_of([READ, CANCEL], passed=False, expected=[WANTED]) == {FAILED}


def test_a_success_has_nothing_to_explain() -> None:
    assert columns_of([READ], expected=[WANTED]) == set()


def test_criteria_have_columns_where_there_are_several() -> None:
    named = {"polite": True, "limit": False}
    assert columns_of([READ], passed=False, criteria=named) == {FAILED, "failed limit"}
    assert columns_of([READ], passed=False, criteria={"reward": False}) == {FAILED}


def test_refusals_are_outcomes_of_their_own() -> None:
    assert columns_of([call("cancel", {}, "Error: no", refused=True)]) == {"refused cancel no"}


def test_lessons_are_tested_on_what_they_are_about() -> None:
    condition = (Atom("is", Term("value", Ref("why")), "x"),)
    names = dict.fromkeys((FAILED, LEFT_OUT, "refused cancel no"), (True,))
    assert outcomes_for(Avoid("cancel", condition), names) == [FAILED]
    assert outcomes_for(Avoid("cancel", condition), {**names, "failed limit": (True,)}) == ["failed limit"]
    assert outcomes_for(Refused("cancel", condition, "no"), names) == ["refused cancel no"]
    assert outcomes_for(CallBefore("cancel", "get_order"), names) == [FAILED, LEFT_OUT]
    assert compares_cases(Avoid("cancel", condition))
    assert not compares_cases(CallBefore("cancel", "get_order"))


def test_only_what_could_come_out_so_is_compared() -> None:
    assert tells(facts([CANCEL]), "refused cancel no", "cancel")
    assert not tells(facts([READ]), "refused cancel no", "cancel")
    assert not tells(facts([READ]), "failed limit", "cancel")
    assert tells(facts([READ]), FAILED, "cancel")
