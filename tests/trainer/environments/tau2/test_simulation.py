"""Whole simulations are tried in tests/tau2; here is what needs no model."""

from __future__ import annotations

import pytest

from tests.tau2_tasks import job_of
from trainer.environments.tau2 import guard
from trainer.environments.tau2.settings import Endpoint, settings_of

if not guard.is_here():
    pytest.skip("`make tau2` runs this where tau2-bench is", allow_module_level=True)
guard.check_here()

from trainer.environments.tau2 import library, simulation  # noqa: E402  # only where tau2 is

pytestmark = pytest.mark.tau2


def test_a_history_that_a_task_begins_with_is_replayed():
    settings = settings_of({}, {})
    task = library.load_tasks("mock", settings).tasks["update_task_with_message_history"]
    actions = task["evaluation_criteria"]["actions"]
    done = simulation.replay(job_of("mock", task), settings, actions, "Done.")
    assert done.reward is not None
    assert done.reward["reward"] == 1.0


def test_how_an_endpoint_is_asked():
    settings = settings_of({"retries": 3, "call_timeout": 7}, {})
    asked = simulation._llm(Endpoint("m/x", "http://here/v1", "k", 0.5), settings)
    assert asked == {
        "llm": "openai/m/x",
        "llm_args": {
            "api_key": "k",
            "temperature": 0.5,
            "num_retries": 3,
            "timeout": 7.0,
            "api_base": "http://here/v1",
        },
    }
    assert "api_base" not in simulation._llm(Endpoint("m"), settings)["llm_args"]
