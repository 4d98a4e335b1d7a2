from __future__ import annotations

import json
from typing import Annotated, Literal

import pytest
from pydantic import Field, ValidationError

from trainer.asking.form import MOST_PROBLEMS, problems_of, schema_of, schema_text
from xpstore.model import Frozen

Short = Annotated[str, Field(max_length=9)]


class Inner(Frozen):
    title: Short
    rank: int | None = Field(default=None, ge=0, le=5)


class Outer(Frozen):
    """What is told."""

    kind: Literal["a", "b"]
    items: tuple[Inner, ...] = Field(max_length=3)
    one: Inner = Inner(title="x")
    properties: Short = ""
    sure: bool = True


def test_a_form_is_strict_and_stands_by_itself():
    assert schema_of(Outer) == {
        "type": "object",
        "description": "What is told.",
        "additionalProperties": False,
        "required": ["kind", "items", "one", "properties", "sure"],
        "properties": {
            "kind": {"enum": ["a", "b"], "type": "string"},
            "items": {"type": "array", "maxItems": 3, "items": inner()},
            "one": inner(),
            "properties": {"type": "string", "maxLength": 9},
            "sure": {"type": "boolean"},
        },
    }
    assert json.loads(schema_text(Outer)) == schema_of(Outer)


def inner() -> dict[str, object]:
    rank = {"anyOf": [{"type": "integer", "minimum": 0, "maximum": 5}, {"type": "null"}]}
    return {
        "type": "object",
        "additionalProperties": False,
        "required": ["title", "rank"],
        "properties": {"title": {"type": "string", "maxLength": 9}, "rank": rank},
    }


class Text(Frozen):
    inside: tuple[str, ...] = Field(max_length=2)


class Items(Frozen):
    items: tuple[Short, ...]


class Number(Frozen):
    count: int = Field(ge=0)


class Share(Frozen):
    share: float = Field(ge=0, le=1)


class Anything(Frozen):
    values: dict[str, Short]


class Tree(Frozen):
    children: tuple[Tree, ...] = Field(max_length=2)


@pytest.mark.parametrize(
    ("form", "problem"),
    [
        (Text, r"Text\.inside\[\] has no maxLength"),
        (Items, r"Items\.items has no maxItems"),
        (Number, r"Number\.count has no minimum or maximum"),
        (Share, r"Share\.share is a float"),
        (Anything, r"Anything\.values is an object of any form"),
        (Tree, "Tree contains itself"),
    ],
)
def test_a_form_without_bounds_is_a_mistake(form, problem):
    with pytest.raises(TypeError, match=problem):
        schema_of(form)


def test_problems_name_the_place_and_not_the_value():
    with pytest.raises(ValidationError) as caught:
        Outer.model_validate({"kind": "hidden", "items": [{"title": "hidden value"}]})
    assert problems_of(caught.value) == [
        "kind: Input should be 'a' or 'b'",
        "items.0.title: String should have at most 9 characters",
    ]


def test_of_many_problems_some_are_told():
    with pytest.raises(ValidationError) as caught:
        Inner.model_validate({"title": "x", **{f"extra {n}": n for n in range(20)}})
    told = problems_of(caught.value)
    assert (len(told), told[-1]) == (MOST_PROBLEMS + 1, "and 12 more")
