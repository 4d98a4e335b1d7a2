"""What a model is told has a version: recordings and records of plans name it, so one version is one text."""

from __future__ import annotations

import hashlib
from importlib.resources import files

import pytest

from trainer.asking.prompts import parse

PINNED = {
    ("act", 1): "a6168502a920c371",
    ("act_in_text", 1): "9b291b18d9c768e3",
    ("answer", 1): "e864574bf460607f",
    ("case", 1): "d85b5eed437d73a2",
    ("edit", 1): "e61110fb1d9f6f2a",
    ("extract", 1): "65f48b73d3864f10",
    ("judge", 1): "656123aa82316c3e",
    ("merge", 1): "e12919645c81b2bc",
    ("resolve", 1): "ffd25de2e2b8f59b",
}
"""Name and version → the beginning of the SHA-256 of the file."""
FILES = {f.name.removesuffix(".md"): f for f in files("trainer").joinpath("prompts").iterdir()}


def test_every_prompt_is_pinned():
    assert FILES.keys() == {name for name, _ in PINNED}


@pytest.mark.parametrize("name", sorted(FILES))
def test_another_text_is_another_version(name: str):
    text = FILES[name].read_text("utf-8")
    digest = hashlib.sha256(text.encode()).hexdigest()[:16]
    assert PINNED.get((name, parse(text, name).version)) == digest, "give the text a version, and pin it"
