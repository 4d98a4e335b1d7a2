from __future__ import annotations

import pytest

from xpstore.conflict import Conflict, find_conflict, statements_in
from xpstore.merge import merge

BASE = "---\nname: x\n---\n\n## A\n\n- one\n- two\n- z\n\n## B\n\n- q\n"
OURS = BASE.replace("- one\n", "- one A\n").replace("- z\n", "- z\n- Always ask.\n")
THEIRS = BASE.replace("- one\n", "- one B\n- extra\n").replace("- q\n", "- q\n- Never ask.\n")


def conflict_of(base: str | None, ours: str, theirs: str) -> Conflict:
    found = find_conflict(base, ours, theirs, merge(base, ours, theirs))
    assert found is not None
    return found


def test_hunks_are_numbered_statements_with_their_sections():
    conflict = conflict_of(BASE, OURS, THEIRS)
    assert [[(s.number, s.section, s.text) for s in hunk.statements] for hunk in conflict.hunks] == [
        [(1, "A", "- one"), (2, "A", "- one A"), (3, "A", "- one B"), (4, "A", "- extra")],
        [(5, "A", "- Always ask."), (6, "B", "- Never ask.")],
    ]
    assert [s.text for s in conflict.hunks[0].of("theirs")] == ["- one B", "- extra"]
    assert not conflict.hunks[0].statements[0].is_added


def test_a_decision_is_put_where_ours_stood():
    made = conflict_of(BASE, OURS, THEIRS).assemble([["- one A and B", "- extra"], ["- Never ask."]])
    assert made.verdict == "PROVEN"
    assert made.text == BASE.replace("- one\n", "- one A and B\n- extra\n").replace(
        "- z\n", "- z\n- Never ask.\n"
    )


def test_what_was_decided_is_read_back_from_the_file():
    conflict = conflict_of(BASE, OURS, THEIRS)
    decisions = [["- one A and B", "- extra"], ["- Never ask."]]
    text = conflict.assemble(decisions).text or ""
    assert conflict.decided(text) == [tuple(d) for d in decisions]
    assert conflict.decided(text.replace("\n", "\r\n")) == [tuple(d) for d in decisions]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("- two\n", ""),
        ("- two\n", "  - two\n"),
        ("name: x", "name: y"),
        ("## B", "## C"),
        ("- q\n", "- q\n- more\n"),
    ],
)
def test_text_around_the_hunks_may_not_change(old, new):
    conflict = conflict_of(BASE, OURS, THEIRS)
    text = conflict.assemble([["- one A"], ["- Never ask."]]).text or ""
    assert conflict.decided(text) is not None
    assert conflict.decided(text.replace(old, new)) is None


def test_a_hunk_can_be_decided_as_nothing():
    conflict = conflict_of("- a\n- z\n", "- a1\n- z\n", "- a2\n- z\n")
    assert conflict.assemble([[]]).text == "- z\n"
    assert conflict.decided("- z\n") == [()]


def test_overlaps_that_share_a_statement_are_one_hunk():
    ours = "- x\n- Always ask.\n"
    theirs = "- x\n- Never ask.\n- Do not ask.\n"
    (hunk,) = conflict_of("- x\n", ours, theirs).hunks
    assert [s.text for s in hunk.statements] == ["- Always ask.", "- Never ask.", "- Do not ask."]


def test_keys_of_front_matter_are_hunks():
    base, ours, theirs = (f"---\nname: x\nwhen: {w} # why\n---\n\n- a\n" for w in "012")
    conflict = conflict_of(base, ours, theirs)
    assert conflict.hunks[0].is_front_matter
    assert conflict.assemble([["when: 3\n"]]).text == "---\nname: x\nwhen: 3\n---\n\n- a\n"


def test_statement_changed_here_and_removed_there():
    conflict = conflict_of("- a\n  - x\n- b\n", "- a\n  - y\n- b\n", "- b\n- c\n")
    assert conflict.assemble([["- a\n  - y"]]).text == "- a\n  - y\n- b\n- c\n"
    assert conflict.assemble([[]]).text == "- b\n- c\n"


def test_there_is_nothing_to_put_where_a_file_is_deleted_or_nothing_overlaps():
    assert find_conflict("- a\n", "- b\n", None, merge("- a\n", "- b\n", None)) is None
    assert find_conflict("- a\n", "- a\n- b\n", "- a\n", merge("- a\n", "- a\n- b\n", "- a\n")) is None


def test_a_decision_has_no_headings():
    assert statements_in(["- a", "", "## B", "", "- b"]) is None
    assert [s.text for s in statements_in(["- a", "- b"]) or ()] == ["- a", "- b"]
    assert statements_in([]) == ()
