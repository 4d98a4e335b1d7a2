from __future__ import annotations

from pathlib import Path

from tests.returns_desk import lines

SAMPLE = Path(__file__).resolve().parent.parent / "sample_repo/rollouts/returns.jsonl"


def test_the_sample_is_what_the_rules_make():
    assert SAMPLE.read_text(encoding="utf-8") == lines()
