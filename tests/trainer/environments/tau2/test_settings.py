from __future__ import annotations

from pathlib import Path

import pytest

from trainer.environments.tau2.settings import NO_KEY, settings_of

KEYS = {"OPENAI_API_KEY": "own-key", "OTHER_KEY": "other-key", "OPENAI_BASE_URL": "http://here/v1"}


def test_user_and_judge_are_as_the_agent_where_nobody_says_more():
    settings = settings_of({"agent_model": "m", "agent_temperature": 0.5, "agent_prompt_price": 2}, KEYS)
    assert settings.agent.base_url == settings.user.base_url == settings.judge.base_url == "http://here/v1"
    assert settings.agent.key == settings.user.key == settings.judge.key == "own-key"
    assert (settings.user.model, settings.judge.prompt_price) == ("m", 2.0)
    assert settings.user.temperature == 0.0


def test_a_key_goes_to_its_own_address_only():
    settings = settings_of({"agent_model": "m", "judge_base_url": "http://elsewhere/v1"}, KEYS)
    assert settings.judge.key == NO_KEY
    named = {"judge_base_url": "http://elsewhere/v1", "judge_key_variable": "OTHER_KEY"}
    assert settings_of(named, KEYS).judge.key == "other-key"


def test_a_key_is_in_no_text_of_the_settings():
    settings = settings_of({"agent_model": "m"}, KEYS)
    assert "own-key" not in repr(settings)
    assert "own-key" not in settings.version


def test_the_version_changes_with_what_changes_scores():
    one = settings_of({"agent_model": "m"}, {})
    assert settings_of({"agent_model": "m", "max_steps": 3}, {}).version != one.version
    assert settings_of({"agent_model": "m", "user_temperature": 1}, {}).version != one.version
    assert settings_of({"agent_model": "m", "parallel": 3}, {}).version == one.version


def test_data_is_where_tau2_itself_looks():
    assert settings_of({}, {"TAU2_DATA_DIR": "/data"}).data == Path("/data")
    assert settings_of({"data": "/mine"}, {"TAU2_DATA_DIR": "/data"}).data == Path("/mine")
    assert settings_of({}, {}).data is None


@pytest.mark.parametrize(
    "options",
    [
        {"agent_modle": "m"},
        {"max_steps": 0},
        {"agent_temperature": 3},
        {"train_labels": True},
        {"retries": "2"},
    ],
)
def test_wrong_options_are_named(options: dict[str, object]):
    with pytest.raises((TypeError, ValueError), match=next(iter(options))):
        settings_of(options, {})
