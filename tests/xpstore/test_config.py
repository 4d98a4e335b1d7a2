from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xpstore import config
from xpstore.config import FORMAT, Limits, StoreConfig, parse_config, render_config
from xpstore.errors import FormatError

MINIMAL = 'format = 1\nid = "ab12"\n'


def test_what_is_not_said_has_a_default():
    assert parse_config(MINIMAL, "xp.toml") == StoreConfig(
        format=1, id="ab12", name="", main="main", limits=Limits()
    )
    assert (Limits().items_per_plan, Limits().deletes_per_plan) == (50, 5)
    assert (Limits().file_bytes, Limits().file_lines) == (65536, 1000)


def test_every_key_is_written_with_a_comment():
    text = render_config(StoreConfig(1, "ab12", "退款", "trunk", Limits(items_per_plan=7)))
    assert 'name = "退款"' in text
    assert "items_per_plan = 7  # " in text
    keys = [line for line in text.split("\n") if " = " in line]
    lines = text.split("\n")
    assert all("# " in line or lines[lines.index(line) - 1].startswith("# ") for line in keys)
    assert "name =" not in render_config(StoreConfig(1, "ab12"))


IDS = st.from_regex(r"[0-9a-f]{8,40}", fullmatch=True)
NAMES = st.sampled_from(["", "refund", "退款", "می‌روم"])
BRANCHES = st.sampled_from(["main", "trunk", "a/b", "退款", "release-1.0", 'quo"te'])


@settings(max_examples=50, deadline=None)
@given(IDS, NAMES, BRANCHES, st.builds(Limits, *[st.integers(0, 10**9)] * 4))
def test_what_is_written_reads_back(store_id, name, main, limits):
    value = StoreConfig(FORMAT, store_id, name, main, limits)
    assert parse_config(render_config(value), "xp.toml") == value


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("format = ", "xp.toml", "TOML"),
        ("", "`format` must be a whole number", "format = 1"),
        ('format = "1"\n', "`format`", "format = 1"),
        ("format = true\n", "`format`", "format = 1"),
        ("format = 99\n", "format 99 is newer", "upgrade"),
        ("format = 0\n", "format 0 is unknown", "format = 1"),
        ("format = 1\n", "`id` is ''", "git"),
        ("format = 1\nid = 5\n", "`id` is 5", "git"),
        ('format = 1\nid = "a b"\n', "`id`", "git"),
        (MINIMAL + 'nam = "x"\n', "unknown key `nam`", "did you mean `name`"),
        (MINIMAL + "zzz = 1\n", "unknown key `zzz`", "known keys: format, id"),
        (MINIMAL + "[limits]\nitem_per_plan = 1\n", "unknown key `limits.item_per_plan`", "items_per_plan"),
        (MINIMAL + '[limits]\nitems_per_plan = "5"\n', "limits.items_per_plan", "default is 50"),
        (MINIMAL + "[limits]\nitems_per_plan = -1\n", "limits.items_per_plan", "default is 50"),
        (MINIMAL + "[limits]\nitems_per_plan = true\n", "limits.items_per_plan", "default is 50"),
        (MINIMAL + "limits = 3\n", "`limits` is not a table", "[limits]"),
        (MINIMAL + 'name = "a/b"\n', "`name`", "letters"),
        (MINIMAL + "name = 3\n", "`name`", "text"),
        (MINIMAL + 'main = ""\n', "`main`", "branch"),
        (MINIMAL + 'main = "a..b"\n', "`main`", "branch"),
        (MINIMAL + 'main = "-x"\n', "`main`", "branch"),
        (MINIMAL + 'main = "HEAD"\n', "`main`", "branch"),
        (MINIMAL + 'main = "a b"\n', "`main`", "branch"),
        (MINIMAL + 'main = "x.lock"\n', "`main`", "branch"),
        (MINIMAL + 'main = "a/"\n', "`main`", "branch"),
        (MINIMAL + 'main = "a\\nb"\n', "`main`", "branch"),
    ],
)
def test_errors_say_where_and_what_to_do(text, problem, hint):
    with pytest.raises(FormatError) as caught:
        parse_config(text, "agents/xp.toml" if "xp.toml" not in problem else "xp.toml")
    assert problem in caught.value.message
    assert "xp.toml" in caught.value.message
    assert hint in caught.value.hint


def test_an_older_format_is_read_through_its_upcaster(monkeypatch):
    monkeypatch.setitem(config.UPCASTERS, 0, lambda data: {"format": 1, "id": data["uuid"]})
    assert parse_config('format = 0\nuuid = "ab12"\n', "xp.toml") == StoreConfig(1, "ab12")
