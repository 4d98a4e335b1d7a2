from __future__ import annotations

from dataclasses import fields

import pytest

from xpstore import settings
from xpstore.config import StoreConfig, parse_config, render_config
from xpstore.errors import FormatError
from xpstore.settings import LlmSettings, SignSettings

HEAD = 'format = 1\nid = "ab12"\n'
TABLES = [
    value
    for value in vars(settings).values()
    if isinstance(value, type) and value.__module__ == settings.__name__
]


@pytest.mark.parametrize("table", TABLES)
def test_every_table_has_defaults_and_a_hash(table: type):
    assert table() == table()
    assert hash(table()) == hash(table())


def test_every_key_of_the_model_has_help_and_reads_back():
    assert all(f.metadata["help"] for f in fields(LlmSettings))
    written = StoreConfig(1, "ab12", llm=LlmSettings(model="m", timeout=5, max_cost_per_run=0.5))
    text = render_config(written)
    assert "[llm]" in text
    assert parse_config(text, "xp.toml") == written
    assert "[llm]" not in render_config(StoreConfig(1, "ab12"))


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("parallel = 0", "`llm.parallel` is 0, it must be a whole number, 1 or more"),
        ("timeout = 0", "`llm.timeout` is 0, it must be a number, 0.01 or more"),
        ("retries = 11", "`llm.retries` is 11, it must be a whole number, 10 or less"),
        ("max_cost_per_run = -1", "`llm.max_cost_per_run` is -1, it must be a number, 0 or more"),
        ('key = "sk-secret"', "unknown key `llm.key`"),
    ],
)
def test_a_value_out_of_bounds_is_named(line: str, problem: str):
    with pytest.raises(FormatError, match=r"xp\.toml") as caught:
        parse_config(f"{HEAD}[llm]\n{line}\n", "xp.toml")
    assert problem in caught.value.message
    assert "sk-secret" not in caught.value.message + caught.value.hint


def test_plans_are_signed_only_where_a_format_is_named():
    assert [SignSettings(name).is_on for name in ("none", "ssh", "gpg")] == [False, True, True]
