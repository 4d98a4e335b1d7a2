from __future__ import annotations

from itertools import permutations

import pytest

from trainer.offline.page import (
    Entry,
    appended,
    new_page,
    page_name,
    refreshed,
    replaced,
    with_entry,
    without,
)
from xpstore.document import Document
from xpstore.merge import merge

FIGURES = "\n  *Support: 4 rollouts in 3 cases. Left out: 1 of 2 that broke it failed.*"
LOOK = Entry("Approach", "- Call `get_order` before you call `cancel`." + FIGURES)
CONFIRM = Entry("Approach", "- Wait for the user's clear yes right before you call `cancel`." + FIGURES)
AVOID = Entry("Reflect", "- Do not call `cancel` when the argument `why` is `x`." + FIGURES)
ONCE = Entry("Reflect", "- Do not call `cancel` twice for the same `order_id`." + FIGURES)
ALL = (LOOK, CONFIRM, AVOID, ONCE)
PEOPLE = "---\nname: cancel  # ours\n---\n\nRead this.\n\n## Reflect\n\n- Never shout.\n\n## Notes\n\nx\n"


def folded(base: str | None, versions: list[str]) -> str:
    text = base
    for version in versions:
        result = merge(base, text, version)
        assert result.verdict == "PROVEN"
        text = result.text
    assert text is not None
    return text


@pytest.mark.parametrize(
    ("tool", "name"), [("book_trip", "book-trip"), ("bookTrip", "book-trip"), ("///", "tools")]
)
def test_pages_are_named_after_tools(tool: str, name: str) -> None:
    assert page_name(tool) == name


def test_a_page_has_its_sections_in_order_and_no_figures_above_the_lessons() -> None:
    document = Document.parse(new_page("cancel", ALL[::-1]))
    assert [s.name for s in document.sections] == ["Situation", "Approach", "Reflect"]
    assert [s.key for s in document.statements("Approach")] == [LOOK.key, CONFIRM.key]
    assert document.front["name"] == "cancel"
    assert not any(c.isdigit() for c in str(document.front["description"]))


def test_one_page_per_lesson_folds_into_the_whole_page() -> None:
    assert folded(None, [new_page("cancel", [e]) for e in ALL]) == new_page("cancel", ALL)


def test_one_edit_per_lesson_folds_into_all_edits() -> None:
    whole = PEOPLE
    for entry in ALL:
        whole = with_entry(whole, entry)
    assert folded(PEOPLE, [with_entry(PEOPLE, e) for e in ALL]) == whole
    kept = [s.text for s in Document.parse(whole).statements() if s.key not in {e.key for e in ALL}]
    assert kept == [s.text for s in Document.parse(PEOPLE).statements()]
    assert "# ours" in whole


def test_the_order_of_arrival_does_not_matter() -> None:
    pages = set()
    for order in permutations(ALL):
        text = new_page("cancel", order[:1])
        for entry in order[1:]:
            text = with_entry(text, entry)
        pages.add(text)
    assert pages == {new_page("cancel", ALL)}


def test_an_entry_is_replaced_where_it_stands_and_removed() -> None:
    page = new_page("cancel", ALL)
    other = Entry(LOOK.section, LOOK.text.replace("4 rollouts", "5 rollouts"))
    assert with_entry(page, other) == page.replace("4 rollouts", "5 rollouts", 1)
    assert without(page, CONFIRM.section, CONFIRM.key) == new_page("cancel", (LOOK, AVOID, ONCE))
    assert without(page, "Approach", "no such key") == page


def test_windows_line_breaks_stay() -> None:
    text = with_entry(PEOPLE.replace("\n", "\r\n"), AVOID)
    assert "\n" not in text.replace("\r\n", "")


def test_what_people_wrote_below_a_lesson_stays() -> None:
    page = new_page("cancel", [LOOK]).replace("failed.*", "failed.*\n  - but ask Bob first")
    (old,) = Document.parse(page).statements("Approach")
    other = Entry("Approach", LOOK.text.replace("4 rollouts", "9 rollouts"))
    assert refreshed(old, other) == other.text + "\n  - but ask Bob first"


def test_a_statement_is_replaced_where_it_stands() -> None:
    text = new_page("cancel", ALL)
    found = replaced(text, "Approach", LOOK.key, "- Look first.")
    assert [s.key for s in Document.parse(found).statements("Approach")] == ["Look first.", CONFIRM.key]
    assert replaced(text, "Reflect", LOOK.key, "- Look first.") == text


@pytest.mark.parametrize(
    "text", [PEOPLE, PEOPLE.replace("\n", "\r\n"), "", "Only this.", new_page("cancel", ALL)]
)
def test_an_appended_statement_is_the_last_of_its_section(text: str) -> None:
    found = appended(text, Entry("Reflect", "- Be brief."))
    before, after = Document.parse(text), Document.parse(found)
    assert [s.key for s in after.statements("Reflect")] == [
        *(s.key for s in before.statements("Reflect")),
        "Be brief.",
    ]
    kept = [s.text for s in after.statements() if s.key != "Be brief."]
    assert kept == [s.text for s in before.statements()]
    assert ("\r" in found) == ("\r" in text)
