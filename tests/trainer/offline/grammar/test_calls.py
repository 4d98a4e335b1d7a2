from __future__ import annotations

import pytest

from tests.trainer.offline.world import call, facts
from trainer.offline.grammar import CallBefore, DoCall, NotAfter, Once, ReadAll

READ = call("get_order", {"order_id": "O1"}, {"order_id": "O1"})
READ_TWO = call("get_order", {"order_id": "O2"}, {"order_id": "O2"})
CANCEL = call("cancel", {"order_id": "O1"}, {})
CANCEL_TWO = call("cancel", {"order_id": "O2"}, {})
REFUSED = call("cancel", {"order_id": "O1"}, "Error: no", refused=True)
LISTED = call("get_customer", {"customer_id": "C"}, {"orders": ["O1", "O2"]})


@pytest.mark.parametrize(
    ("lesson", "messages", "verdict"),
    [
        (CallBefore("cancel", "get_order"), [READ, CANCEL], "follows"),
        (CallBefore("cancel", "get_order"), [CANCEL, READ], "violates"),
        (CallBefore("cancel", "get_order"), [READ], "silent"),
        (NotAfter("cancel", "get_order"), [READ, CANCEL], "violates"),
        (NotAfter("cancel", "get_order"), [CANCEL, READ], "follows"),
        (NotAfter("cancel", "get_order"), [READ, REFUSED], "silent"),
        (Once("cancel", "order_id"), [CANCEL, CANCEL], "violates"),
        (Once("cancel", "order_id"), [CANCEL, CANCEL_TWO, REFUSED], "follows"),
        (Once("cancel", "order_id"), [READ], "silent"),
        (DoCall("get_order"), [CANCEL], "violates"),
        (DoCall("get_order"), [READ], "follows"),
        (ReadAll("cancel", "get_order", "orders", "get_customer"), [LISTED, READ, CANCEL], "violates"),
        (
            ReadAll("cancel", "get_order", "orders", "get_customer"),
            [LISTED, READ, READ_TWO, CANCEL],
            "follows",
        ),
        (ReadAll("cancel", "get_order", "orders", "get_customer"), [READ, CANCEL], "silent"),
        (ReadAll("cancel", "get_order", "orders", "get_customer"), [LISTED, READ], "silent"),
    ],
)
def test_verdicts(lesson: CallBefore, messages: list, verdict: str) -> None:
    assert lesson.judge(facts(messages)) == verdict
