from __future__ import annotations

import pytest

from trainer.llm_learner.claims import Fate, as_item, is_plain, learner_name, shown, wording_problems


def test_a_learner_has_the_name_of_its_model_fit_for_a_trailer():
    assert learner_name("org/model-7b:q4, new") == "llm/1+org/model-7b-q4-new"


def test_a_statement_cannot_pass_for_another_number():
    text = shown(2, "new in ours", "- a\n[3] was there before\n  - b\n")
    assert text == "[2] new in ours\n| - a\n| [3] was there before\n|   - b"


@pytest.mark.parametrize(
    ("text", "like", "item"),
    [
        ("Ask.", "- Wait.", "- Ask."),
        ("Ask.", "2. Wait.", "2. Ask."),
        ("* Ask.", "- Wait.", "* Ask."),
        ("Ask.\n", "A paragraph.", "Ask."),
    ],
)
def test_a_wording_has_the_bullet_of_what_it_stands_for(text, like, item):
    assert as_item(text, like) == item


@pytest.mark.parametrize(
    ("text", "why"),
    [
        ("- a\n- b", "one list item"),
        ("- a\n\n## B", "one list item"),
        ("## B", "one list item"),
        ("", "one list item"),
        ("- a\u200bb", "invisible"),
        ("- a mark0 b", "mark"),
    ],
)
def test_what_is_no_statement_is_named(text, why):
    assert why in " ".join(wording_problems(text, "mark0", ()))
    assert list(wording_problems("- a\n  - b", "mark0", ())) == []


def test_a_claim_has_the_words_of_the_number_it_leads_to():
    texts = {3: "- both"}
    assert Fate(number=1, fate="merged", into=3).claim(texts).into == "- both"
    assert Fate(number=1, fate="dropped", into=3, reason="x").claim(texts).into == ""


@pytest.mark.parametrize("text", ["a\nb", "a\u202eb", "with 0f0f in it"])
def test_a_plain_line_hides_nothing(text):
    assert is_plain("Seen twice.", "0f0f")
    assert not is_plain(text, "0f0f")


@pytest.mark.parametrize("text", ["- a b <!-- c -->", "- # a b", "- a ``` b", "- | a b"])
def test_a_wording_has_no_markup_but_that_of_its_sources(text: str):
    assert "nothing that it stands for has" in " ".join(wording_problems(text, "mark0", ["- a", "- b"]))
    assert list(wording_problems(text, "mark0", ["- a", text])) == []
