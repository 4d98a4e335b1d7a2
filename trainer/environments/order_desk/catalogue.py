"""The tools of the desk: what each does to the database, and its JSON schema."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.environments.agent import ToolSchema

if TYPE_CHECKING:
    from pydantic import JsonValue

TEXTS = {
    "customer_id": "Number of the customer",
    "order_id": "Number of the order",
    "payment_id": "Number of the payment",
    "item_id": "Number of the item",
    "text": "What to write",
}


@dataclass(frozen=True, slots=True)
class Change:
    """A tool that does what a customer asks for: it fills one column of one row."""

    name: str
    description: str
    keys: tuple[str, ...]
    """Arguments that name rows; the last one names the row that changes, unless `via` does."""
    argument: str
    """The argument that says how."""
    options: tuple[str, ...]
    table: str
    column: str
    via: str = ""
    """Column of the order that names the row that changes."""


@dataclass(frozen=True, slots=True)
class Look:
    """A tool that answers a row."""

    name: str
    description: str
    key: str
    table: str


@dataclass(frozen=True, slots=True)
class Check:
    """A tool that looks at something outside the database and answers a sentence."""

    name: str
    description: str
    key: str
    answer: str


@dataclass(frozen=True, slots=True)
class Record:
    """A tool that adds a record to an order."""

    name: str
    description: str
    kind: str


_MONEY = ("original_payment", "store_credit", "bank_transfer")
CHANGES = {
    tool.name: tool
    for tool in (
        Change(
            "cancel_order",
            "Cancel an order.",
            ("order_id",),
            "settlement",
            _MONEY,
            "orders",
            "settlement",
        ),
        Change(
            "refund_order",
            "Pay the price of an order back.",
            ("order_id",),
            "method",
            _MONEY,
            "payments",
            "refunded_by",
            "payment_id",
        ),
        Change(
            "redirect_order",
            "Send an order to another place.",
            ("order_id",),
            "place",
            ("home", "office", "pickup_point"),
            "orders",
            "place",
        ),
        Change(
            "exchange_item",
            "Exchange an item for a new one.",
            ("order_id", "item_id"),
            "return_by",
            ("post", "courier", "own_hand"),
            "items",
            "returned_by",
        ),
        Change(
            "grant_discount",
            "Give a discount on an order.",
            ("order_id",),
            "form",
            ("voucher", "percentage", "free_gift"),
            "orders",
            "discount",
        ),
        Change(
            "upgrade_delivery",
            "Deliver an order faster.",
            ("order_id",),
            "speed",
            ("express", "priority", "overnight"),
            "orders",
            "delivery",
        ),
    )
}
LOOKS = {
    tool.name: tool
    for tool in (
        Look("get_order", "Read an order.", "order_id", "orders"),
        Look("get_customer", "Read a customer.", "customer_id", "customers"),
        Look("get_payment", "Read a payment.", "payment_id", "payments"),
        Look("get_item", "Read an item of an order.", "item_id", "items"),
    )
}
LIST_ORDERS = Look("list_orders", "List the orders of a customer.", "customer_id", "orders")
CHECKS = {
    tool.name: tool
    for tool in (
        Check("check_identity", "Check who is asking.", "customer_id", "The customer is who they say."),
        Check("check_fraud", "Ask the fraud service about an order.", "order_id", "Nothing is known."),
        Check("check_stock", "Count the stock for an order.", "order_id", "Everything is in stock."),
    )
}
RECORDS = {
    tool.name: tool
    for tool in (
        Record("add_note", "Add a note to an order.", "note"),
        Record("notify_customer", "Write to the customer of an order.", "message"),
        Record("notify_warehouse", "Write to the warehouse of an order.", "slip"),
        Record("open_ticket", "Open a ticket for the back office.", "ticket"),
    )
}


def schemas() -> tuple[ToolSchema, ...]:
    """Return the tools of the desk as agents see them."""
    found = [
        _schema(
            c.name,
            c.description,
            {**dict.fromkeys(c.keys, ()), c.argument: c.options},
        )
        for c in CHANGES.values()
    ]
    readers: list[Look | Check] = [*LOOKS.values(), LIST_ORDERS, *CHECKS.values()]
    found += [_schema(r.name, r.description, {r.key: ()}) for r in readers]
    found += [_schema(r.name, r.description, {"order_id": (), "text": ()}) for r in RECORDS.values()]
    return tuple(found)


def _schema(name: str, description: str, arguments: dict[str, tuple[str, ...]]) -> ToolSchema:
    properties: dict[str, JsonValue] = {}
    for key, options in arguments.items():
        if options:
            properties[key] = {"type": "string", "enum": list(options)}
        else:
            properties[key] = {"type": "string", "description": TEXTS[key]}
    return ToolSchema(
        name=name,
        description=description,
        parameters={
            "type": "object",
            "properties": properties,
            "required": list(arguments),
            "additionalProperties": False,
        },
    )
