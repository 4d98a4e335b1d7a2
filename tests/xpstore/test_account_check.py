from __future__ import annotations

from dataclasses import replace

import pytest

from xpstore.account_check import check_account
from xpstore.conflict import Hunk, Numbered
from xpstore.resolver import Claim

BASE = "- Refund the order."
OURS = "- Refund the order within 12 hours."
THEIRS = "- Refund the order within 36 hours."
RULE = "- Do not call `close_account` for minors."
BOTH = "- Refund the order within 12 hours, gold members within 36 hours."

HUNK = Hunk(
    "A",
    (
        Numbered(1, "A", BASE, frozenset({"base"})),
        Numbered(2, "A", OURS, frozenset({"ours"})),
        Numbered(3, "A", THEIRS, frozenset({"theirs"})),
        Numbered(4, "A", RULE, frozenset({"theirs"})),
    ),
)
OLD = Claim(1, "superseded", into=THEIRS)
NEWER = Claim(2, "superseded", into=THEIRS)
KEPT = (Claim(3, "kept"), Claim(4, "kept"))


def found(decided: list[str], *claims: Claim, hunk: Hunk = HUNK, around: tuple[str, ...] = ()) -> list[str]:
    by_number = {claim.number: claim for claim in claims}
    return [o.check for o in check_account(hunk, decided, around, by_number) if o.is_error]


def test_a_true_and_complete_account():
    assert found([THEIRS, RULE], OLD, NEWER, *KEPT) == []


def test_a_statement_without_a_claim():
    assert found([THEIRS, RULE], OLD, *KEPT) == ["account"]


def test_kept_and_not_there():
    assert found([THEIRS], OLD, NEWER, *KEPT) == ["account"]


def test_there_and_not_said_to_be_kept():
    assert found([THEIRS, RULE], OLD, NEWER, Claim(3, "kept"), Claim(4, "dropped", reason="x")) == ["account"]


@pytest.mark.parametrize("reason", ["", "redundant"])
def test_a_drop_needs_a_reason_that_can_be_checked(reason):
    claims = (OLD, NEWER, Claim(3, "kept"), Claim(4, "dropped", reason=reason))
    assert found([THEIRS], *claims) == (["dropped"] if reason else ["account"])


@pytest.mark.parametrize(
    "other",
    ["- Do call `close_account` for minors.", "- Never call `close_account` for minors, nor for dogs."],
)
def test_a_drop_is_explained_by_the_opposite_or_by_what_says_it_already(other):
    claims = (OLD, NEWER, Claim(3, "kept"), Claim(4, "dropped", reason="see the other"))
    assert found([THEIRS], *claims, around=(other,)) == []


def test_superseded_by_what_is_about_something_else():
    claims = (OLD, NEWER, Claim(3, "kept"), Claim(4, "superseded", into="- Be polite to minors."))
    assert found([THEIRS, "- Be polite to minors."], *claims)[0] == "superseded"


def test_superseded_by_a_statement_of_the_same_side():
    claims = (OLD, NEWER, Claim(3, "kept"), Claim(4, "superseded", into=THEIRS))
    assert found([THEIRS], *claims) == ["superseded"]


def test_superseded_by_what_is_not_there():
    assert found([RULE, THEIRS], OLD, Claim(2, "superseded", into="- Gone."), *KEPT) == ["account"]


def test_merged_into_what_says_both():
    claims = (Claim(1, "merged", into=BOTH), Claim(2, "merged", into=BOTH), Claim(3, "merged", into=BOTH))
    assert found([BOTH, RULE], *claims, Claim(4, "kept")) == []


def test_merged_with_swapped_numbers():
    wide = Hunk(
        "A",
        (
            Numbered(1, "A", "- Basic fares wait 24 hours.", frozenset({"ours"})),
            Numbered(2, "A", "- Gold fares wait 48 hours.", frozenset({"theirs"})),
        ),
    )
    swapped = "- Basic fares wait 48 hours, gold fares wait 24 hours."
    claims = (Claim(1, "merged", into=swapped), Claim(2, "merged", into=swapped))
    assert found([swapped], *claims, hunk=wide) == ["numbers"]


@pytest.mark.parametrize(
    ("text", "check"),
    [
        ("- Do call `close_account` for minors.", "negation"),
        ("- Do not call `close_everything` for minors.", "loss"),
        ("- Do not call `close_account` for minors before 18.", "novelty"),
        ("- Do not call `close_account`.", "account"),
    ],
)
def test_merged_into_what_says_something_else(text, check):
    claims = (OLD, NEWER, Claim(3, "kept"), Claim(4, "merged", into=text))
    assert check in found([THEIRS, text], *claims)


def test_a_statement_from_nowhere():
    assert found([THEIRS, RULE, "- Sing."], OLD, NEWER, *KEPT) == ["invented"]


def test_a_statement_of_another_section():
    moved = Hunk("A", (*HUNK.statements[:3], Numbered(4, "B", RULE, frozenset({"theirs"}))))
    assert found([THEIRS, RULE], OLD, NEWER, *KEPT, hunk=moved) == ["section"]


def test_rewording_and_bringing_back_are_warnings():
    text = "- Refund the entire order within 36 hours."
    claims = {1: Claim(1, "kept"), 2: NEWER, 3: Claim(3, "merged", into=text), 4: Claim(4, "kept")}
    claims[2] = Claim(2, "superseded", into=text)
    warnings = [o for o in check_account(HUNK, [BASE, text, RULE], (), claims) if not o.is_error]
    assert [o.check for o in warnings] == ["undeleted", "reworded"]


def edits(*claims: Claim) -> list[str]:
    """The same statements as three edits of one page: what the second added replaces what the first did."""
    sides = ({"base", "2", "3"}, {"1"}, {"2"}, {"3"})
    numbered = (replace(s, sides=frozenset(x)) for s, x in zip(HUNK.statements, sides, strict=True))
    return found([THEIRS, RULE], *claims, hunk=Hunk("A", tuple(numbered), ("1", "2", "3")))


def test_an_edit_of_many_may_be_superseded_by_a_later_one():
    assert edits(OLD, NEWER, *KEPT) == []
    assert edits(NEWER, *KEPT) == ["account"]


def test_what_no_edit_of_many_took_out_is_not_lost():
    base = Numbered(1, "A", BASE, frozenset({"base", "1", "2", "3"}))
    hunk = Hunk("A", (base,), ("1", "2", "3"))
    assert found([THEIRS], Claim(1, "superseded", into=THEIRS), hunk=hunk)[0] == "loss"


def test_what_rewords_nothing_is_merged_whole():
    """Of two short lessons the one word that differs is the lesson."""
    zip_code, email = (f"- Ask for the order number and the {x} before you cancel." for x in ("zip", "email"))
    sides = ((1, zip_code, "ours"), (2, email, "theirs"))
    statements = tuple(Numbered(n, "A", t, frozenset({s})) for n, t, s in sides)
    claims = (Claim(1, "kept"), Claim(2, "merged", into=zip_code))
    assert found([zip_code], *claims, hunk=Hunk("A", statements)) == ["account"]
    old = Numbered(3, "A", "- Write an email.", frozenset({"base", "ours", "theirs"}))
    claims = (*claims, Claim(3, "kept"))
    assert found([zip_code, old.text], *claims, hunk=Hunk("A", (*statements, old))) == ["account"]
