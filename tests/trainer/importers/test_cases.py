import pytest

from trainer.domain import Message, TextPart
from trainer.importers.cases import first_query, named_case, query_case


@pytest.mark.parametrize("name", ["x" * 81, "a\nb", ""])
def test_what_cannot_be_a_name_is_hashed(name):
    assert named_case(name).name.startswith("case_")
    assert named_case(name) == named_case(name)
    assert named_case("refund", "why?", given={"a": 1}).input == {"user_query": "why?", "a": 1}


def test_attempts_at_the_same_text_share_a_case():
    assert query_case("x") == query_case("x")
    assert query_case("x").name != query_case("y").name


def test_what_was_asked_first():
    def say(role, text):
        return Message(role=role, parts=(TextPart(text=text),))

    assert first_query([say("system", "s"), say("user", " "), say("user", "q")]) == "q"
    assert first_query([say("system", "s")]) == "s"
    assert first_query([]) == ""
