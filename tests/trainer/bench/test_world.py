from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from trainer.bench.world import IDLE, BenchEnvironment, check_service
from trainer.remote.client import JsonClient
from trainer.remote.protocol import Health
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path

HEALTH = Health(name="tau2", version="3", agent="a/1", model="m", simulator="u")


def environment(tmp_path: Path, health: Health = HEALTH, **options: object) -> BenchEnvironment:
    return BenchEnvironment(
        health, lambda: JsonClient("http://127.0.0.1:9"), tmp_path, "tau2/airline", options
    )


def test_it_is_named_by_what_the_service_says_and_not_by_its_address(tmp_path: Path):
    one = environment(tmp_path)
    assert (one.name, one.agent, one.model, one.simulator) == ("tau2", "a/1", "m", "u")
    assert one.world().id == "tau2/airline"
    assert "127.0.0.1" not in f"{one.version} {one.code} {one.id}"


def test_another_version_is_another_measurement_of_the_same_run(tmp_path: Path):
    one, two = environment(tmp_path), environment(tmp_path, HEALTH.model_copy(update={"version": "4"}))
    assert one.version == two.version
    assert one.code != two.code
    assert one.id != two.id


def test_who_does_nothing_is_an_agent_of_its_own(tmp_path: Path):
    idle = environment(tmp_path, agent=IDLE)
    assert (idle.agent, idle.model, idle.simulator) == ("do-nothing/1", "", "")
    assert idle.id != environment(tmp_path).id


def test_services_that_cannot_be_measured():
    check_service(HEALTH, "tau2", "here")
    for health, why in (
        (Health(name="words", version="1"), "service of words"),
        (Health(), "no environment"),
        (Health(name="tau2"), "version"),
    ):
        with pytest.raises(UsageError, match=why):
            check_service(health, "tau2", "here")
