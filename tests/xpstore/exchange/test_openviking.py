import json

import pytest
from hypothesis import given

from tests.pages_of_others import CHINESE, REFUND, pages, policy, statements
from xpstore.errors import InvalidNameError
from xpstore.exchange import openviking
from xpstore.exchange.page import Page
from xpstore.exchange.stamp import is_intact

THEIRS = """## Situation
- A booking is to be cancelled.
## Approach
- Read the fare rules.

<!-- MEMORY_FIELDS
{
  "experience_name": "Booking Cancellation",
  "status": "draft",
  "version": 3,
  "supersedes": "old_rule",
  "note": "a --\\u003e b",
  "links": [{"from_uri": "a", "to_uri": "b"}],
  "memory_type": "experiences"
}
-->
"""


@given(pages())
def test_a_page_reads_back(page):
    back = openviking.read(openviking.render(page, "s1"), page.name)
    assert (back.page.name, back.left_out) == (page.name, ())
    assert statements(back.page) == statements(page)
    again = openviking.read(openviking.render(back.page, "s1"), page.name).page
    assert again == back.page


def test_fields_are_kept_and_what_has_no_place_is_told():
    found = openviking.read(THEIRS, "booking_cancellation")
    assert dict(found.page.front) == {
        "name": "Booking-Cancellation",
        "status": "draft",
        "openviking": {
            "experience_name": "Booking Cancellation",
            "supersedes": "old_rule",
            "note": "a --> b",
        },
    }
    assert found.left_out == ("version: 3", "links: 1 of them")
    assert statements(found.page) == [
        ("Situation", "A booking is to be cancelled."),
        ("Approach", "Read the fare rules."),
    ]


def test_fields_go_back_to_where_they_came_from():
    text = openviking.render(openviking.read(THEIRS, "x").page, "s1")
    assert is_intact(text, openviking.STAMP)
    assert text.count("-->") == 1
    fields = json.loads(text.partition("MEMORY_FIELDS\n")[2].rpartition("\n-->")[0])
    del fields["xp_digest"], fields["xp_store"]
    assert fields == {
        "experience_name": "Booking Cancellation",
        "status": "draft",
        "supersedes": "old_rule",
        "note": "a --> b",
        "memory_type": "experiences",
    }
    assert text.startswith("## Situation\n- A booking is to be cancelled.\n## Approach\n")


@pytest.mark.parametrize("comment", ["{broken", "[1]", '{"a": ' * 3000])
def test_a_comment_that_cannot_be_read_stays_in_the_text(comment):
    found = openviking.read(f"- Look.\n\n<!-- MEMORY_FIELDS\n{comment}\n-->\n", "look")
    assert found.page.name == "look"
    assert comment in found.page.body
    assert found.left_out == ("MEMORY_FIELDS is no JSON object; it stays in the page's text",)


def test_a_file_without_fields_is_all_text():
    assert openviking.read("- Look.\r\n", "look").page == Page("look", {"name": "look"}, "- Look.")


def test_a_status_of_theirs_that_we_do_not_know_is_kept_aside():
    found = openviking.read('- x\n\n<!-- MEMORY_FIELDS\n{"status": "hot"}\n-->\n', "x")
    assert dict(found.page.front) == {"name": "x", "openviking": {"status": "hot"}}


def test_a_name_of_which_nothing_is_left_is_refused():
    text = '- x\n\n<!-- MEMORY_FIELDS\n{"experience_name": "../.."}\n-->\n'
    with pytest.raises(InvalidNameError):
        openviking.read(text, "..")
    found = openviking.read(text, "x").page  # the file has a name, too
    assert (found.name, dict(found.front)[openviking.KEY]) == ("x", {"experience_name": "../.."})
    assert (
        openviking.read('- x\n\n<!-- MEMORY_FIELDS\n{"experience_name": "../a b"}\n-->\n', "x").page.name
        == "a-b"
    )


def test_our_pages_have_their_names_and_descriptions_there():
    for experience in policy(refund_order=REFUND, 退款=CHINESE).policies:
        text = openviking.render(Page.of(experience, figures=True), "s1")
        assert f'"experience_name": "{experience.name}"' in text
        assert experience.description in text


def test_text_of_a_page_that_looks_like_fields_stays_text():
    (page,) = policy(
        quote=f"- Their files end so:\n\n{THEIRS.partition('fare rules.')[2].strip()}\n"
    ).policies
    made = Page.of(page, figures=True)
    back = openviking.read(openviking.render(made, "s1"), "quote").page
    assert (back.name, back.body) == ("quote", made.body)
    broken = openviking.read("- x\n\n<!-- MEMORY_FIELDS\n{broken\n-->\n", "x").page
    assert openviking.read(openviking.render(broken, "s1"), "x").page == broken


def test_what_became_of_a_page_counts_more_than_what_its_file_said():
    page = openviking.read(THEIRS.replace('"draft"', '"hot"'), "x").page
    assert '"status": "hot"' in openviking.render(page, "s1")
    renamed = Page("other", {**page.front, "name": "other", "status": "deprecated"}, page.body)
    text = openviking.render(renamed, "s1")
    assert '"experience_name": "other"' in text
    assert '"status": "deprecated"' in text
    assert openviking.read(text, "other").page == renamed


def test_fields_that_would_be_ours_break_nothing():
    kept = {
        "xp_digest": "x",
        "xp_store": 1,
        "memory_type": "cases",
        "xp_front": 2,
        "version": 3,
        "note": None,
    }
    page = Page("a", {"name": "a", "status": ["x"], "description": 5, "openviking": kept}, "- x")
    text = openviking.render(page, "s1")
    assert is_intact(text, openviking.STAMP)
    assert openviking.read(text, "a").page == page


def test_long_white_space_and_many_marks_are_read_in_time():
    text = "- x\n" + "\n" * 1_000_000 + "<!-- MEMORY_FIELDS\n" * 20_000 + "-->\n"
    assert openviking.read(text, "x").page.name == "x"
