from __future__ import annotations

import json

import pytest

from tests.trainer.llm_learner.talk import call, say
from trainer.domain import Case, Rollout, Rubric
from trainer.llm_learner.instance import Instances

ORDER = {
    "order_id": "O17",
    "status": "shipped",
    "total": 129.5,
    "customer": {"customer_id": "mia_li_3668", "name": {"first": "Mia", "last": "Li"}, "tier": "gold"},
    "address1": "7 Oak Street",
    "items": {"I4417": {"product": "Water Bottle", "reason": "No Longer Needed"}},
    "收货人": "张伟",
    "flight": "HAT123",
}
ROLLOUT = Rollout(
    case=Case(
        name="cancel-17",
        rubric=Rubric(name="r"),
        input={"expected_actions": [{"name": "notify_customer", "arguments": {"order_id": "O17"}}]},
    ),
    messages=(
        say(
            "system",
            "Cancel within 30 days, up to $250. Members get 1500 points. It is 2024-05-15. See R_204.",
        ),
        say("user", "I am Mia Li, cancel order O17, it was 129.50 dollars on May 3."),
        call("get_order", {"order_id": "O17"}, json.dumps(ORDER, ensure_ascii=False)),
        call("cancel_order", {"order_id": "O17"}, '{"error": "Payment Not Settled"}', "error"),
    ),
)


@pytest.fixture(scope="module")
def known() -> Instances:
    return Instances.of([ROLLOUT])


@pytest.mark.parametrize(
    "text",
    [
        "Do not cancel O17.",
        "Ask Mia first.",
        "Call mia_li_3668 by phone.",
        "It goes to 7 Oak Street.",
        "A Water Bottle is not refunded.",
        "Refund 129.50 dollars.",
        "Refund $129.5 at once.",
        "On 2024-05-15 no refunds are made.",
        "Since May 3 refunds are closed.",
        "Orders of 12 March are late.",
        "Close at 18:30.",
        "Look up W2378156.",
        "Look at I4417.",
        "Wait 4200 seconds.",
        "张伟的订单不能取消。",
        "5月3日的订单不能取消。",
        "退款129元。",
        "Write to <email-1>.",
        "HAT123 is full.",
        "Ｏ17 cannot be cancelled.",
    ],
)
def test_what_belongs_to_one_case_is_found(known: Instances, text: str):
    assert known.in_text(text)


@pytest.mark.parametrize(
    "text",
    [
        "Do not call `cancel_order` when the `status` of `order_id` is `shipped`.",
        "Do not call `refund_order` when the age in days of the `placed_at` of `order_id` is at most 30.",
        "Call `notify_customer` at the end.",
        "Ask for `address1` and the `order_id`.",
        "Cancel within 30 days, up to $250, for members of tier `gold` with 1500 points.",
        "Wait 24h, then try at most 3 times; a 48-hour hold follows.",
        "When `cancel_order` answers “Payment Not Settled”, call `get_order`.",
        "Write files as UTF-8 and compare their SHA256; HTTP 404 means gone.",
        "先核对订单状态，再取消；超过30天的不取消。",
        "If the reason is no longer needed, say so. Refer to R_204.",
    ],
)
def test_what_is_fit_for_all_cases_is_not(known: Instances, text: str):
    assert known.in_text(text) == []


def test_without_rollouts_there_are_still_dates_and_amounts_and_no_secret_is_repeated():
    found = Instances().in_text(f"Pay $20 with ghp_{'a1B2' * 9} to a@example.org on 2024-01-02.")
    assert found == ["2024-01-02", "$20"]
