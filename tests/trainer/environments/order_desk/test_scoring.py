from __future__ import annotations

from dataclasses import replace

import pytest

from trainer.environments.order_desk.cases import CRITERIA, suites
from trainer.environments.order_desk.policy import Policy
from trainer.environments.order_desk.rules import After, Before, Forbidden, Unwanted
from trainer.environments.order_desk.scoring import Ending, rows_of, score
from trainer.environments.order_desk.tools import Done

CASE = suites(1, train=4, gate=0, test=0)["train"][3]  # an order to redirect
WISH: dict[str, str] = CASE.input["wish"]  # type: ignore[assignment]
ROWS = rows_of(CASE.input["world"], WISH)  # type: ignore[arg-type]
PLACE = ("orders", WISH["order_id"], "place")
CALL = Done("redirect_order", {"order_id": WISH["order_id"], "place": "home"})
DID = Ending(WISH, ROWS, {PLACE: "home"}, frozenset(), (CALL,))
LEFT = Ending(WISH, ROWS, {}, frozenset(), ())
NEVER = Forbidden("redirect_order", "orders", "channel", "is", ROWS["orders"]["channel"])
ELSEWHERE = Forbidden("refund_order", "orders", "channel", "is", ROWS["orders"]["channel"])


def failed(end: Ending, *rules: object) -> list[str]:
    found = score(CASE, Policy(rules), end)  # type: ignore[arg-type]
    assert [r.criterion_name for r in found.criterion_results] == list(CRITERIA)
    assert found.passed is not any(not r.passed for r in found.criterion_results)
    assert len(found.feedback) == sum(not r.passed for r in found.criterion_results)
    return [r.criterion_name for r in found.criterion_results if not r.passed]


@pytest.mark.parametrize(
    ("end", "rules", "expected"),
    [
        (DID, (), []),
        (DID, (ELSEWHERE,), []),
        (LEFT, (), ["decision"]),
        (LEFT, (NEVER,), []),
        (DID, (NEVER,), ["decision"]),
        (DID, (Unwanted("redirect_order", "home"),), ["terms"]),
        (DID, (Unwanted("redirect_order", "office"),), []),
        (DID, (Before("redirect_order", "check_fraud"),), ["preparation"]),
        (
            replace(DID, calls=(CALL, Done("check_fraud", {}))),
            (Before("redirect_order", "check_fraud"),),
            ["preparation"],
        ),
        (replace(DID, calls=(Done("check_fraud", {}), CALL)), (Before("redirect_order", "check_fraud"),), []),
        (LEFT, (NEVER, Before("redirect_order", "check_fraud"), After("redirect_order", "add_note")), []),
        (DID, (After("redirect_order", "add_note"),), ["follow-up"]),
        (replace(DID, records=frozenset({"note"})), (After("redirect_order", "add_note"),), []),
        (replace(DID, changes={PLACE: "home", ("orders", "O1", "place"): "home"}), (), ["decision"]),
        (
            replace(LEFT, changes={("orders", WISH["order_id"], "discount"): "voucher"}),
            (NEVER,),
            ["decision"],
        ),
    ],
)
def test_each_criterion_fails_for_its_own_reason(
    end: Ending, rules: tuple[object, ...], expected: list[str]
) -> None:
    assert failed(end, *rules) == expected


def test_feedback_says_what_was_observed_and_never_the_rule() -> None:
    rules = (
        NEVER,
        Unwanted("redirect_order", "home"),
        Before("redirect_order", "check_fraud"),
        After("redirect_order", "add_note"),
    )
    found = score(CASE, Policy(rules), DID)
    assert found.score == 0
    said = " ".join(found.feedback)
    assert f"place of {WISH['order_id']} in orders is home, which was not expected" in said
    for secret in ("channel", str(NEVER.value), "check_fraud", "add_note", "note"):
        assert secret not in said.replace("not ", "")
