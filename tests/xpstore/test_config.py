from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from xpstore import config
from xpstore.config import FORMAT, StoreConfig, adapted, parse_config, parse_template, render_config
from xpstore.errors import FormatError
from xpstore.settings import DuplicateSettings, EnvironmentSettings, EvaluationSettings, GatePolicy, Limits

MINIMAL = 'format = 1\nid = "ab12"\n'


def test_what_is_not_said_has_a_default():
    assert parse_config(MINIMAL, "xp.toml") == StoreConfig(
        format=1, id="ab12", name="", main="main", limits=Limits()
    )
    assert (Limits().items_per_plan, Limits().deletes_per_plan) == (50, 5)
    assert (Limits().file_bytes, Limits().file_lines) == (65536, 1000)
    config = parse_config(MINIMAL, "xp.toml")
    assert (config.environment.name, config.environment.options) == ("", {})
    assert (config.evaluation.trials, config.evaluation.seed) == (4, 1)


def test_the_options_of_an_environment_are_handed_over_as_they_stand():
    text = """
[environment]
name = "order-desk"
[environment.options]
seed = 7
slip_rate = 0.1
"no such key, surely" = [1, "two", { three = true }]
[environment.options.deep.er]
x = "y"
[evaluation]
trials = 8
seed = 0
"""
    config = parse_config(MINIMAL + text, "xp.toml")
    assert config.environment.name == "order-desk"
    assert config.environment.options == {
        "seed": 7,
        "slip_rate": 0.1,
        "no such key, surely": [1, "two", {"three": True}],
        "deep": {"er": {"x": "y"}},
    }
    assert config.evaluation == EvaluationSettings(trials=8, seed=0)
    assert parse_config(render_config(config), "xp.toml") == config
    assert isinstance(hash(config), int)


def test_every_key_is_written_with_a_comment():
    text = render_config(StoreConfig(1, "ab12", "退款", "trunk", Limits(items_per_plan=7)))
    assert 'name = "退款"' in text
    assert "items_per_plan = 7  # " in text
    keys = [line for line in text.split("\n") if " = " in line]
    lines = text.split("\n")
    assert all("# " in line or lines[lines.index(line) - 1].startswith("# ") for line in keys)
    assert "name =" not in render_config(StoreConfig(1, "ab12"))


IDS = st.from_regex(r"[0-9a-f]{8,40}", fullmatch=True)
NAMES = st.sampled_from(["", "refund", "退款", "می‌روم"])
BRANCHES = st.sampled_from(["main", "trunk", "a/b", "退款", "release-1.0", 'quo"te'])


JSON = st.recursive(
    st.text() | st.integers() | st.booleans() | st.floats(allow_nan=False, allow_infinity=False),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(), inner, max_size=3),
    max_leaves=6,
)
ENVIRONMENTS = st.builds(EnvironmentSettings, st.text(), st.dictionaries(st.text(), JSON, max_size=4))


CONFIGS = st.builds(
    StoreConfig,
    st.just(FORMAT),
    IDS,
    NAMES,
    BRANCHES,
    st.builds(Limits, *[st.integers(0, 10**9)] * 4),
    ENVIRONMENTS,
    st.builds(EvaluationSettings, st.integers(1, 99), st.integers(0, 10**9)),
    st.builds(
        GatePolicy,
        suite=st.text(),
        trials=st.integers(1, 10_000),
        alpha=st.floats(1e-6, 0.5),
        margin=st.floats(0, 1),
        inconclusive=st.sampled_from(["hold", "land"]),
        leaks=st.sampled_from(["refuse", "warn"]),
    ),
    duplicates=st.builds(
        DuplicateSettings,
        threshold=st.floats(0.3, 1),
        action=st.sampled_from(["warn", "refuse", "ignore"]),
    ),
)


@settings(max_examples=50, deadline=None)
@given(CONFIGS)
def test_what_is_written_reads_back(value):
    assert parse_config(render_config(value), "xp.toml") == value


