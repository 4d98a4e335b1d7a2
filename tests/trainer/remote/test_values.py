from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from trainer.domain import Case, Rubric, RubricCriterion
from trainer.remote.protocol import PolicyJson, PolicySetJson
from trainer.remote.values import (
    LABELS,
    case_id,
    experience_set,
    is_of,
    policy_set_json,
    sent_case,
    unlabelled,
)
from xpstore.errors import UsageError
from xpstore.experience import Experience, ExperienceSet

GOLD = "the gold answer"
CASE = Case(
    name="a",
    task_signature="desk",
    input={
        "user_query": "please",
        "world": {"orders": []},
        "note": "of the suite's author",
        **dict.fromkeys(LABELS, GOLD),
    },
    rubric=Rubric(
        name="r",
        description="How it is judged.",
        criteria=(RubricCriterion(name="c", weight=2, metadata={"expected": GOLD, "by": "me"}),),
        metadata={"ground_truth": GOLD},
    ),
    metadata={"split": "train", "gold": GOLD, "author": "me"},
)
PAGES = {
    "plain": "Just text.\n",
    "front": "---\nname: front\ndescription: When asked\nalways: true\n---\n\n- Do it.\n",
    "windows": "---\r\ndescription: x\r\n---\r\n- a\r\n",
    "draft": "---\nstatus: draft\n---\n- a\n",
    "broken": "---\nname: [\n---\n- a\n",
    "bom": "\ufeff---\ndescription: x # why\n---\n- ü\n",
    "rule": "---\nprose below a rule\n---\n",
    "empty": "",
}


def test_a_service_is_sent_what_is_on_the_list():
    sent = sent_case(CASE, ("world",))
    assert sent.input == {"user_query": "please", "world": {"orders": []}}
    assert sent.metadata == {"split": "train"}
    assert (sent.name, sent.task_signature, sent.rubric.description) == ("a", "desk", "How it is judged.")
    assert sent.rubric.criteria[0].weight == 2


def test_no_label_is_sent_even_if_the_service_asks_for_it():
    assert GOLD not in sent_case(CASE, (*LABELS, "world")).model_dump_json()


def test_who_names_a_field_sends_it():
    sent = sent_case(CASE, ("world",), ("ground_truth",))
    assert sent.input == {"ground_truth": GOLD}


def test_both_sides_have_one_id_whatever_labels_they_know():
    assert case_id(CASE) == case_id(unlabelled(CASE))
    assert GOLD not in unlabelled(CASE).model_dump_json()
    assert unlabelled(CASE).input["note"]
    other = CASE.model_copy(update={"input": {**CASE.input, "user_query": "other"}})
    assert case_id(other) != case_id(CASE)


@pytest.mark.parametrize(
    ("returned", "is_it"),
    [
        ({}, True),
        ({"input": {"user_query": "please", "ground_truth": GOLD}}, True),
        ({"task_signature": ""}, True),
        ({"name": "b"}, False),
        ({"task_signature": "other"}, False),
        ({"input": {"user_query": "other"}}, False),
    ],
)
def test_whose_rollout_came_back(returned, is_it):
    sent = sent_case(CASE, ()).case()
    assert is_of(sent.model_copy(update=returned), sent) is is_it


def round_trip(policies):
    there = PolicySetJson.model_validate_json(
        policy_set_json(ExperienceSet(root_uri="experiences", policies=policies)).model_dump_json()
    )
    return there, experience_set(there, "abc")


def test_the_pages_arrive_byte_by_byte():
    policies = tuple(Experience(name=name, text=text) for name, text in PAGES.items())
    there, back = round_trip(policies)
    assert [(p.name, p.text) for p in back.policies] == list(PAGES.items())
    assert back.snapshot_id == "abc"
    assert there.is_pinned
    by_name = {p.name: p for p in there.policies}
    assert by_name["front"].content == "\n- Do it.\n"
    assert by_name["front"].metadata["always"] is True
    assert by_name["front"].uri == "experiences/front.md"
    assert (by_name["draft"].status, by_name["broken"].status) == ("draft", "draft")


@given(st.text(max_size=80))
def test_any_page_arrives(text):
    _, back = round_trip((Experience(name="a", text=text),))
    assert back.policies[0].text == text


def test_no_page_is_a_set_too():
    there, back = round_trip(())
    assert there.is_pinned
    assert back.policies == ()


def test_a_client_that_sends_the_fields_of_the_rfc():
    fields = PolicyJson(name="a", content="- Do it.\n", status="staging", metadata={"description": "When"})
    whole = PolicyJson(name="b", content=PAGES["front"])
    one, two = experience_set(PolicySetJson(policies=(fields, whole)), "").policies
    assert (one.status, one.description, one.content) == ("staging", "When", "- Do it.\n")
    assert two.text == PAGES["front"]


@pytest.mark.parametrize("name", ["../x", "", "a\nb", "a/b", "CON"])
def test_a_name_that_no_page_has(name):
    with pytest.raises(UsageError):
        experience_set(PolicySetJson(policies=(PolicyJson(name=name, content=""),)), "")


def test_two_pages_of_one_name():
    page = PolicyJson(name="a", content="")
    with pytest.raises(UsageError, match="two experiences are called 'a'"):
        experience_set(PolicySetJson(policies=(page, page)), "")
