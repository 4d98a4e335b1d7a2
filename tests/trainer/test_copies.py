from __future__ import annotations

import pytest

from trainer.copies import near_copy
from trainer.domain import Case, Rubric
from trainer.environments.order_desk import suites
from trainer.suite import check_apart
from xpstore.errors import UsageError

REQUEST = "Please tell me why the parcel with my blue lamp has not come yet, I have waited for two weeks now."


def case(name: str, request: str, **more: str) -> Case:
    return Case(name=name, input={"request": request, **more}, rubric=Rubric(name="r"))


def copy_of(one: Case, other: Case, *more: Case) -> bool:
    return near_copy({"train": [one, *more], "gate": [other]}) is not None


@pytest.mark.parametrize(
    "request_",
    [
        REQUEST.replace("lamp", "chair"),
        REQUEST.upper(),
        REQUEST.replace(", ", " ... "),
        f"{REQUEST} Thanks!",
        REQUEST.replace("parcel ", ""),
    ],
)
def test_the_same_request_in_slightly_other_words_is_a_copy(request_):
    assert copy_of(case("a", REQUEST), case("b", request_))
    with pytest.raises(
        UsageError, match="case 'b' of suite 'gate' is a near copy of case 'a' of suite 'train'"
    ):
        check_apart({"train": [case("a", REQUEST)], "gate": [case("b", request_)]})


@pytest.mark.parametrize(
    "request_",
    [
        "Why has my order not come? I have been waiting for the blue lamp since the beginning of the month.",
        "Please tell me how to send back a blue lamp that I have had for two weeks and do not like any more.",
        REQUEST.replace("parcel", "box").replace("yet", "so far").replace("two weeks", "a month"),
        "",
    ],
)
def test_another_request_about_the_same_thing_is_none(request_):
    assert not copy_of(case("a", REQUEST), case("b", request_))


def test_a_pattern_with_other_numbers_is_another_request():
    text = (
        "Hello, I would like to cancel order {} today, and have the money back on my card, please. Thank you."
    )
    assert not copy_of(case("a", text.format("O1111")), case("b", text.format("O2222")))
    assert copy_of(case("a", text.format("O1111")), case("b", text.format("O1111").replace("Hello", "Hi")))


def test_what_all_cases_share_says_nothing():
    policy = "You are a clerk. " * 30
    one, other, third = (case(n, f"{n} wants something", policy=policy) for n in "abc")
    assert not copy_of(one, other, third)
    assert not copy_of(case("a", "cancel it"), case("b", "cancel it now"))


def test_a_copy_is_found_among_many_of_one_pattern():
    def wish(n: int) -> str:
        own = " ".join(f"word{chr(97 + (n * k) % 23)}{chr(97 + n % 26)}" for k in range(8))
        return f"Hello, I would like to have something done about {own}, please. Thank you for that."

    some = [case(f"t{n}", wish(n)) for n in range(20)]
    others = [case(f"g{n}", wish(20 + n)) for n in range(20)]
    assert near_copy({"train": some, "gate": others}) is None
    copy = case("copy", wish(7).replace("Hello", "Hi"))
    found = near_copy({"train": some, "gate": [*others, copy]})
    assert found is not None
    assert found[:2] == (("train", "t7"), ("gate", "copy"))


def test_cases_of_one_suite_may_be_alike():
    assert near_copy({"train": [case("a", REQUEST), case("b", f"{REQUEST} Thanks")]}) is None


@pytest.mark.parametrize("seed", range(3))
def test_every_company_has_suites_that_are_apart(seed):
    check_apart(suites(seed))
