from __future__ import annotations

import hashlib

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from trainer.service.tool_results import LONGEST, PREVIEW, TOGETHER, set_aside

BASE = "viking://user/u/sessions/s"


def message(*outputs, **more):
    parts = [
        {"type": "tool", "tool_id": f"t{n}", "tool_output": text, **more} for n, text in enumerate(outputs)
    ]
    return {"role": "assistant", "parts": [{"type": "text", "text": "x" * 50_000}, *parts]}


def test_an_output_that_fits_stays():
    small = message("x" * LONGEST, "y")
    assert set_aside(small, BASE) == (small, ())


def test_a_large_output_leaves_a_preview_and_a_reference():
    text = "A" * 30_000
    kept, (result,) = set_aside(message(text, "small"), BASE)
    digest = hashlib.sha256(text.encode()).hexdigest()
    assert (result.id, result.text) == (f"tr_t0_{digest[:16]}", text)
    part = kept["parts"][1]
    assert len(part["tool_output"]) == part["tool_output_preview_chars"] <= PREVIEW
    assert "28200 characters are kept aside" in part["tool_output"]
    assert part["tool_output_storage_uri"] == f"{BASE}/tool-results/{result.id}"
    assert (part["tool_output_original_chars"], part["tool_output_sha256"]) == (30_000, digest)
    assert "tool_output_mime_type" not in part
    assert kept["parts"][2]["tool_output"] == "small"
    assert set_aside(kept, BASE) == (kept, ())


def test_json_is_said_to_be_json():
    kept, (result,) = set_aside(message('["' + "a" * 30_000 + '"]'), BASE)
    assert kept["parts"][1]["tool_output_mime_type"] == result.mime_type == "application/json"


def test_of_many_outputs_the_longest_go_first():
    kept, results = set_aside(message(*["x" * 19_000] * 5, "y" * 19_500), BASE)
    assert [r.text[0] for r in results] == ["y"]
    assert sum(len(p["tool_output"]) for p in kept["parts"][1:]) <= TOGETHER


@pytest.mark.parametrize("tool_id", ["../../etc/passwd", "a/b", "\x1b[2J", "x" * 1_000, "", "名"])
def test_an_id_is_a_name_and_no_path(tool_id):
    _, (result,) = set_aside(message("x" * 30_000, tool_id=tool_id), BASE)
    assert result.id.replace("_", "").replace("-", "").isalnum()
    assert len(result.id) < 100


def test_who_claims_that_an_output_is_aside_is_not_believed():
    _, results = set_aside(message("x" * 30_000, tool_output_ref="tr_mine"), BASE)
    assert len(results) == 1


@settings(max_examples=40, deadline=None)
@given(st.lists(st.integers(0, 60_000), max_size=12))
def test_whatever_comes_no_message_has_more_than_it_may(sizes):
    kept, results = set_aside(message(*("x" * size for size in sizes)), BASE)
    outputs = [part["tool_output"] for part in kept["parts"][1:]]
    assert all(len(text) <= LONGEST for text in outputs)
    assert sum(map(len, outputs)) <= TOGETHER
    assert {len(r.text) for r in results} <= set(sizes)
