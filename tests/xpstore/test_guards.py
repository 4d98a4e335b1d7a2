from __future__ import annotations

import pytest

from tests.builders import page, upsert
from xpstore.config import StoreConfig
from xpstore.errors import LimitError, RefusedError
from xpstore.guards import check_plan, check_twins
from xpstore.plan import PolicyUpdatePlan
from xpstore.settings import Limits

CONFIG = StoreConfig(1, "s", limits=Limits(items_per_plan=1, file_bytes=120, file_lines=9))


def plan(*contents: str, before: str | None = None) -> PolicyUpdatePlan:
    items = tuple(upsert(f"n{i}", c, before) for i, c in enumerate(contents))
    return PolicyUpdatePlan(items=items, store_id="s")


def test_limits_are_those_of_the_store() -> None:
    check_plan(plan(page("n0")), CONFIG)
    check_plan(plan("é" * 60), CONFIG)
    check_plan(plan("\n" * 9), CONFIG)
    for contents, words in (
        (["a", "b"], "items: 2, the limit is 1"),
        (["é" * 61], r"experiences/n0\.md: bytes: 122, the limit is 120"),
        (["\n" * 9 + "x"], "lines: 10"),
    ):
        with pytest.raises(LimitError, match=words):
            check_plan(plan(*contents), CONFIG)


@pytest.mark.parametrize("text", ["👩‍👩‍👧 ok", "می‌خواهم", "🏴󠁧󠁢󠁥󠁮󠁧󠁿", "a\tb", "❤️"])
def test_text_of_every_script_is_fine(text: str) -> None:
    check_plan(plan(text), CONFIG)


@pytest.mark.parametrize("text", ["a\u200bb", "\U000e0041", "a\u2066b", "\x1b[0m", "\ufeffa"])
def test_what_nobody_sees_is_refused_with_its_place(text: str) -> None:
    with pytest.raises(RefusedError, match=r"n0\.md, line 2: invisible text .*U\+"):
        check_plan(plan(f"first\n{text}\n"), CONFIG)
    check_plan(plan(f"first\n{text}\nmore", before=f"x{text}"), CONFIG)


def test_twins() -> None:
    check_twins(["a"], ["b", "a"])
    for twin in ("A", "cafe\u0301"):
        with pytest.raises(RefusedError, match="twin"):
            check_twins(["b", {"A": "a"}.get(twin, "café")], [twin])
