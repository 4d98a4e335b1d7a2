from __future__ import annotations

import inspect
from dataclasses import FrozenInstanceError

import pytest

from tests.env_world import POLICY, SNAPSHOT, Words, word_case
from trainer.env_kit.installed import load_runtime
from trainer.env_kit.runtime import CaseQuery, EnvironmentRuntime, NamesAgent, RolloutRequest, TakesInput


@pytest.mark.parametrize("runtime", [Words(), load_runtime("order-desk", {})], ids=["words", "order-desk"])
def test_what_a_runtime_has(runtime):
    for member in ("name", "version", "cases", "run"):
        assert hasattr(EnvironmentRuntime, member)
        assert getattr(runtime, member)
    assert inspect.iscoroutinefunction(runtime.run)
    cases = runtime.cases(CaseQuery())
    assert len({case.name for case in cases}) == len(cases) > 0
    assert runtime.cases(CaseQuery()) == cases


def test_what_a_runtime_may_have_besides():
    assert not isinstance(Words(), TakesInput | NamesAgent)
    assert isinstance(load_runtime("order-desk", {}), TakesInput)
    assert isinstance(load_runtime("order-desk", {}), NamesAgent)


def test_a_request_is_a_value():
    request = RolloutRequest(word_case(0), POLICY, SNAPSHOT, 1, False, {}, {})
    with pytest.raises(FrozenInstanceError):
        request.seed = 2
