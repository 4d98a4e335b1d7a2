from __future__ import annotations

import os
import time

import pytest

from tests.trainer.asking.questions import question
from trainer.asking.abilities import REMEMBERED, Abilities, Ability
from trainer.asking.asker import first_request

PLAIN = Ability("prompt")


@pytest.mark.parametrize(
    ("status", "said", "formed", "expected"),
    [
        (400, "response_format is not supported", True, Ability("json_object")),
        (422, "whatever", True, Ability("json_object")),
        (500, "failed to parse grammar", True, Ability("json_object")),
        (500, "out of memory", True, None),
        (503, "overloaded", True, None),
        (401, "response_format", True, None),
        (0, "", True, None),
        (400, "the context is too long", True, None),
        (400, "max_tokens is too large: the context has 4096 tokens", True, None),
        (400, "max_tokens must be positive", False, None),
        (400, "Unsupported parameter: 'max_tokens'", True, Ability(omit=frozenset({"max_tokens"}))),
        (400, "'temperature' does not support 0", False, Ability(omit=frozenset({"temperature"}))),
        (500, "temperature sensor failed", False, None),
    ],
)
def test_what_is_tried_after_a_refusal(status, said, formed, expected):
    assert Ability().plainer(status, said, formed=formed) == expected


def test_it_comes_to_an_end():
    ability, seen = Ability(), []
    while ability := ability.plainer(
        400, "unknown: max_tokens temperature seed response_format", formed=True
    ):
        seen.append(ability)
    assert seen[-1] == Ability("prompt", frozenset({"max_tokens", "temperature", "seed"}))
    assert len(seen) == 5


def test_a_request_is_written_as_the_endpoint_reads_it():
    request, schema = first_request(question(), "m"), {"type": "object"}
    asked = [
        Ability(mode).applied(request, "extract", schema).response_format
        for mode in ("json_object", "prompt")
    ]
    assert asked == [{"type": "json_object"}, None]
    strict = Ability().applied(request, "extract", schema)
    assert strict.response_format["json_schema"] == {"name": "extract", "strict": True, "schema": schema}
    assert Ability().applied(request, "act", None).response_format is None
    assert strict.digest == PLAIN.applied(request, "extract", schema).digest == request.digest


def test_an_ability_is_remembered_for_its_endpoint_and_model(tmp_path):
    Abilities(tmp_path, "http://u:password@a").learned("m", PLAIN)
    assert Abilities(tmp_path, "http://u:password@a").of("m") == PLAIN
    assert Abilities(tmp_path, "http://u:password@a").of("other") == Ability()
    assert Abilities(tmp_path, "http://b").of("m") == Ability()
    (file,) = tmp_path.iterdir()
    assert "password" not in file.read_text()


def test_it_is_remembered_for_a_week(tmp_path):
    Abilities(tmp_path).learned("m", PLAIN)
    long_ago = time.time() - REMEMBERED - 60
    os.utime(tmp_path / "abilities.json", (long_ago, long_ago))
    assert Abilities(tmp_path).of("m") == Ability()


@pytest.mark.parametrize("text", ["", "[]", "{", '{"x": 1}', '{"x": {"mode": "prompt"}}', "\xff"])
def test_a_damaged_memory_is_none(tmp_path, text):
    (tmp_path / "abilities.json").write_text(text, "latin-1")
    assert Abilities(tmp_path).of("m") == Ability()


def test_without_a_folder_it_is_remembered_for_the_run(tmp_path):
    (tmp_path / "file").write_text("")
    for folder in (None, tmp_path / "file"):
        abilities = Abilities(folder)
        abilities.learned("m", PLAIN)
        assert abilities.of("m") == PLAIN
    assert [f.name for f in tmp_path.iterdir()] == ["file"]
