from __future__ import annotations

from trainer.offline.grammar import CallBefore
from trainer.offline.learn import Learned
from trainer.offline.wording import confidence, evidence, interval, is_instructed, rationale, statement
from trainer.stats import Table
from xpstore.document import Statement


def learned(outcome: str = "failed") -> Learned:
    return Learned(
        CallBefore("cancel", "get_order"),
        outcome,
        4.0,
        ("a", "b"),
        2,
        Table(9, 10, 1, 10),
        Table(9, 12, 20, 80),
    )


def test_the_evidence_line_has_the_figures() -> None:
    assert evidence(learned(), instructed=False) == (
        "*Support: 2 rollouts in 2 cases. Left out: 9 of 12 that broke it failed, "
        "20 of 80 that followed it failed; +50 points, 95 % interval +20 to +68.*"
    )


def test_a_sharper_outcome_and_the_instructions_are_named() -> None:
    line = evidence(learned("left out"), instructed=True)
    assert (
        "Failed for want of a needed call: 9 of 10 that broke it, 1 of 10 that followed it; +80 points"
        in line
    )
    assert line.endswith("The instructions say it; it was broken all the same.*")


def test_figures_are_no_part_of_the_key() -> None:
    text = statement(learned(), instructed=False)
    assert Statement(text, "Approach").key == learned().lesson.sentence()


def test_the_rationale_has_the_same_figures() -> None:
    assert "9 of 12 that broke it failed" in rationale(learned())
    assert "Failed `limit`" in rationale(learned("failed limit"))
    assert "Refused so" in rationale(learned("refused cancel no"))


def test_confidence_rises_with_the_lower_end_of_the_interval() -> None:
    assert (
        confidence(Table(100, 100, 0, 100))
        > confidence(Table(9, 10, 1, 10))
        > 0.5
        > confidence(Table(1, 2, 1, 2))
    )
    assert interval(Table(1, 1, 1, 1)).startswith("+0 points")


def test_instructions_are_recognised_by_their_words() -> None:
    said = "Orders that were shipped cannot be cancelled. Be kind."
    assert is_instructed("Do not call `cancel_order` when the `shipped` of `order_id` is `true`.", said)
    assert not is_instructed("Do not call `refund_order` when the `vip` of `customer_id` is `true`.", said)
