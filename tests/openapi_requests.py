"""Requests as an OpenAPI document allows them, and some that it does not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING
from urllib.parse import quote

from hypothesis import strategies as st

if TYPE_CHECKING:
    from collections.abc import Mapping

Json = dict[str, object]
DEEPEST = 5
"""Levels of a schema that are followed."""
METHODS = {"get", "post", "put", "patch", "delete"}
SCALARS = (
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False, allow_infinity=False) | st.text()
)
ANYTHING = st.recursive(
    SCALARS, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3)
)


@dataclass(frozen=True)
class Operation:
    """One call of the document."""

    method: str
    path: str
    declared: Json

    def __str__(self) -> str:
        return f"{self.method} {self.path}"


def operations(document: Json) -> list[Operation]:
    """Return all calls, in the order of the document."""
    return [
        Operation(method, path, declared)
        for path, item in document["paths"].items()
        for method, declared in item.items()
        if method in METHODS
    ]


def requests(document: Json, operation: Operation, known: Mapping[str, list[str]]) -> st.SearchStrategy[Json]:
    """Return what draws the arguments of a call: `url`, `params`, and `json` or `content`.

    `known` has values of parameters that exist, by name.
    """
    declared = operation.declared
    path, query = {}, {}
    for parameter in declared.get("parameters", []):
        name = parameter["name"]
        fits = values(document, parameter["schema"])
        fits = st.sampled_from(known[name]) | fits if name in known else fits
        if parameter["in"] == "path":
            path[name] = fits
        elif parameter["in"] == "query":
            query[name] = fits | st.text(max_size=5)
    body = declared.get("requestBody", {}).get("content", {}).get("application/json", {}).get("schema")
    sent = st.just({})
    if body is not None:
        raw = st.fixed_dictionaries(
            {"content": st.binary(max_size=20), "headers": st.just({"content-type": "application/json"})}
        )
        fits = values(document, body)
        sent = st.fixed_dictionaries({"json": fits}) | st.fixed_dictionaries({"json": ANYTHING}) | raw
    return st.builds(
        lambda path, query, sent: {
            "url": operation.path.format_map({name: _segment(value) for name, value in path.items()}),
            "params": {k: v for k, v in query.items() if v is not None},
            **sent,
        },
        st.fixed_dictionaries(path),
        st.fixed_dictionaries({}, optional=query),
        sent,
    )


def values(document: Json, schema: Json, depth: int = 0) -> st.SearchStrategy[object]:
    """Return what draws values of a schema; of the kinds that pydantic writes."""
    if "$ref" in schema:
        return values(document, document["components"]["schemas"][schema["$ref"].rpartition("/")[2]], depth)
    several = schema.get("anyOf") or schema.get("oneOf")
    if several and depth < DEEPEST:
        return st.one_of([values(document, one, depth + 1) for one in several])
    if "const" in schema or "enum" in schema:
        return st.sampled_from(schema.get("enum", [schema.get("const")]))
    kind = schema.get("type")
    if kind == "array":
        return st.lists(values(document, schema.get("items", {}), depth + 1), max_size=3)
    if kind == "object" and depth < DEEPEST:
        return _objects(document, schema, depth + 1)
    least, most = schema.get("minimum"), schema.get("maximum")
    scalars = {
        "string": lambda: st.text(min_size=schema.get("minLength", 0), max_size=schema.get("maxLength", 30)),
        "integer": lambda: st.integers(least, most),
        "number": lambda: st.floats(least, most, allow_nan=False, allow_infinity=False),
        "boolean": st.booleans,
        "null": st.none,
    }
    return scalars.get(kind, lambda: ANYTHING)()


def _objects(document: Json, schema: Json, depth: int) -> st.SearchStrategy[object]:
    if "properties" not in schema:
        return st.dictionaries(st.text(max_size=5), ANYTHING, max_size=2)
    drawn = {name: values(document, part, depth) for name, part in schema["properties"].items()}
    must = set(schema.get("required", ()))
    return st.fixed_dictionaries(
        {name: part for name, part in drawn.items() if name in must},
        optional={name: part for name, part in drawn.items() if name not in must},
    )


def _segment(value: object) -> str:
    text = str(value)
    return quote(text.encode("utf-8", "replace"), safe="") or "%20"
