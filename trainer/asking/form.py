"""The form of an answer: a pydantic model as the JSON schema that endpoints read, and as text for the model.

Every string, list and number in it is bounded: without a bound some models write until they are cut.
"""

from __future__ import annotations

import json
from copy import deepcopy
from functools import cache
from typing import TYPE_CHECKING

from trainer.asking.quoting import excerpt

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue, ValidationError

    from xpstore.model import Frozen

MOST_PROBLEMS = 8
"""Faults of one answer that are told."""
_UNREAD = frozenset({"title", "default", "discriminator"})
"""Keywords that say nothing to a model, or that some endpoints refuse."""


@cache
def schema_of(form: type[Frozen]) -> dict[str, JsonValue]:
    """Return the strict JSON schema of a form: nothing by reference, every property required, no other.

    Raises TypeError where a string, list or number is not bounded, or the form contains itself.
    """
    raw = deepcopy(form.model_json_schema())
    definitions = raw.pop("$defs", {})
    made = _inlined(raw, definitions, ())
    if not isinstance(made, dict):
        raise TypeError(f"{form.__name__} is not an object")
    problems = list(_unbounded(made, form.__name__))
    if problems:
        raise TypeError("; ".join(problems))
    return made


@cache
def schema_text(form: type[Frozen]) -> str:
    """Return the schema as the model is shown it."""
    return json.dumps(schema_of(form), ensure_ascii=False, separators=(", ", ": "))


def problems_of(error: ValidationError) -> list[str]:
    """Return what is wrong with an answer, in sentences for the model; nothing of what it wrote."""
    found = error.errors(include_url=False, include_context=False, include_input=False)
    told = [f"{_place(item['loc'])}: {item['msg']}" for item in found]
    more = len(told) - MOST_PROBLEMS
    return [*told[:MOST_PROBLEMS], f"and {more} more"] if more > 0 else told


def _place(path: tuple[int | str, ...]) -> str:
    """Return where in an answer; the names of properties may be the model's own."""
    return excerpt(".".join(map(str, path))) or "the answer"


def _inlined(
    node: JsonValue, definitions: dict[str, JsonValue], inside: tuple[str, ...], *, names: bool = False
) -> JsonValue:
    """Return the schema with definitions in place; `names`: the keys are names of properties."""
    if isinstance(node, list):
        return [_inlined(item, definitions, inside) for item in node]
    if not isinstance(node, dict):
        return node
    reference = node.get("$ref")
    if isinstance(reference, str) and not names:
        name = reference.rpartition("/")[2]
        if name in inside:
            raise TypeError(f"{name} contains itself")
        rest = {key: value for key, value in node.items() if key != "$ref"}
        target = definitions[name]
        return _inlined(
            {**target, **rest} if isinstance(target, dict) else target, definitions, (*inside, name)
        )
    made = {
        key: _inlined(value, definitions, inside, names=key == "properties" and not names)
        for key, value in node.items()
        if names or key not in _UNREAD
    }
    properties = made.get("properties")
    if isinstance(properties, dict) and not names:
        made["required"] = list(properties)
        made["additionalProperties"] = False
    return made


def _unbounded(node: JsonValue, where: str) -> Iterator[str]:
    if not isinstance(node, dict) or "enum" in node or "const" in node:
        return
    bounds = {"string": ("maxLength",), "array": ("maxItems",), "integer": ("minimum", "maximum")}
    kind = node.get("type")
    if kind == "number":
        yield f"{where} is a float; no endpoint keeps its bounds"
    if kind == "object" and "properties" not in node:
        yield f"{where} is an object of any form"
    if isinstance(kind, str) and not all(name in node for name in bounds.get(kind, ())):
        yield f"{where} has no {' or '.join(bounds[kind])}"
    properties, options = node.get("properties"), node.get("anyOf")
    for name, item in properties.items() if isinstance(properties, dict) else ():
        yield from _unbounded(item, f"{where}.{name}")
    for item in options if isinstance(options, list) else ():
        yield from _unbounded(item, where)
    yield from _unbounded(node.get("items"), f"{where}[]")
