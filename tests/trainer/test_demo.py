from __future__ import annotations

import json

import pytest

from tests.builders import git
from trainer import demo
from trainer.environments.order_desk import make, suites
from trainer.environments.order_desk.rules import Forbidden
from trainer.offline.grammar import Avoid, parse_lesson
from trainer.suite import read_suite
from xpstore.document import Document
from xpstore.errors import RepositoryError


def test_the_cases_are_those_of_the_seed_that_the_sample_names():
    source = demo.source_of(None)
    seed = source.config.environment.options["seed"]
    assert {name: read_suite(source.files[f"cases/{name}.jsonl"], name) for name in source.suites} == suites(
        seed
    )


def test_another_seed_is_another_company_with_the_same_pages():
    source, other = demo.source_of(None), demo.source_of(3)
    assert other.config.environment.options == {**source.config.environment.options, "seed": 3}
    assert other.names == source.names == ["app-orders", "cancel-order", "words-for-customers"]
    assert read_suite(other.files["cases/test.jsonl"], "test") == suites(3)["test"]


def test_no_case_tells_a_rule_or_what_is_wanted():
    source = demo.source_of(None)
    for name in source.suites:
        for case in read_suite(source.files[f"cases/{name}.jsonl"], name):
            assert case.input.keys() == {"request", "now", "wish", "world"}


def test_one_of_the_first_pages_is_wrong():
    source = demo.source_of(None)
    company = make(source.config.environment.options)
    said = {
        name: [
            lesson
            for statement in Document.parse(source.files[f"experiences/{name}.md"].decode()).statements()
            if (lesson := parse_lesson(statement.key))
        ]
        for name in source.names
    }
    forbidding = [lesson for lessons in said.values() for lesson in lessons if isinstance(lesson, Avoid)]
    assert forbidding == said["app-orders"]
    assert not any(
        isinstance(rule, Forbidden) and rule.tool == "grant_discount" and rule.field == "channel"
        for rule in company.policy.rules
    )


def test_the_store_has_the_sample_and_nothing_else(tmp_path):
    loc = demo.make(tmp_path / "d", seed=3)
    assert loc.config.environment.options["seed"] == 3
    assert git(tmp_path / "d", "status", "--porcelain") == ""
    assert git(tmp_path / "d", "ls-files").split() == [
        "README.md",
        "cases/gate.jsonl",
        "cases/test.jsonl",
        "cases/train.jsonl",
        "experiences/app-orders.md",
        "experiences/cancel-order.md",
        "experiences/words-for-customers.md",
        "xp.toml",
    ]


def test_an_installation_without_the_sample_says_so(tmp_path, monkeypatch):
    monkeypatch.setattr(demo.trainer, "__file__", str(tmp_path / "trainer" / "__init__.py"))
    monkeypatch.setattr(demo, "files", lambda _: tmp_path)
    with pytest.raises(RepositoryError, match="the sample files are not in"):
        demo.sample()
    (tmp_path / "sample").mkdir()
    assert demo.sample() == tmp_path / "sample"


def test_the_recordings_beside_the_sample_are_no_part_of_it():
    assert [name.rstrip("/") for name in demo.source_of(None).left_out] == ["rollouts"]
    line = (demo.sample() / "rollouts" / "returns.jsonl").read_text(encoding="utf-8").splitlines()[0]
    assert json.loads(line)["messages"]
