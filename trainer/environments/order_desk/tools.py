"""Runs the tools of the desk on its database. A tool refuses what it cannot do and knows no policy."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import TYPE_CHECKING

from trainer.environments.order_desk.catalogue import CHANGES, CHECKS, LIST_ORDERS, LOOKS, RECORDS, schemas
from trainer.environments.order_desk.database import KEYS, OPEN

if TYPE_CHECKING:
    from collections.abc import Mapping

    from pydantic import JsonValue

    from trainer.environments.agent import ToolSchema
    from trainer.environments.order_desk.catalogue import Change
    from trainer.environments.order_desk.database import Shop


@dataclass(frozen=True, slots=True)
class Answer:
    """What a tool answers: JSON or a sentence; `refused` where it did nothing."""

    text: str
    refused: bool = False


@dataclass(frozen=True, slots=True)
class Done:
    """A call that a tool accepted."""

    tool: str
    arguments: dict[str, str]


_SCHEMAS = {s.name: s for s in schemas()}
_TABLES = {key: table for table, key in KEYS.items()}


def run(shop: Shop, tool: str, arguments: JsonValue) -> Answer:
    """Call a tool. Never raises: what is wrong with the call is in the answer, for the agent to read."""
    schema = _SCHEMAS.get(tool)
    if schema is None:
        return _refusal("there is no such tool")
    given = _texts(arguments)
    if given is None:
        return _refusal("arguments must be an object of texts")
    if why := _unfit(schema, given):
        return _refusal(why)
    for key, value in given.items():
        if key in _TABLES and shop.find(_TABLES[key], value) is None:
            return _refusal(f"{key} {value} not found")
    return _run(shop, tool, given)


def _run(shop: Shop, tool: str, given: Mapping[str, str]) -> Answer:
    if tool in CHANGES:
        return _change(shop, CHANGES[tool], given)
    if tool in LOOKS:
        look = LOOKS[tool]
        row: dict[str, JsonValue] = dict(shop.find(look.table, given[look.key]) or {})
        if look.table == "orders":
            row["items"] = [r["item_id"] for r in shop.where("items", "order_id", given[look.key])]
        if look.table == "items":
            del row["order_id"]
        return Answer(json.dumps(row))
    if tool in CHECKS:
        return Answer(CHECKS[tool].answer)
    if tool in RECORDS:
        shop.record(RECORDS[tool].kind, given["order_id"], given["text"])
        return Answer("Done.")
    orders: list[JsonValue] = [
        r["order_id"] for r in shop.where("orders", LIST_ORDERS.key, given[LIST_ORDERS.key])
    ]
    return Answer(json.dumps({LIST_ORDERS.key: given[LIST_ORDERS.key], "orders": orders}))


def _change(shop: Shop, tool: Change, given: Mapping[str, str]) -> Answer:
    order = shop.find("orders", given["order_id"]) or {}
    key = str(order[tool.via]) if tool.via else given[tool.keys[-1]]
    row = shop.find(tool.table, key) or {}
    if row.get("order_id", given["order_id"]) != given["order_id"]:
        return _refusal("the item is of another order")
    if row[tool.column] != OPEN:
        return _refusal("that was done before")
    shop.change(tool.table, key, tool.column, given[tool.argument])
    return Answer("Done.")


def _unfit(schema: ToolSchema, given: Mapping[str, str]) -> str:
    """Return what the schema does not allow; empty where all is well."""
    properties = schema.parameters["properties"]
    if not isinstance(properties, dict):
        return ""
    if unknown := sorted(given.keys() - properties.keys()):
        return f"there is no argument {unknown[0]}"
    for name, wanted in properties.items():
        if name not in given:
            return f"argument {name} is missing"
        options = wanted.get("enum") if isinstance(wanted, dict) else None
        if isinstance(options, list) and given[name] not in options:
            return f"argument {name} is none of its options"
    return ""


def _texts(arguments: JsonValue) -> dict[str, str] | None:
    if not isinstance(arguments, dict):
        return None
    found = {k: v for k, v in arguments.items() if isinstance(v, str)}
    return found if len(found) == len(arguments) else None


def _refusal(why: str) -> Answer:
    return Answer(f"Error: {why}", refused=True)
