from __future__ import annotations

import json

import pytest

from tests.env_world import GOLD, Words, serving
from trainer.cli import env
from trainer.env_kit.executions import Limits
from trainer.env_kit.service import make_service
from trainer.suite import read_suite
from trainer.web.keys import KeyFile
from xpstore.cli.main import run

EVERYWHERE = "0.0.0.0"  # noqa: S104
WORDS = "tests.env_world:Words"


@pytest.fixture
def xp(tmp_path, monkeypatch, capsys):
    """Return a function that runs `xp env …` in a folder without a store."""
    monkeypatch.chdir(tmp_path)

    def xp(*words: str) -> tuple[int, str, str]:
        code = run(["env", *words])
        return code, *capsys.readouterr()

    return xp


@pytest.fixture
def url():
    with serving(make_service(Words())) as url:
        yield url


@pytest.fixture
def made(monkeypatch):
    """What `xp env serve` would serve, and where."""
    monkeypatch.setattr("trainer.cli.env.write_log", lambda *, verbose: made.update(verbose=verbose))
    made = {}

    def make(runtime, **options):
        made.update(options, runtime=runtime)
        return "the application"

    def run_app(app, host, port, *, has_keys, announce, patience):
        made.update(app=app, host=host, port=port, has_keys=has_keys, patience=patience)
        announce("http://127.0.0.1:1944")
        return 0

    monkeypatch.setattr("trainer.env_kit.service.make_service", make)
    monkeypatch.setattr("trainer.web.run.run_app", run_app)
    return made


def test_list(xp):
    assert "order-desk" in xp("list")[1]
    found = json.loads(xp("list", "--json")[1])
    assert "http" in found["environments"]
    assert {
        "name": "order-desk",
        "from": "trainer.environments.order_desk.service:make_runtime",
    } in found["served"]


def test_serve_with_what_is_usual(xp, made, monkeypatch, tmp_path):
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    code, out, said = xp("serve", "order-desk")
    assert (code, out) == (0, "http://127.0.0.1:1944\n")
    assert "order-desk 1 seed=7" in said
    assert (made["host"], made["port"], made["has_keys"], made["labels"]) == ("127.0.0.1", 1944, False, False)
    assert made["limits"] == Limits(parallel=8, queue=1000, time_limit=1800.0)
    assert made["state"] == tmp_path / "state" / "xpstore" / "environments" / "order-desk.sqlite"
    assert made["reader"] is made["keys"] is None


def test_serve_with_all_options(xp, made, tmp_path):
    KeyFile(tmp_path / "k.json").add("desk")
    words = ["-o", "seed=3", "--option", "slip_rate=0.5", "--host", EVERYWHERE, "--port", "0", "--labels"]
    words += [
        "--parallel",
        "2",
        "--queue",
        "0",
        "--time-limit",
        "9.5",
        "--state",
        "s.sqlite",
        "--keys",
        "k.json",
    ]
    code, out, _ = xp("serve", "order-desk", *words, "--json")
    told = json.loads(out)
    assert code == 0
    assert told["version"].startswith("1 seed=3 slip_rate=0.5 ")
    assert (told["url"], told["name"]) == ("http://127.0.0.1:1944", "order-desk")
    assert made["limits"] == Limits(parallel=2, queue=0, time_limit=9.5)
    assert made["state"] == tmp_path / "s.sqlite"
    assert (made["host"], made["port"], made["has_keys"], made["labels"]) == (EVERYWHERE, 0, True, True)


def test_serve_a_class_of_a_file_here_and_keep_nothing(xp, made, tmp_path, monkeypatch):
    monkeypatch.setattr("sys.path", [*__import__("sys").path])
    (tmp_path / "my_own_desk.py").write_text(
        "from tests.env_world import Words\n\n\nclass Desk(Words):\n    name = 'my desk / one'\n", "utf-8"
    )
    assert xp("serve", "my_own_desk:Desk", "-o", "count=2", "--state", "")[0] == 0
    assert made["runtime"].count == 2
    assert made["state"] is None
    assert xp("serve", "my_own_desk:Desk")[0] == 0
    assert made["state"].name == "my-desk-one.sqlite"


@pytest.mark.parametrize(
    ("words", "why"),
    [
        (["moon"], "no environment to serve is called 'moon'"),
        ([WORDS, "-o", "count"], "'count' is no option"),
        ([WORDS, "-o", "moon=1"], "does not take its options"),
        ([WORDS, "--keys", "k.json"], "there is no key in"),
        ([WORDS, "--experiences", "nowhere"], "is in no git repository"),
        ([WORDS, "--port", "70000"], "70000"),
        ([WORDS, "--parallel", "0"], "0"),
        ([WORDS, "--host", EVERYWHERE, "--state", ""], "no key is asked for"),
    ],
)
def test_serve_nothing(xp, words, why):
    code, out, said = xp("serve", *words)
    assert (code, out) == (2, "")
    assert why in said


def test_options_are_json_where_they_can_be():
    given = ["a=1", "b=0.5", "c=true", "d=text", 'e={"f": [1]}', "g=", "h=a=b"]
    assert dict(map(env._option, given)) == {
        "a": 1,
        "b": 0.5,
        "c": True,
        "d": "text",
        "e": {"f": [1]},
        "g": "",
        "h": "a=b",
    }


def test_check(xp, url):
    code, out, _ = xp("check", url, "--split", "test")
    assert code == 0
    assert out.splitlines()[0] == "ok      health: words 1"
    assert len(out.splitlines()) == 10
    code, out, _ = xp("check", url, "--split", "moon", "--json")
    told = json.loads(out)
    assert code == told["exit_code"] == 1
    cases = next(row for row in told["checks"] if row["name"] == "cases")
    assert (cases["ok"], "no split 'moon'" in cases["why"]) == (False, True)


def test_cases(xp, url):
    code, out, said = xp("cases", url, "--split", "test", "--limit", "3")
    assert (code, said) == (0, "3 cases\n")
    assert [case.name for case in read_suite(out.encode(), "here")] == ["test-0", "test-1", "test-2"]
    assert len(json.loads(xp("cases", url, "--json")[1])["cases"]) == 5


def test_cases_with_labels(xp):
    with serving(make_service(Words(), labels=True)) as url:
        assert GOLD not in xp("cases", url)[1]
        assert GOLD in xp("cases", url, "--labels")[1]


def test_a_service_with_keys(xp, tmp_path, monkeypatch):
    file = KeyFile(tmp_path / "k.json")
    monkeypatch.setenv("DESK_KEY", file.add("desk"))
    with serving(make_service(Words(), keys=file)) as url:
        code, _, said = xp("cases", url)
        assert code == 1
        assert "answered 401" in said
        assert xp("cases", url, "--key-variable", "DESK_KEY")[0] == 0
    code, _, said = xp("cases", url, "--key-variable", "MOON_KEY")
    assert (code, "MOON_KEY is not set" in said) == (2, True)
