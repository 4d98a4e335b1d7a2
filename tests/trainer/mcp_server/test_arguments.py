from __future__ import annotations

import pytest

from trainer.mcp_server.arguments import List, Read, Report, Search, checked
from xpstore.errors import UsageError


@pytest.mark.parametrize(
    ("kind", "given", "where"),
    [
        (Search, {}, "query"),
        (Search, None, "query"),
        (Search, {"query": ""}, "query"),
        (Search, {"query": "x" * 4001}, "query"),
        (Search, {"query": "x", "limit": 0}, "limit"),
        (Search, {"query": "x", "limit": 10**40}, "limit"),
        (Search, {"query": "x", "limit": float("nan")}, "limit"),
        (Read, {"name": {"a": 1}}, "name"),
        (Read, {"name": "x" * 257}, "name"),
        (List, {"path": "/"}, "path"),
        (Report, {"task": "x", "outcome": "maybe"}, "outcome"),
        (Report, {"task": "x", "score": 2}, "score"),
        (Report, {"task": "x", "score": float("nan")}, "score"),
        (Report, {"task": "x", "messages": ["hello"]}, "messages.0"),
        (Report, {"task": "x", "messages": [{}] * 2001}, "messages"),
        (Report, {"task": "x", "experiences": ["x" * 300]}, "experiences.0"),
        (List, {"x" * 1000: 1}, "xxx"),
    ],
)
def test_what_is_wrong_is_named_in_a_line(kind, given, where):
    with pytest.raises(UsageError) as raised:
        checked(kind, given)
    assert raised.value.message.startswith(where)
    assert "\n" not in raised.value.message
    assert len(raised.value.message) < 400


def test_what_is_left_out_has_a_default():
    assert checked(Search, {"query": "refund"}).limit == 5
    assert checked(List, None) == List(after="", limit=50)
    assert checked(Report, {"task": "x"}).experiences is None


def test_a_schema_describes_every_argument():
    for kind in (Search, Read, List, Report):
        schema = kind.model_json_schema()
        assert schema["additionalProperties"] is False
        assert all("description" in one for one in schema["properties"].values())
