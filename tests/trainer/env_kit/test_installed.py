from __future__ import annotations

import sys
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
        ("moon:Desk", {}, "cannot be imported: ModuleNotFoundError: No module named 'moon'"),
        ("tests.env_world:Moon", {}, "cannot be imported"),
        (":", {}, "names no class"),
        ("a b:C", {}, "names no class"),
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


BODY = "\n    def cases(self, query): ...\n    async def run(self, request): ...\n"


@pytest.mark.parametrize(
    ("code", "why"),
    [
        ("def x(:", "cannot be imported: SyntaxError"),
        ("1 / 0", "cannot be imported: ZeroDivisionError"),
        ("raise SystemExit(4)", "cannot be imported: SystemExit: 4"),
        ("def Desk(): raise RuntimeError('no model')", "cannot be made: RuntimeError: no model"),
        (
            f"class Desk:\n    name = 'a'\n    version = property(lambda s: 1 / 0){BODY}",
            "cannot be made: Zero",
        ),
        (f"class Desk:\n    name = 'a'\n    version = 3{BODY}", "its version is no text"),
        (f"class Desk:\n    name = None\n    version = '3'{BODY}", "its name is no text"),
    ],
)
def test_what_an_author_did_wrong_is_no_defect_of_ours(tmp_path, monkeypatch, code, why):
    (tmp_path / "my_desk.py").write_text(code, "utf-8")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "my_desk", raising=False)
    with pytest.raises(UsageError, match=why):
        load_runtime("my_desk:Desk", {})


def test_an_installed_one_wins(monkeypatch):
    own = EntryPoint("a:b", "trainer.environments.order_desk.service:make_runtime", installed.GROUP)
    monkeypatch.setattr(installed, "entry_points", lambda group: [own] if group == installed.GROUP else [])
    assert load_runtime("a:b", {}).name == make_runtime().name
