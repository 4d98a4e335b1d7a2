from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from trainer import environment
from trainer.environment import load_environment, world_of
from xpstore.config import EnvironmentSettings
from xpstore.errors import UsageError


def picky(options):
    """A factory that takes one option."""
    if set(options) - {"size"}:
        raise ValueError(f"unknown option {sorted(set(options) - {'size'})}")
    return ("made", dict(options))


@pytest.fixture(autouse=True)
def installed(monkeypatch):
    points = [
        EntryPoint("picky", f"{__name__}:picky", environment.GROUP),
        EntryPoint("gone", "no_such_module:make", environment.GROUP),
        EntryPoint("half", "trainer.environment:no_such_name", environment.GROUP),
    ]
    monkeypatch.setattr(EntryPoint, "load", lambda self: picky if self.name == "picky" else LOAD(self))
    monkeypatch.setattr(
        environment, "entry_points", lambda group: points if group == environment.GROUP else []
    )


LOAD = EntryPoint.load


def test_an_installed_environment_is_made_with_its_options():
    assert load_environment("picky", {"size": 3}) == ("made", {"size": 3})


def test_an_unknown_name_lists_what_is_installed():
    with pytest.raises(UsageError, match="no environment is called 'moon'") as caught:
        load_environment("moon", {})
    assert "gone, half, picky" in caught.value.hint


@pytest.mark.parametrize("name", ["gone", "half"])
def test_what_cannot_be_imported_says_why(name):
    with pytest.raises(UsageError, match=r"cannot be imported: .*no_such"):
        load_environment(name, {})


def test_options_that_it_does_not_take_say_why():
    with pytest.raises(UsageError, match=r"does not take its options: unknown option \['colour'\]") as caught:
        load_environment("picky", {"colour": "red"})
    assert "environment.options" in caught.value.hint


def test_other_options_are_another_world():
    plain, small, large = (world_of(EnvironmentSettings("picky", o)) for o in ({}, {"size": 1}, {"size": 2}))
    assert plain.id == "picky"
    assert len({plain.id, small.id, large.id}) == 3
    assert small.environment == ("made", {"size": 1})
    assert small.id.startswith("picky#")


def test_a_store_without_an_environment_says_what_to_write():
    with pytest.raises(UsageError, match="names no environment") as caught:
        world_of(EnvironmentSettings())
    assert "[environment]" in caught.value.hint
