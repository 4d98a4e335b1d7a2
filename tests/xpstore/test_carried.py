from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import make_store, page
from xpstore.carried import Texts, compare, compare_squash
from xpstore.evidence_check import Evidence
from xpstore.hashing import blob_id

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def texts(tmp_path: Path) -> Texts:
    return Texts(Evidence.open(make_store(tmp_path / "s")))


def blob(texts: Texts, *lines: str) -> str:
    text = page("a", *lines)
    texts.known[blob_id(text)] = text
    return blob_id(text)


def test_the_same_blobs_are_no_news(texts: Texts):
    one, two = blob(texts, "One."), blob(texts, "One.", "Two.")
    assert compare({"a": (one, two)}, {"a": (one, two)}, texts).notes == ()
    assert compare_squash([{"a": ("", one)}, {"a": (one, two)}], {"a": ("", two)}, texts).problems == ()


def test_an_edit_on_another_base_is_carried_wherever_it_was_put(texts: Texts):
    one, two = blob(texts, "One."), blob(texts, "One.", "Two.")
    base, merged = blob(texts, "Zero.", "One."), blob(texts, "Two.", "Zero.", "One.")
    found = compare({"a": (one, two)}, {"a": (base, merged)}, texts)
    assert found.problems == ()
    assert found.notes[0].startswith(f"rebased: experiences/a.md was {one[:9]}..{two[:9]}, is")


def test_another_edit_on_another_base_is_an_alteration(texts: Texts):
    one, two = blob(texts, "One."), blob(texts, "One.", "Two.")
    base, other = blob(texts, "Zero.", "One."), blob(texts, "Zero.", "One.", "Three.")
    found = compare({"a": (one, two)}, {"a": (base, other)}, texts)
    assert "experiences/a.md is not what the plan makes of it" in found.problems[0]


def test_another_result_on_the_same_base_is_an_alteration(texts: Texts):
    one, two, three = (blob(texts, x) for x in ("One.", "Two.", "Three."))
    found = compare({"a": (one, two)}, {"a": (one, three)}, texts)
    assert "is not what the plan wrote" in found.problems[0]


def test_pages_too_many_and_too_few_are_named(texts: Texts):
    one = blob(texts, "One.")
    found = compare({"a": ("", one)}, {"b": ("", one)}, texts)
    assert found.problems == (
        "the commit changes experiences/b.md, the plan does not",
        "the plan changes experiences/a.md, the commit does not",
    )


def test_texts_that_are_gone_cannot_be_compared(texts: Texts):
    found = compare({"a": ("1" * 40, "2" * 40)}, {"a": ("3" * 40, "4" * 40)}, texts)
    assert "no longer here" in found.problems[0]


def test_a_squash_of_a_plan_and_its_undo_may_change_nothing(texts: Texts):
    one, two = blob(texts, "One."), blob(texts, "Two.")
    undone = [{"a": (one, two)}, {"a": (two, one)}, {"b": ("", one)}]
    found = compare_squash(undone, {"b": ("", one), "c": ("", two)}, texts)
    assert found.problems == ()
    assert found.notes == ("the commit changes experiences/c.md, which is in none of its plans",)
    lost = compare_squash([{"a": (one, two)}], {}, texts)
    assert lost.problems == (("a", "the plans change experiences/a.md, the commit does not"),)
