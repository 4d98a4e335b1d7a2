from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.tau2_tasks import SECRETS, task, task_set
from trainer.domain import Case
from trainer.environments.tau2.tasks import basis_of, folder_of, public_id, read_tasks, user_query
from xpstore.errors import UsageError

if TYPE_CHECKING:
    from pathlib import Path


def test_a_case_says_which_task_it_is_and_nothing_of_how_it_should_end():
    tasks = task_set()
    for split in tasks.splits:
        for case in tasks.cases(split):
            text = case.model_dump_json()
            assert not [secret for secret in (*SECRETS, "sim_card") if secret in text]
    case = tasks.cases("test")[0]
    assert case.name == "tau2_airline_test_0"
    assert case.task_signature == "tau2:airline:test:2"
    assert case.input == {
        "domain": "airline",
        "split": "test",
        "task_id": "2",
        "task_no": 0,
        "user_query": "You want to change flight 2.",
    }
    assert case.metadata == {
        "dataset": "tau2",
        "domain": "airline",
        "source": "tau2",
        "split": "test",
        "tau2": "x 1",
    }
    assert [c.name for c in case.rubric.criteria] == ["tau2_reward", "database", "communicated"]


def test_labels_are_for_training_alone():
    tasks = task_set()
    [case] = tasks.cases("train", labels=True)
    assert case.input["expected_actions"] == [{"name": "book", "arguments": {"id": "GOLD77"}}]
    for split in ("test", "base"):
        assert all("GOLD77" not in case.model_dump_json() for case in tasks.cases(split, labels=True))


def test_a_case_is_found_again_and_another_one_is_none():
    tasks = task_set()
    for split in tasks.splits:
        for case, task_id in zip(tasks.cases(split), tasks.ids(split), strict=True):
            assert tasks.task_of(case)["id"] == task_id
            assert tasks.split_of(case) == split
    [case] = tasks.cases("train")
    for other in (
        case.model_copy(update={"name": "tau2_airline_train_7"}),
        Case(name=case.name, task_signature="tau2:airline:train:2", rubric=case.rubric),
    ):
        with pytest.raises(UsageError):
            tasks.task_of(other)


def test_a_split_that_there_is_not():
    with pytest.raises(UsageError, match="no split 'gate'"):
        task_set().cases("gate")


def test_ids_that_say_what_to_do_are_hidden():
    assert public_id("17") == "17"
    hidden = public_id("[mms_issue]airplane_mode_on")
    assert hidden.startswith("t-")
    assert "airplane" not in hidden
    assert hidden != public_id("[mms_issue]airplane_mode_off")


def test_scenarios_of_one_text_and_of_none():
    assert user_query({"user_scenario": {"instructions": "Do it."}}) == "Do it."
    assert user_query({"user_scenario": None}) == ""


def test_what_counts_where_a_task_does_not_say():
    assert basis_of({}) == []
    assert basis_of({"evaluation_criteria": {"actions": []}}) == ["DB", "COMMUNICATE"]


def test_tasks_of_a_folder(tmp_path: Path):
    (tmp_path / "tasks.json").write_text(json.dumps([task("1"), task("2")]), "utf-8")
    tasks, splits, digest = read_tasks(tmp_path)
    assert (list(tasks), splits, len(digest)) == (["1", "2"], {"base": ["1", "2"]}, 64)
    (tmp_path / "split_tasks.json").write_text('{"test": ["2"]}', "utf-8")
    assert read_tasks(tmp_path)[1] == {"test": ["2"], "base": ["1", "2"]}


@pytest.mark.parametrize(
    ("tasks", "splits"),
    [
        (None, None),
        ("{}", None),
        ("[[", None),
        ("[" * 100_000, None),
        ('[{"id": 3}]', None),
        ('[{"id": "3"}]', '{"test": ["4"]}'),
        ('[{"id": "3"}]', "[]"),
        ('[{"id": "3"}]', '{"test": []}'),
    ],
)
def test_a_folder_with_something_else_is_an_error_that_names_the_file(
    tmp_path: Path, tasks: str | None, splits: str | None
):
    if tasks is not None:
        (tmp_path / "tasks.json").write_text(tasks, "utf-8")
    if splits is not None:
        (tmp_path / "split_tasks.json").write_text(splits, "utf-8")
    with pytest.raises(UsageError, match=r"tasks\.json"):
        read_tasks(tmp_path)


def test_the_folder_of_a_domain(tmp_path: Path):
    for place in ("airline", "tau2/domains/retail", "domains/mock"):
        (tmp_path / place).mkdir(parents=True)
        (tmp_path / place / "tasks.json").write_text("[]", "utf-8")
    assert folder_of(tmp_path, "airline") == tmp_path / "airline"
    assert folder_of(tmp_path, "retail") == tmp_path / "tau2" / "domains" / "retail"
    assert folder_of(tmp_path, "mock") == tmp_path / "domains" / "mock"
    assert folder_of(tmp_path, "telecom") is None
    assert folder_of(tmp_path / "airline", "airline") == tmp_path / "airline"
    assert folder_of(tmp_path / "airline", "retail") is None
