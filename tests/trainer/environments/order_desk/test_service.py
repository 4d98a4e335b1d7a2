from __future__ import annotations

import pytest

from trainer.env_kit.runtime import CaseQuery
from trainer.environments.order_desk import make, suites
from trainer.environments.order_desk.service import CASE_INPUT, make_runtime
from trainer.remote.values import LABELS
from xpstore.errors import UsageError

DESK = make_runtime()


def test_its_cases_are_those_of_its_seed():
    found = suites(7)
    for split in ("train", "gate", "test"):
        assert DESK.cases(CaseQuery(split=split)) == found[split]
    everything = DESK.cases(CaseQuery(dataset="order-desk", domain="order-desk"))
    assert len({case.name for case in everything}) == len(everything) == sum(map(len, found.values()))
    assert make_runtime(seed=3).cases(CaseQuery(split="test")) == suites(3)["test"]


@pytest.mark.parametrize(
    "query",
    [
        CaseQuery(split="moon"),
        CaseQuery(domain="airline"),
        CaseQuery(dataset="tau2"),
        CaseQuery(filters={"a": 1}),
    ],
)
def test_a_slice_that_there_is_not(query):
    with pytest.raises(UsageError):
        DESK.cases(query)


def test_what_a_case_is_made_of_has_no_label():
    assert set(CASE_INPUT) == suites(7)["train"][0].input.keys()
    assert not LABELS & set(CASE_INPUT)


def test_its_version_changes_whenever_a_score_could():
    assert make({}).code in DESK.version
    assert len({make_runtime(**o).version for o in ({}, {"seed": 3}, {"slip_rate": 0.5}, {"turns": 9})}) == 4
