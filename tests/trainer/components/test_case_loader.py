from __future__ import annotations

import asyncio

import pytest

from tests.trainer.doubles import rollout
from trainer.components.case_loader import ListCaseLoader
from trainer.context import CaseLoadContext, PipelineContext

CASES = [rollout(name).case for name in "abcde"]


def batches(loader, limit=None):
    async def read():
        context = PipelineContext(case_load_context=CaseLoadContext(limit=limit))
        return [[case.name for case in batch] async for batch in loader.batches(context)]

    return asyncio.run(read())


@pytest.mark.parametrize(
    ("size", "limit", "expected"),
    [
        (2, None, [["a", "b"], ["c", "d"], ["e"]]),
        (None, None, [["a", "b", "c", "d", "e"]]),
        (9, None, [["a", "b", "c", "d", "e"]]),
        (2, 3, [["a", "b"], ["c"]]),
        (None, 0, []),
    ],
)
def test_batches_in_order_from_the_beginning_each_time(size, limit, expected):
    loader = ListCaseLoader(CASES, batch_size=size)
    assert batches(loader, limit) == expected
    assert batches(loader, limit) == expected


def test_no_cases_no_batches():
    assert batches(ListCaseLoader([], batch_size=3)) == []


def test_a_batch_has_at_least_one_case():
    with pytest.raises(ValueError, match="not 0"):
        ListCaseLoader(CASES, batch_size=0)
