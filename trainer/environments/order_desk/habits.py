"""The habits of the scripted clerk at the order desk: eager, polite, and ignorant of the company's policy."""

from __future__ import annotations

from trainer.environments.scripted.habits import Habits

CLERK = Habits(
    requests={
        "cancel_order": r"\bcancel|\bcall off",
        "refund_order": r"\brefund|money back|pay me back",
        "exchange_item": r"\bexchange|\bswap|another one for",
        "grant_discount": r"\bdiscount|off the price",
        "upgrade_delivery": r"\bsooner|\bfaster|\bspeed up|\bupgrade",
        "redirect_order": r"\bredirect|another place|\bsend it to|delivered at",
    },
    numbers={"order_id": r"\bO\d+\b", "item_id": r"\bI\d+\b"},
    first_look="get_order",
    text="Handled as the customer asked.",
)
