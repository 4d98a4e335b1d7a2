from __future__ import annotations

import asyncio

from tests.builders import page
from trainer.context import LearnedHistory
from trainer.llm_learner.shelf import PAGES, Library, shelf
from trainer.similarity import TextSimilarity
from xpstore.experience import Experience, ExperienceSet
from xpstore.search import Hit

CANCEL = page("cancel-order", "Do not cancel what is shipped.", "Ask first.")
REFUND = page("refund", "Refund to the card that was used.")


def pages(*texts: tuple[str, str]) -> ExperienceSet:
    return ExperienceSet(root_uri="e", policies=tuple(Experience(name=n, text=t) for n, t in texts))


def near(
    known: ExperienceSet, query: str, *tools: str, similarity: object = None, limit: int = PAGES
) -> list[str]:
    found = Library(known).nearest(query, tools, similarity or TextSimilarity(), limit)
    return [p.name for p in asyncio.run(found)]


def test_statements_are_numbered_over_all_pages_and_those_of_others_are_fixed():
    known = pages(("cancel-order", CANCEL), ("refund", REFUND))
    mine = LearnedHistory(learner_statements={"cancel-order": frozenset({"Ask first."})})
    found = shelf(known.policies, mine, 1_000)
    assert found.text == (
        "page 1: cancel-order - When cancel-order is asked for.\n"
        "[1] of page 1, Approach, fixed\n| - Do not cancel what is shipped.\n"
        "[2] of page 1, Approach\n| - Ask first.\n"
        "page 2: refund - When refund is asked for.\n"
        "[3] of page 2, Approach, fixed\n| - Refund to the card that was used."
    )
    assert found.pages[2].name == "refund"
    assert (found.statements[2].statement.key, found.statements[2].is_fixed) == ("Ask first.", False)


def test_pages_that_do_not_fit_are_not_shown():
    long = page("long", *(f"Statement {n} of many." for n in range(100)))
    found = shelf(pages(("long", long), ("refund", REFUND)).policies, LearnedHistory(), 200)
    assert found.text.endswith("[… more statements of this page left out …]")
    assert list(found.pages) == [1]
    assert 1 < len(found.statements) < 20


def test_no_pages_are_no_text():
    assert shelf((), LearnedHistory(), 100).text == ""


def test_the_page_of_a_tool_comes_first_then_what_words_find():
    known = pages(
        ("cancel-order", CANCEL), ("refund", REFUND), ("tone", page("tone", "Be polite to the card owner."))
    )
    assert near(known, "which card to refund to", "cancel_order") == ["cancel-order", "refund", "tone"]
    assert near(known, "which card to refund to", limit=1) == ["refund"]


def test_pages_out_of_use_and_broken_ones_are_not_shown():
    archived = CANCEL.replace("name:", "status: archived\nname:")
    known = pages(("broken", "---\nname: [\n---\nCancel order."), ("cancel-order", archived))
    assert near(known, "cancel an order that is shipped", "cancel_order") == []


def test_meaning_is_asked_where_it_can_be():
    class Meaning:
        by_meaning = True

        async def nearest(self, texts, pages, limit):
            return {"": [Hit("refund", 0.9)]}

    known = pages(("cancel-order", CANCEL), ("refund", REFUND))
    assert near(known, "shipped", similarity=Meaning()) == ["refund", "cancel-order"]


def test_of_very_many_pages_those_with_words_in_common_are_compared(monkeypatch):
    monkeypatch.setattr("trainer.llm_learner.shelf.COMPARED", 1)
    compared = []

    class Meaning:
        by_meaning = True

        async def nearest(self, texts, pages, limit):
            compared.extend(pages)
            return {"": []}

    near(pages(("cancel-order", CANCEL), ("refund", REFUND)), "which card to refund to", similarity=Meaning())
    assert compared == ["refund"]
