from __future__ import annotations

from pathlib import Path

import pytest

from tests.builders import git
from trainer.asking.trusted import SETTING
from trainer.llm import endpoint_of
from xpstore.errors import UsageError
from xpstore.settings import LlmSettings

KEY = "sk-proj-Zx81kQ0pWm4nVb72Lc59Ty36"


def trust(*values):
    """Do what the error says."""
    for value in values:
        git(Path(), "config", "--global", "--add", SETTING, value)


@pytest.mark.parametrize(
    ("base_url", "origin"),
    [
        ("https://llm.example.evil/v1", "https://llm.example.evil"),
        ("https://evil-llm.example/v1", "https://evil-llm.example"),
        ("https://llm.example@evil.example/v1", "https://evil.example"),
        ("http://llm.example/v1", "http://llm.example"),
        ("https://llm.example:8443/v1", "https://llm.example:8443"),
        ("https://llm.example./v1", "https://llm.example."),
        ("https://llm.example%2eevil/v1", "https://llm.example%2eevil"),
        ("https://llm.\u0435xample/v1", "https://llm.xn--xample-2of"),
        ("https://localhost.evil.example", "https://localhost.evil.example"),
        ("http://127.0.0.1.evil.example", "http://127.0.0.1.evil.example"),
        ("http://2130706433/", "http://2130706433"),
        ("http://[::ffff:10.0.0.1]/", "'http://[::ffff:10.0.0.1]'"),
        ("https://a;$(id).example/v1", "'https://a;$(id).example'"),
        ("https://api.openai.com/v1", "https://api.openai.com"),
    ],
)
def test_what_only_looks_like_a_trusted_host_is_another(base_url, origin):
    trust("https://llm.example", "https://LLM.example.evil", "https://*.evil.example", "*")
    environ = {"OPENAI_API_KEY": KEY, "OPENAI_BASE_URL": "https://mine.example"}
    with pytest.raises(UsageError, match="OPENAI_API_KEY holds to") as caught:
        endpoint_of(LlmSettings(base_url=base_url), environ)
    assert caught.value.hint == f"if you do: git config --global --add xp.trustedModelHost {origin}"


@pytest.mark.parametrize(
    "base_url",
    [
        "https://llm.example",
        "https://u:pw@LLM.Example:443/v1",
        "https://llm.example\u3002evil@llm\u3002example",
    ],
)
def test_a_trusted_host_may_be_written_in_any_way(base_url):
    trust("https://llm.example")
    assert endpoint_of(LlmSettings(base_url=base_url), {"OPENAI_API_KEY": KEY}).key == KEY


@pytest.mark.parametrize("base_url", ["", "https://api.openai.com/v1", "https://llm.example/v1"])
def test_another_variable_is_trusted_with_its_host_only(base_url):
    trust("https://llm.example", "https://api.openai.com", "https://other.example AWS_SECRET")
    settings = LlmSettings(base_url=base_url, key_variable="AWS_SECRET")
    with pytest.raises(UsageError, match="would send what AWS_SECRET holds to https://") as caught:
        endpoint_of(settings, {"AWS_SECRET": KEY, "OPENAI_API_KEY": KEY})
    trust(caught.value.hint.split("'")[1])
    assert endpoint_of(settings, {"AWS_SECRET": KEY}).key == KEY


def test_names_move_nothing_on_a_terminal():
    settings = LlmSettings(base_url="https://llm.example", key_variable="A\x1b[2J\nB")
    with pytest.raises(UsageError) as caught:
        endpoint_of(settings, {})
    assert (caught.value.message + caught.value.hint).isprintable()
