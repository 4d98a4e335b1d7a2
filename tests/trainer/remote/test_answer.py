from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.remote.answer import HttpError, cleaned, decoded, kind_of, reason

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(st.characters()),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        *((400, "refused"), (301, "refused"), (404, "gone"), (410, "gone")),
        *((429, "busy"), (503, "busy"), (500, "failed"), (599, "failed")),
    ],
)
def test_kinds(status, kind):
    assert kind_of(status) == kind


@given(st.binary(max_size=60))
def test_any_bytes_are_a_value_or_a_value_error(data):
    try:
        value = decoded(data)
    except ValueError:
        return
    assert value is None or isinstance(value, bool | int | float | str | list | dict)


@settings(max_examples=40)
@given(JSON)
def test_what_is_cleaned_can_be_written_in_utf8(value):
    try:
        clean = cleaned(value, lambda text: text.replace("secret", ""))
    except ValueError:
        return
    repr(clean).encode()


def test_depth_is_bounded():
    value: object = 1
    for _ in range(100):
        value = [value]
    cleaned(value, str)
    with pytest.raises(ValueError, match="nested"):
        cleaned([value], str)


@pytest.mark.parametrize(
    ("body", "said"),
    [
        ({"error": {"code": "X", "message": "no"}}, "no"),
        ({"detail": "no"}, "no"),
        ({"detail": [{"msg": "no"}]}, '[{"msg": "no"}]'),
        ({"error": "no"}, "no"),
        ({"status": "error"}, ""),
        ([], "[]"),
        ("no", "no"),
        (None, ""),
        ({"error": 7}, ""),
    ],
)
def test_where_services_say_what_is_wrong(body, said):
    assert reason(body) == said


def test_an_error_has_its_facts():
    error = HttpError("busy", "full", status=429, body={"a": 1}, retry_after=2)
    assert (error.kind, error.status, error.body, error.retry_after) == ("busy", 429, {"a": 1}, 2)
    assert error.exit_code == 1
