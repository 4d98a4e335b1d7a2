"""Spans of OpenInference and of OpenTelemetry's GenAI conventions, in the forms in which they are kept.

These are the SDK's JSON, what Phoenix gives (nested, or a table with dotted columns), and OTLP. `…_messages`
reads their attributes, `…_trace` makes rollouts of them.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import TYPE_CHECKING

from trainer.importers.form import texts
from trainer.importers.jsontext import RecordError

if TYPE_CHECKING:
    from collections.abc import Iterator

    from pydantic import JsonValue

NAME = "openinference"
FORMAT = "OpenInference"
_LEVELS = 16  # of keys within keys; the longest known has eleven
_OPAQUE = frozenset({"arguments", "value", "messages", "metadata", "result", "system_instructions"})
"""Below these keys stands what tools and users wrote: nothing in it is a key of ours."""
_READ = frozenset(
    {"llm", "input", "output", "tool", "tool_call", "session", "openinference", "gen_ai", "eval"}
    | {"evaluations", "annotations", "trace"}
)
_KINDS = {
    "chat": "LLM",
    "text_completion": "LLM",
    "generate_content": "LLM",
    "execute_tool": "TOOL",
    "invoke_agent": "AGENT",
}
"""`gen_ai.operation.name` → the kind of span that it is in OpenInference."""
_UNITS = ((10**17, 1), (10**14, 10**3), (10**11, 10**6), (0, 10**9))
"""Of a number that is a time: at least so much → nanoseconds in one; seconds, if it is small."""
_LISTS = ("resourceSpans", "resource_spans", "scopeSpans", "scope_spans", "spans", "data")

Object = dict[str, "JsonValue"]


@dataclass(frozen=True, slots=True)
class Span:
    """What every span has, whatever it is of."""

    trace: str
    id: str
    parent: str
    name: str
    kind: str
    """Capital letters; "" = none that is known."""
    session: str
    start: int
    """Nanoseconds since 1970; 0 = not known."""
    end: int
    is_error: bool
    error: str
    attributes: Object
    """Nested; only what `_READ` names."""
    events: tuple[tuple[str, Object], ...] = ()
    """Name and attributes, nested."""
    annotations: tuple[Object, ...] = ()
    """Those that stand beside the attributes."""


def is_spans(record: Object) -> bool:
    """Say whether a record is a span, or holds some."""
    if _is_span(record):
        return True
    for key in _LISTS:
        inside = record.get(key)
        if isinstance(inside, list) and inside:
            first = inside[0]
            is_group = "pans" in key and key != "spans"
            return isinstance(first, dict) and (_is_span(first) or (is_group and _holds(first)))
    return False


def spans_of(record: Object) -> Iterator[Span | RecordError]:
    """Yield the spans of a record; for each that is broken, why."""
    for value in _each(record):
        try:
            yield _span(value)
        except RecordError as error:
            yield error


def object_at(value: JsonValue, *path: str) -> Object:
    """Return the object at a place in nested attributes; {} where there is none."""
    found = value_at(value, *path)
    return found if isinstance(found, dict) else {}


def value_at(value: JsonValue, *path: str) -> JsonValue:
    """Return what stands at a place in nested attributes; None where there is nothing."""
    for key in path:
        value = value.get(key) if isinstance(value, dict) else None
    return value


def text_at(value: JsonValue, *path: str) -> str:
    """Return the text, or the whole number as text, at a place in nested attributes."""
    return next(iter(texts(value_at(value, *path))), "")


def nested(value: JsonValue, levels: int = _LEVELS) -> JsonValue:
    """Return attributes with `a.b.0.c` as objects and lists; a gap in the numbers of a list leaves none."""
    if isinstance(value, list):
        return [nested(item, levels - 1) for item in value] if levels else value
    if not isinstance(value, dict) or not levels:
        return value
    found: Object = {}
    deep: dict[str, Object] = {}
    for key, item in value.items():
        head, _, tail = key.partition(".")
        if tail:
            deep.setdefault(head, {})[tail] = item
        elif isinstance(item, dict) and head not in _OPAQUE:
            deep.setdefault(head, {}).update(item)
        else:
            found[head] = item if head in _OPAQUE else nested(item, levels - 1)
    found |= {head: nested(inner, levels - 1) for head, inner in deep.items()}
    if found and all(key.isascii() and key.isdigit() and len(key) < 10 for key in found):
        return [found[key] for key in sorted(found, key=int)]
    return found


def _is_span(value: Object) -> bool:
    """Say whether an object has a span's ids and attributes."""
    has_attributes = isinstance(value.get("attributes"), dict | list) or any(
        key.startswith("attributes.") for key in value
    )
    return has_attributes and all(_ids(value))


def _holds(value: Object) -> bool:
    return any(isinstance(value.get(key), list) for key in _LISTS)


def _ids(value: Object) -> tuple[str, str]:
    """Return the ids of trace and span; "" where there is none."""
    context = value.get("context")
    places = [context, value] if isinstance(context, dict) else [value]
    keys = ("trace_id", "traceId", "context.trace_id"), ("span_id", "spanId", "context.span_id")
    trace, span = (_hex(*(place.get(key) for place in places for key in names)) for names in keys)
    return trace, span


