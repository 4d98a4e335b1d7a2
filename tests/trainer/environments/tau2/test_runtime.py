from __future__ import annotations

import pytest

from trainer.env_kit.runtime import CaseQuery
from trainer.environments.tau2 import guard
from trainer.environments.tau2.runtime import make, make_runtime
from xpstore.errors import UsageError

here = pytest.mark.skipif(not guard.is_here(), reason="`make tau2` runs this where tau2-bench is")


@pytest.mark.skipif(guard.is_here(), reason="tau2-bench is here")
def test_without_tau2_it_says_what_is_missing():
    with pytest.raises(UsageError, match="not installed") as caught:
        make_runtime(agent_model="m")
    assert "make tau2-parts" in caught.value.hint


def test_wrong_options_are_told_first():
    with pytest.raises(ValueError, match="agent_modle"):
        make({"agent_modle": "m"}, {})


@here
@pytest.mark.tau2
def test_a_folder_without_tasks_is_not_passed_over(tmp_path):
    with pytest.raises(UsageError, match="no tasks in"):
        make({"data": str(tmp_path)}, {})


@here
@pytest.mark.tau2
def test_queries():
    runtime = make({}, {})
    assert len(runtime.cases(CaseQuery(domain="airline", split="test"))) == 20
    assert len(runtime.cases(CaseQuery(dataset="tau2", domain="telecom"))) == 74
    for query, why in (
        (CaseQuery(dataset="tau1", domain="airline"), "dataset"),
        (CaseQuery(), "domain"),
        (CaseQuery(domain="hotel"), "domain"),
        (CaseQuery(domain="mock", split="test"), "split"),
        (CaseQuery(domain="airline", filters={"easy": True}), "filter"),
        (CaseQuery(domain="airline", filters={"expected_actions": True}), "labels"),
    ):
        with pytest.raises(UsageError, match=why):
            runtime.cases(query)


@here
@pytest.mark.tau2
def test_labels_where_the_service_gives_them():
    runtime = make({"train_labels": "yes"}, {})
    wanted = {"expected_actions": True}
    train = runtime.cases(CaseQuery(domain="airline", split="train", filters=wanted))
    assert all("expected_actions" in case.input for case in train)
    for split in ("test", "base"):
        cases = runtime.cases(CaseQuery(domain="airline", split=split, filters=wanted))
        assert not any("expected_actions" in case.input for case in cases)
    assert not any("expected_actions" in case.input for case in runtime.cases(CaseQuery(domain="airline")))
