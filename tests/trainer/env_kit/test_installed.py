from __future__ import annotations

from importlib.metadata import EntryPoint

import pytest

from trainer.env_kit import installed
from trainer.env_kit.installed import load_runtime, runtimes
from trainer.environments.order_desk.service import make_runtime
from xpstore.errors import UsageError

WORDS = "tests.env_world:Words"


def test_what_is_installed():
    assert runtimes()["order-desk"] == "trainer.environments.order_desk.service:make_runtime"
    assert load_runtime("order-desk", {"seed": 3}).version.startswith("1 seed=3 ")


def test_a_class_of_a_file():
    assert load_runtime(WORDS, {"count": 3}).count == 3


@pytest.mark.parametrize(
    ("spec", "options", "why"),
    [
        ("moon", {}, "no environment to serve is called 'moon'"),
        ("moon:Desk", {}, "cannot be imported: No module named 'moon'"),
        ("tests.env_world:Moon", {}, "cannot be imported"),
        (":", {}, "cannot be imported"),
        ("tests.env_world:SNAPSHOT", {}, "no class and no function"),
        ("tests.env_world:word_case", {"number": 1}, "no environment: it has no 'version'"),
        (WORDS, {"moon": 1}, "does not take its options: .*moon"),
        ("order-desk", {"moon": 1}, "does not take its options: there is no option 'moon'"),
        ("order-desk", {"agent": "llm"}, "nobody says which model"),
    ],
)
def test_what_cannot_be_served(spec, options, why):
    with pytest.raises(UsageError, match=why):
        load_runtime(spec, options)


def test_an_installed_one_wins(monkeypatch):
    own = EntryPoint("a:b", "trainer.environments.order_desk.service:make_runtime", installed.GROUP)
    monkeypatch.setattr(installed, "entry_points", lambda group: [own] if group == installed.GROUP else [])
    assert load_runtime("a:b", {}).name == make_runtime().name