def _hex(*values: JsonValue) -> str:
    """Return the first id, as OTLP writes it: the SDK's `0x` is no part of it."""
    found = next(iter(texts(*values)), "")[:200]
    return found[2:].lower() if found[:2] in {"0x", "0X"} else found


def _each(value: JsonValue, levels: int = 4) -> Iterator[Object]:
    """Yield the objects that are spans, of groups within groups."""
    if isinstance(value, dict):
        inside = next((value[key] for key in _LISTS if isinstance(value.get(key), list)), None)
        if not _is_span(value) and isinstance(inside, list) and levels:
            for item in inside:
                yield from _each(item, levels - 1)
        else:
            yield value


def _span(value: Object) -> Span:
    trace, span = _ids(value)
    if not trace or not span:
        raise RecordError("a span without the ids of its trace and of itself")
    given = value.get("attributes")
    flat = {key.removeprefix("attributes."): v for key, v in value.items() if key.startswith("attributes.")}
    attributes = _attributes(given if isinstance(given, dict | list) else flat)
    status = value.get("status")
    state: Object = status if isinstance(status, dict) else {"code": status}
    code = next((c for c in (state.get("status_code"), state.get("code"), value.get("status_code")) if c), "")
    events = _events(value.get("events"))
    said = (
        text_at(state, "description")
        or text_at(state, "message")
        or text_at(value, "status_message")
        or next((text_at(about, "exception", "message") for _, about in events), "")
    )
    beside = value.get("annotations")
    kind = text_at(attributes, "openinference", "span", "kind") or text_at(value, "span_kind")
    operation = text_at(attributes, "gen_ai", "operation", "name")
    return Span(
        trace=trace,
        id=span,
        parent=_hex(value.get("parent_id"), value.get("parentSpanId"), value.get("parent_span_id")),
        name=text_at(value, "name")[:200],
        kind=kind.upper() if kind and kind.upper() != "UNKNOWN" else _KINDS.get(operation, ""),
        session=text_at(attributes, "session", "id") or text_at(attributes, "gen_ai", "conversation", "id"),
        start=_time(value.get("start_time", value.get("startTimeUnixNano"))),
        end=_time(value.get("end_time", value.get("endTimeUnixNano"))),
        is_error=code == 2 or str(code).upper().endswith("ERROR"),
        error=said,
        attributes=attributes,
        events=events,
        annotations=tuple(a for a in beside if isinstance(a, dict)) if isinstance(beside, list) else (),
    )


def _attributes(value: JsonValue) -> Object:
    """Return attributes nested, as far as anything of them is read."""
    flat = _pairs(value) if isinstance(value, list) else value
    if not isinstance(flat, dict):
        return {}
    found = nested({key: item for key, item in flat.items() if key.partition(".")[0] in _READ})
    return found if isinstance(found, dict) else {}


def _events(value: JsonValue) -> tuple[tuple[str, Object], ...]:
    found: list[tuple[str, Object]] = []
    for event in value if isinstance(value, list) else []:
        if isinstance(event, dict):
            given = event.get("attributes")
            about = nested(_pairs(given) if isinstance(given, list) else given)
            found.append((text_at(event, "name"), about if isinstance(about, dict) else {}))
    return tuple(found)


def _pairs(pairs: list[JsonValue]) -> Object:
    """Return OTLP's list of keys and values as an object."""
    known = [pair for pair in pairs if isinstance(pair, dict) and isinstance(pair.get("key"), str)]
    return {str(pair["key"]): _value(pair.get("value")) for pair in known}


def _value(value: JsonValue) -> JsonValue:
    """Return a value of OTLP: an object whose one key names the type."""
    if not isinstance(value, dict):
        return value
    for key, item in value.items():
        if key in {"arrayValue", "kvlistValue"}:
            inner = item.get("values") if isinstance(item, dict) else None
            items = inner if isinstance(inner, list) else []
            return [_value(one) for one in items] if key == "arrayValue" else _pairs(items)
        if key == "intValue" and isinstance(item, str):
            digits = item.removeprefix("-")
            return int(item) if digits.isascii() and digits.isdigit() and len(digits) < 20 else item
        return item
    return None


def _time(value: JsonValue) -> int:
    if isinstance(value, str):
        if not (value.isascii() and value.isdigit() and len(value) < 20):
            return _moment(value)
        value = int(value)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value < 10**19:
        return 0
    factor = next(factor for least, factor in _UNITS if value >= least)
    return int(value * factor)


def _moment(value: str) -> int:
    try:
        moment = datetime.fromisoformat(value)
    except ValueError:
        return 0
    since = (moment if moment.tzinfo else moment.replace(tzinfo=UTC)) - datetime(1970, 1, 1, tzinfo=UTC)
    return (since.days * 86_400 + since.seconds) * 10**9 + since.microseconds * 1000
