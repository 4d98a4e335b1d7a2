import json

import pytest

from tests.recordings import ALL, openinference, otlp, span
from trainer.importers import read_rollouts
from trainer.importers.detect import FORMATS
from trainer.importers.openinference import is_spans, nested, object_at, spans_of, text_at, value_at
from trainer.importers.openinference_trace import OPENINFERENCE


def phoenix(given):
    """Return a span as Phoenix's client gives it: attributes nested, the kind beside them."""
    attributes = dict(given["attributes"])
    kind = attributes.pop("openinference.span.kind")
    status = given["status"]
    context = {key: value.removeprefix("0x") for key, value in given["context"].items()}
    return {
        **given,
        "context": context,
        "parent_id": given["parent_id"] and given["parent_id"][2:],
        "span_kind": kind,
        "status_code": status["status_code"],
        "status_message": status.get("description", ""),
        "status": None,
        "attributes": nested(attributes),
    }


def table(given):
    """Return a span as a row of Phoenix's table."""
    one = phoenix(given)
    context, attributes = one.pop("context"), one.pop("attributes")
    row = {f"context.{key}": value for key, value in context.items()}
    for head, inner in attributes.items():
        row |= {f"attributes.{head}.{key}": value for key, value in inner.items()}
    return {**one, **row}


SPANS = openinference()
FORMS = {
    "a line each": "".join(json.dumps(one) + "\n" for one in SPANS),
    "last first": "".join(json.dumps(one) + "\n" for one in SPANS[::-1]),
    "an array": json.dumps(SPANS, indent=1),
    "an object": json.dumps({"spans": SPANS}),
    "an answer": json.dumps({"data": [phoenix(one) for one in SPANS], "next_cursor": None}, indent=1),
    "a table": json.dumps([table(one) for one in SPANS]),
    "OTLP": json.dumps(otlp(SPANS), indent=2),
    "OTLP in parts": "".join(json.dumps(otlp([one])) + "\n" for one in SPANS),
    "OTLP's spans": json.dumps({"data": otlp(SPANS)["resourceSpans"][0]["scopeSpans"][0]["spans"]}),
}


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_the_same_rollout(form, tmp_path):
    (tmp_path / "first").write_text(FORMS["a line each"])
    (tmp_path / "in").write_text(FORMS[form])
    result = read_rollouts([tmp_path / "in"])
    assert (result.problems, result.remarks) == ((), ())
    assert [r.id for r in result.rollouts] == [r.id for r in read_rollouts([tmp_path / "first"]).rollouts]


def test_spans_are_told_from_every_other_format():
    for form, text in ALL.items():
        try:
            records = [json.loads(text)]
        except ValueError:
            records = [json.loads(line) for line in text.splitlines()]
        for record in records:
            assert is_spans(record) == (form == "openinference")
    for text in FORMS.values():
        record = json.loads(text.splitlines()[0]) if text.startswith('{"') else json.loads(text)
        for one in record if isinstance(record, list) else [record]:
            assert [form.name for form in FORMATS if form.matches(one)] == [OPENINFERENCE.name]


@pytest.mark.parametrize(
    "value",
    [
        {},
        {"spans": []},
        {"data": [{"id": 1, "attributes": {}}]},
        {"resourceSpans": [{"x": 1}]},
        {"trace_id": "a", "span_id": "b"},
        {"context": {"trace_id": "a"}, "attributes": {}},
        {"context": {"trace_id": [], "span_id": {}}, "attributes": {}},
        {"messages": [{"role": "user", "content": "x"}], "trace_id": "a"},
    ],
)
def test_what_is_no_span(value):
    assert not is_spans(value)


def test_dotted_keys_are_objects_and_numbers_are_lists():
    flat = {"a.b.1.c": 1, "a.b.0.c": 0, "a.b.7000000.c": 2, "a": {"d": {"e.f": 3}}, "x": [{"y.z": 4}], "n": 5}
    made = {"a": {"b": [{"c": 0}, {"c": 1}, {"c": 2}], "d": {"e": {"f": 3}}}, "x": [{"y": {"z": 4}}], "n": 5}
    assert nested(flat) == made
    assert nested({"input.value": {"a.b": 1}, "m.arguments": {"0": 1}}) == {
        "input": {"value": {"a.b": 1}},
        "m": {"arguments": {"0": 1}},
    }
    assert nested({"a": 1, "a.b": 2}) == {"a": {"b": 2}}
    deep = nested({"a" + ".a" * 30_000: 1})
    assert len(json.dumps(deep)) < 61_000
    assert (value_at(made, "n", "b"), object_at(made, "x"), text_at({"n": True}, "n")) == (None, {}, "")


def test_what_a_span_says_of_itself():
    given = {**openinference()[3], "events": [{"name": "e", "attributes": {"gen_ai.x": 1}}]}
    (found,) = spans_of(given)
    (same,) = spans_of(otlp([given]))
    assert (found.trace, found.parent) == ("7b" * 16, "6167656e74000000")
    assert (found.kind, found.is_error, found.error) == ("TOOL", True, "it was opened")
    assert found.events == (("e", {"gen_ai": {"x": 1}}),)
    assert found.end - found.start == 1_500_000_000
    for name in ("trace", "id", "parent", "start", "end", "is_error", "error", "attributes"):
        assert getattr(found, name) == getattr(same, name)


@pytest.mark.parametrize(
    ("time", "nanoseconds"),
    [
        ("1970-01-01T00:00:01Z", 10**9),
        ("1970-01-01T00:00:01", 10**9),
        ("1970-01-01T01:00:01.5+01:00", 1_500_000_000),
        (1_700_000_000_000, 1_700_000_000 * 10**9),
        ("1700000000000000000", 1_700_000_000 * 10**9),
        (1.5, 1_500_000_000),
        ("yesterday", 0),
        (True, 0),
        (-5, 0),
        (10**400, 0),
        (None, 0),
        ("9" * 5000, 0),
        ("9999-12-31T23:59:59-23:59", 253_402_387_139 * 10**9),
    ],
)
def test_times(time, nanoseconds):
    (found,) = spans_of({**span("x", "LLM"), "start_time": time})
    assert found.start == nanoseconds


def test_the_values_of_otlp():
    values = [
        {"intValue": "-5"},
        {"intValue": "x" * 9},
        {"arrayValue": {"values": [{"boolValue": True}, {"doubleValue": 0.5}]}},
        {"kvlistValue": {"values": [{"key": "a", "value": {"stringValue": "b"}}, 5]}},
        {"arrayValue": 3},
        {},
        None,
    ]
    record = otlp([span("x", "LLM")])
    inner = record["resourceSpans"][0]["scopeSpans"][0]["spans"][0]
    inner["attributes"] = [{"key": f"tool.k{n}", "value": value} for n, value in enumerate(values)]
    (found,) = spans_of(record)
    tool = found.attributes["tool"]
    assert [tool[f"k{n}"] for n in range(7)] == [-5, "x" * 9, [True, 0.5], {"a": "b"}, [], None, None]


def test_a_broken_span_never_stops_the_rest():
    record = {"spans": [span("a", "LLM"), {"attributes": {}}, 5, span("b", "LLM")]}
    assert [type(found).__name__ for found in spans_of(record)] == ["Span", "RecordError", "Span"]
