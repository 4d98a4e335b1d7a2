"""Written requests: what customers ask for, in several phrasings."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import random
    from collections.abc import Mapping

PHRASINGS: dict[str, tuple[str, ...]] = {
    "cancel_order": (
        "Please cancel my order {order}. I would take {how}.",
        "I have changed my mind about order {order}: can you cancel it? {how}, please.",
        "Order {order} is not needed any more. Cancel it and settle it by {how}.",
        "I'd like to call off order {order}, and have {how} for what I have paid.",
    ),
    "refund_order": (
        "I want my money back for order {order}, by {how}.",
        "Please refund order {order}. I prefer {how}.",
        "Order {order} was a disappointment. A refund by {how} is what I expect.",
        "Could you pay me back for order {order}? {how} would be best.",
    ),
    "redirect_order": (
        "I will not be there when order {order} comes. Please send it to my {how} instead.",
        "Can order {order} go to another place? My {how} would be good.",
        "Please redirect order {order}: it should go to the {how}.",
        "Change of plans: order {order} has to be delivered at the {how}.",
    ),
    "exchange_item": (
        "Item {item} of order {order} does not fit. I want to exchange it and return it by {how}.",
        "Please swap item {item} from order {order} for a new one. It goes back to you by {how}.",
        "I got the wrong item {item} in order {order}. Exchange it, please; I send it back by {how}.",
        "Can I have another one for item {item} of order {order}? The old one comes by {how}.",
    ),
    "grant_discount": (
        "Order {order} came with a scratched box. I think a discount is due, as a {how}.",
        "I am a loyal customer. Is there a discount on order {order}? A {how} would be nice.",
        "Your rival sells this for less. Give me a discount on order {order}: a {how}.",
        "For order {order} I was promised something off the price, as a {how}.",
    ),
    "upgrade_delivery": (
        "I need order {order} sooner. Can you make it {how}?",
        "Please upgrade the delivery of order {order} to {how}.",
        "Order {order} has to be faster: {how}, please.",
        "Could you speed up order {order}? {how} delivery would help me a lot.",
    ),
}
"""Tool → requests for what it does. `how` is one of its options, in words."""
_GREETINGS = ("Hello, {name} here. ", "Hi, this is {name}. ", "", "Good morning! ", "Dear team, ")
_THANKS = ("", " Thank you!", " Kind regards, {name}", " Thanks.", " Let me know.")


def write_request(tool: str, wish: Mapping[str, str], name: str, dice: random.Random) -> str:
    """Return a request in words. `wish` has `order_id`, `how` and, for an item, `item_id`."""
    text = dice.choice(_GREETINGS) + dice.choice(PHRASINGS[tool]) + dice.choice(_THANKS)
    how = wish["how"].replace("_", " ")
    for stop in ("? ", ". "):
        text = text.replace(f"{stop}{{how}}", f"{stop}{how.capitalize()}")
    return text.format(order=wish["order_id"], item=wish.get("item_id", ""), how=how, name=name)
