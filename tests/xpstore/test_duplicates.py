from __future__ import annotations

from contextlib import ExitStack

import pytest

from tests.builders import page
from tests.lesson_bank import DESKS
from xpstore import duplicates
from xpstore.duplicates import Change, Said, Shelf, find, similarity
from xpstore.experience import Experience, ExperienceSet
from xpstore.page_index import PageIndex
from xpstore.settings import DuplicateSettings

ASK = "Ask for the order number and the zip code before you cancel anything."
SAME = "Before you cancel anything, ask for the zip code and the order number."


def shelf(**texts: str) -> PageIndex:
    pages = tuple(Experience(name=name, text=text) for name, text in texts.items())
    return PageIndex.of(ExperienceSet(root_uri="", policies=pages))


def found(changes: dict[str, Change], **texts: str) -> list[tuple[str, str, str]]:
    with shelf(**texts) as index:
        return [(d.kind, d.page, d.other) for d in find(changes, [index])]


def new(*lines: str) -> Change:
    return Change(None, page("new", *lines))


def test_a_new_page_that_says_what_another_one_says_is_found():
    old = page("refund", ASK, "Refunds to a credit card take 5 to 7 days; say so.")
    with shelf(refund=old, other=page("other", "Never read the PIN of the caller aloud.")) as index:
        (met,) = find({"new": new(SAME)}, [index])
    assert (met.kind, met.page, met.other, met.similarity) == ("page", "new", "refund", 1.0)
    assert met.sentence == "new says what refund says already (100% of it)"


def test_a_statement_that_another_page_has_is_found_and_the_page_itself_is_not():
    before = page("new", "Look twice at the address.")
    change = Change(before, page("new", "Look twice at the address.", SAME))
    with shelf(refund=page("refund", ASK), new=before) as index:
        (met,) = find({"new": change}, [index])
    assert (met.kind, met.other, met.text, met.other_text) == ("statement", "refund", f"- {SAME}", f"- {ASK}")
    assert met.sentence.startswith('new says the same as refund: "- Before you cancel')


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Refund at most 3 items per order to a gift card.",
            "Refund at most 4 items per order to a gift card.",
        ),
        (
            "IF a bag is lost DO call `file_claim` with its tag",
            "IF a bag is lost DO call `open_case` with its tag",
        ),
        (
            "如果订单已经发货超过3天，必须先联系客户确认地址",
            "如果订单已经发货超过5天，必须先联系客户确认地址",
        ),
    ],
)
def test_one_number_or_tool_changed_is_another_condition(one, other):
    assert similarity(Said.of(one), Said.of(other)) == 0
    assert found({"new": new(one)}, old=page("old", other)) == []


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("如果订单已经发货，必须先联系客户确认地址", "如果订单已经发货，必须先联系客户确认收货地址"),
        ("配送が遅れたら必ずお客様に電話する", "配送が遅れたら必ずお客様に電話をする"),
    ],
)
def test_scripts_without_spaces(one, other):
    assert found({"new": new(one)}, old=page("old", other)) == [("page", "new", "old")]


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (
            "Always repeat the address of the order word for word.",
            "Never repeat the address of the order word for word.",
        ),
        ("IF the fare is basic DO call `change_flight`", "IF the fare is basic DO NOT call `change_flight`"),
        (
            "IF the fare is basic DO NOT call `change_flight` at all",
            "IF the fare is basic DO call `change_flight` first",
        ),
        ("如果订单已发货，必须取消", "如果订单已发货，不得取消"),
        (
            "Give the parcel to a neighbour without asking the customer.",
            "Give the parcel to a neighbour, asking the customer.",
        ),
    ],
)
def test_opposites_are_named_as_a_contradiction(one, other):
    (met,) = found({"new": new(one)}, old=page("old", other))
    assert met == ("contradiction", "new", "old")


def test_opposites_in_one_page_are_named_where_one_of_them_is_new():
    old, both = page("a", "Always ask."), page("a", "Always ask.", "Never ask.")
    with shelf(a=old) as index:
        (met,) = find({"a": Change(old, both)}, [index])
        assert (met.kind, met.page, met.other, met.text) == ("contradiction", "a", "a", "- Never ask.")
        assert find({"a": Change(both, f"{both}- More.\n")}, [index]) == ()


def test_short_statements_and_other_lessons_are_nothing():
    assert found({"new": new("Be short.", "Always ask.")}, old=page("old", "Be short.", "Always ask.")) == []
    lessons = {desk: page(desk, *texts) for desk, texts in DESKS.items()}
    with shelf(**lessons) as index:
        for desk, text in lessons.items():
            assert find({f"new-{desk}": Change(None, page("x", *DESKS[desk][:3]))}, [index])[0].other == desk
            assert find({desk: Change(None, text)}, [index]) == ()


def test_two_new_pages_are_compared_once():
    changes = {"one": new(ASK), "two": new(SAME)}
    texts = {name: change.after or "" for name, change in changes.items()}
    with shelf() as old, shelf(**texts) as added:
        (met,) = find(changes, [old, added])
    assert (met.page, met.other) == ("one", "two")


def test_a_page_that_loses_it_or_goes_is_no_duplicate():
    """A rename, or a statement that moves to another page, leaves one of both."""
    old = page("old", ASK)
    assert found({"new": new(SAME), "old": Change(old, None)}, old=old) == []
    assert found({"new": new(SAME), "old": Change(old, page("old", "Else."))}, old=old) == []


def test_what_was_there_before_is_not_reported_again():
    text = page("new", SAME, "Look twice at the address.")
    change = Change(text, text.replace("Look", "Look at least"))
    assert found({"new": change}, old=page("old", ASK)) == []


def test_figures_are_not_compared_and_broken_front_matter_is_no_obstacle():
    figures = f"{SAME}\n  *Support: 3 rollouts in 2 cases.*"
    broken = page("old", ASK).replace("name: old", "name: [")
    with ExitStack() as stack:
        index = stack.enter_context(shelf(old=page("old", f"{ASK}\n  *Support: 9 rollouts.*")))
        assert [d.kind for d in find({"new": new(figures)}, [index])] == ["page"]
        assert find({"new": Change(broken, broken)}, [index]) == ()


def test_the_threshold_decides():
    one = "Ask for the order number and the zip code."
    other = "Ask for the order number, the zip code and the email of the caller."
    assert 0.7 < similarity(Said.of(one), Said.of(other)) < 0.8
    with shelf(old=page("old", other)) as index:
        assert find({"new": new(one)}, [index]) == ()
        assert find({"new": new(one)}, [index], DuplicateSettings(threshold=0.7))


def test_ten_thousand_pages_are_not_ten_thousand_comparisons(monkeypatch):
    """What is compared depends on what is added: a few pages for each statement."""

    def lines(n: int) -> list[str]:
        return [f"Pack item{(n + k) % 40} of parcel line {n} beside shelf{n * 7 % 40}." for k in range(4)]

    texts = {f"p{n}": "".join(f"- {line}\n" for line in lines(n)) for n in range(10_000)}
    counted = []
    real = duplicates.similarity
    monkeypatch.setattr(duplicates, "similarity", lambda *pair: counted.append(pair) or real(*pair))
    shelf_ = Shelf(texts)
    (met,) = find({"new": new(*lines(77))}, [shelf_])
    assert (met.kind, met.other) == ("page", "p77")
    assert 0 < len(counted) <= 4 * duplicates.NEAREST * 4
    counted.clear()
    assert len(find({f"new{n}": new(*lines(n)) for n in range(10)}, [shelf_])) == 10
    assert len(counted) <= 10 * 4 * duplicates.NEAREST * 4
