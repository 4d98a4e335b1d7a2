"""The RFC's own examples (§15.6), read and written again."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from trainer.importers import rollout_json
from trainer.remote.client import HttpError
from trainer.remote.protocol import (
    CaseJson,
    CasePage,
    CasesQuery,
    ExecuteRequest,
    Execution,
    Health,
    PolicySetJson,
    read_wire,
)

GOLDEN = Path(__file__).parents[1] / "golden"
FORMS = {
    "cases_query": CasesQuery,
    "cases_page": CasePage,
    "execute_request": ExecuteRequest,
    "execution_submitted": Execution,
    "execution_running": Execution,
    "execution_completed": Execution,
    "execution_failed": Execution,
}


def golden(name):
    return json.loads((GOLDEN / f"{name}.json").read_text("utf-8"))


def test_every_example_is_tried():
    assert {path.stem for path in GOLDEN.glob("*.json")} >= FORMS.keys()


@pytest.mark.parametrize(("name", "form"), FORMS.items())
def test_an_example_is_read_and_written_again(name, form):
    value = golden(name)
    written = form.model_validate(value).model_dump(mode="json")
    assert _within(value, written)


def _within(told, found):
    """Say whether all that was told is there as it was."""
    if isinstance(told, dict):
        return isinstance(found, dict) and all(k in found and _within(v, found[k]) for k, v in told.items())
    if isinstance(told, list):
        return len(told) == len(found) and all(map(_within, told, found))
    return told == found


@pytest.mark.parametrize(("name", "form"), FORMS.items())
def test_fields_of_tomorrow_are_passed_over(name, form):
    value = golden(name)
    assert form.model_validate(_with_more(value)) == form.model_validate(value)


def _with_more(value):
    """Add a field to every object that is a message of the protocol, and not somebody's own data."""
    own = {"input", "metadata", "filters", "options", "rollout"}
    if isinstance(value, dict):
        return {**{k: v if k in own else _with_more(v) for k, v in value.items()}, "of_tomorrow": {"a": [1]}}
    return [_with_more(item) for item in value] if isinstance(value, list) else value


def test_null_is_absent():
    assert Health.model_validate({"status": "ok", "version": None}) == Health()
    assert CaseJson.model_validate({"name": "a", "rubric": {"name": "r", "criteria": None}, "metadata": None})


def test_the_rollout_of_the_example_is_one():
    rollout = rollout_json.read(golden("execution_completed")["rollout"])
    assert rollout.tools[0].tool_name == "get_reservation_details"
    assert rollout.evaluation.score == 0
    assert rollout.metadata["iterations"] == 6


def test_an_empty_list_means_no_experience_where_it_is_said_so():
    assert not PolicySetJson(root_uri="viking://x").is_pinned
    assert PolicySetJson(metadata={"pinned": True}).is_pinned


@pytest.mark.parametrize(
    ("value", "where"),
    [([], "the whole"), ({"cases": [{"name": "a"}]}, "cases.0.rubric"), (None, "the whole")],
)
def test_what_does_not_fit_is_named(value, where):
    with pytest.raises(HttpError, match=rf"here: {where}") as caught:
        read_wire(value, CasePage, "here")
    assert caught.value.kind == "wrong answer"


@pytest.mark.parametrize("limit", [0, -1, 1001])
def test_a_page_has_a_size(limit):
    with pytest.raises(HttpError, match="limit"):
        read_wire({"limit": limit}, CasesQuery, "query")