@pytest.mark.parametrize(
    ("text", "problem", "hint"),
    [
        ("format = ", "xp.toml", "TOML"),
        ("", "`format` must be a whole number", "format = 1"),
        ('format = "1"\n', "`format`", "format = 1"),
        ("format = true\n", "`format`", "format = 1"),
        ("format = 99\n", "format 99 is newer", "upgrade"),
        ("format = 0\n", "format 0 is unknown", "format = 1"),
        ("format = 1\n", "`id` is ''", "git"),
        ("format = 1\nid = 5\n", "`id` is 5", "git"),
        ('format = 1\nid = "a b"\n', "`id`", "git"),
        (MINIMAL + 'nam = "x"\n', "unknown key `nam`", "did you mean `name`"),
        (MINIMAL + "zzz = 1\n", "unknown key `zzz`", "known keys: format, id"),
        (MINIMAL + "[limits]\nitem_per_plan = 1\n", "unknown key `limits.item_per_plan`", "items_per_plan"),
        (MINIMAL + '[limits]\nitems_per_plan = "5"\n', "limits.items_per_plan", "default is 50"),
        (MINIMAL + "[limits]\nitems_per_plan = -1\n", "limits.items_per_plan", "default is 50"),
        (MINIMAL + "[limits]\nitems_per_plan = true\n", "limits.items_per_plan", "default is 50"),
        (MINIMAL + "[duplicates]\nthreshold = 0.1\n", "a number, 0.3 or more", "default is 0.8"),
        (MINIMAL + "[duplicates]\naction = 'stop'\n", "one of warn, refuse, ignore", "default is"),
        (MINIMAL + "[environment]\nnam = 'x'\n", "unknown key `environment.nam`", "name"),
        (MINIMAL + "[environment]\nname = 3\n", "`environment.name` is 3", "text"),
        (MINIMAL + "[environment]\noptions = 3\n", "`environment.options` is not a table", "options]"),
        (MINIMAL + "environment = 3\n", "`environment` is not a table", "[environment]"),
        (MINIMAL + "[environment.options.a]\nday = 2026-01-01\n", "environment.options.a.day", "as text"),
        (MINIMAL + "[environment.options]\nx = [inf]\n", "`environment.options.x` is inf", "as text"),
        (MINIMAL + f"[environment.options{'.a' * 999}]\n", "too deeply nested", "16 levels"),
        (MINIMAL + "[evaluation]\ntrials = 0\n", "it must be a whole number, 1 or more", "default is 4"),
        (MINIMAL + "[evaluation]\ntrials = 10001\n", "it must be a whole number, 10000 or less", "is 4"),
        (MINIMAL + "[evaluation]\nseeds = 1\n", "unknown key `evaluation.seeds`", "did you mean `seed`"),
        (
            MINIMAL + "[gate]\nalpha = 0.7\n",
            "`gate.alpha` is 0.7, it must be a number, 0.5 or less",
            "0.0425",
        ),
        (
            MINIMAL + "[gate]\nalpha = nan\n",
            "`gate.alpha` is nan, it must be a number, 1e-06 or more",
            "0.0425",
        ),
        (MINIMAL + "[gate]\nmargin = -1\n", "it must be a number, 0 or more", "0.1"),
        (MINIMAL + "[gate]\nmargin = true\n", "it must be a number, 0 or more", "0.1"),
        (MINIMAL + "[gate]\nsuite = 1\n", "`gate.suite` is 1, it must be of type str", '"gate"'),
        (MINIMAL + '[gate]\ninconclusive = "drop"\n', "must be one of hold, land", '"hold"'),
        (MINIMAL + "[gate]\nleaks = []\n", "must be one of refuse, warn", '"refuse"'),
        (MINIMAL + "limits = 3\n", "`limits` is not a table", "[limits]"),
        (MINIMAL + 'name = "a/b"\n', "`name`", "letters"),
        (MINIMAL + "name = 3\n", "`name`", "text"),
        (MINIMAL + 'main = ""\n', "`main`", "branch"),
        (MINIMAL + 'main = "a..b"\n', "`main`", "branch"),
        (MINIMAL + 'main = "-x"\n', "`main`", "branch"),
        (MINIMAL + 'main = "HEAD"\n', "`main`", "branch"),
        (MINIMAL + 'main = "a b"\n', "`main`", "branch"),
        (MINIMAL + 'main = "x.lock"\n', "`main`", "branch"),
        (MINIMAL + 'main = "a/"\n', "`main`", "branch"),
        (MINIMAL + 'main = "a\\nb"\n', "`main`", "branch"),
    ],
)
def test_errors_say_where_and_what_to_do(text, problem, hint):
    with pytest.raises(FormatError) as caught:
        parse_config(text, "agents/xp.toml" if "xp.toml" not in problem else "xp.toml")
    assert problem in caught.value.message
    assert "xp.toml" in caught.value.message
    assert hint in caught.value.hint


def test_an_older_format_is_read_through_its_upcaster(monkeypatch):
    monkeypatch.setitem(config.UPCASTERS, 0, lambda data: {"format": 1, "id": data["uuid"]})
    assert parse_config('format = 0\nuuid = "ab12"\n', "xp.toml") == StoreConfig(1, "ab12")


def test_a_template_needs_neither_format_nor_id_and_is_read_as_strictly():
    template = parse_template("[evaluation]\ntrials = 8\n", "xp.toml")
    assert template == StoreConfig(1, "0", evaluation=EvaluationSettings(trials=8))
    assert parse_template("", "xp.toml") == StoreConfig(1, "0")
    with pytest.raises(FormatError, match=r"unknown key `evaluation\.trial`"):
        parse_template("[evaluation]\ntrial = 8\n", "xp.toml")
    with pytest.raises(FormatError, match="newer"):
        parse_template("format = 2\n", "xp.toml")


def test_an_adapted_template_keeps_what_people_wrote():
    text = 'main = "trunk"\n\n# Eight, because the desk is noisy.\n[evaluation]\ntrials = 8\n'
    config = StoreConfig(1, "ab12", "desk", "trunk", evaluation=EvaluationSettings(trials=8))
    made = adapted(text, config)
    assert parse_config(made, "xp.toml") == config
    assert made.endswith(text)
    assert 'id = "ab12"' in made
    assert 'name = "desk"' in made


@pytest.mark.parametrize("text", ["", MINIMAL, 'id = "of another store"\n', 'main = "other"\n'])
def test_a_template_that_says_something_else_is_written_anew(text):
    config = StoreConfig(1, "cd34")
    assert parse_config(adapted(text, config), "xp.toml") == config
    assert adapted(text, config) == render_config(config)


def test_a_gate_has_thresholds_and_a_whole_number_is_a_number():
    policy = parse_config(MINIMAL + "[gate]\nmargin = 0\ntrials = 8\n", "xp.toml").gate
    assert policy == GatePolicy(margin=0.0, trials=8)
    assert type(policy.margin) is float
    assert (policy.suite, policy.alpha, policy.min_discordant, policy.inconclusive) == (
        "gate",
        0.0425,
        5,
        "hold",
    )
