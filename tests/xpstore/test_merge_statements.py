from __future__ import annotations

from xpstore.markdown import Section, parse_body
from xpstore.merge_statements import Entry, Outcome, Overlap, merge_section

NONE = Section("A", "## A", "", (), ())


def section(*lines: str) -> Section:
    sections, _ = parse_body(["## A", "", *lines])
    return sections[0]


def merged(base: Section, ours: Section, theirs: Section) -> tuple[list[str], tuple[str, ...], Outcome]:
    outcome = Outcome()
    statements, gaps = merge_section("A", base, ours, theirs, outcome)
    assert all(s.section == "A" for s in statements)
    return [s.text for s in statements], gaps, outcome


def test_blank_lines_stay_where_statements_already_met():
    texts, gaps, _ = merged(
        section("- a", "", "- b"), section("- a", "", "- b", "- o"), section("- t", "- a", "", "- b")
    )
    assert texts == ["- t", "- a", "- b", "- o"]
    assert gaps == ("\n", "", "\n", "")


def test_a_paragraph_never_grows_together_with_what_stands_above_it():
    texts, gaps, _ = merged(section("- a"), section("- a", "", "para"), section("- a", "", "other"))
    assert (texts, gaps) == (["- a", "para", "other"], ("\n", "\n", "\n"))


def test_an_empty_section_takes_the_blank_line_of_the_side_that_fills_it():
    assert merged(NONE, NONE, section("- a"))[:2] == (["- a"], ("\n",))


def test_both_texts_of_an_overlap_are_kept_and_reported():
    texts, _, outcome = merged(section("- a", "  - x"), section("- a", "  - y"), section("- a", "  - z"))
    assert texts == ["- a\n  - y", "- a\n  - z"]
    assert outcome.overlaps == [Overlap("A", ("- a\n  - x",), ("- a\n  - y",), ("- a\n  - z",))]
    assert not outcome.is_refused


def test_a_statement_that_one_side_removed_and_the_other_changed_is_refused():
    _, _, outcome = merged(section("- a", "  - x"), section(), section("- a", "  - z"))
    assert outcome.is_refused
    assert outcome.overlaps == [Overlap("A", ("- a\n  - x",), (), ("- a\n  - z",))]


def test_new_figures_do_not_bring_a_removed_statement_back():
    texts, _, outcome = merged(section("- a", "  *Support: 1*"), section(), section("- a", "  *Support: 2*"))
    assert texts == []
    assert [(e.fate, e.side) for e in outcome.account] == [("dropped", "theirs")]
    assert outcome.account[0].reason


def test_figures_that_both_changed_are_reported_and_both_kept():
    base, ours, theirs = (section("- a", f"  *Support: {n}*") for n in (1, 3, 2))
    texts, _, outcome = merged(base, ours, theirs)
    assert texts == ["- a\n  *Support: 2*\n  *Support: 3*"]
    assert len(outcome.overlaps) == 1
    assert outcome.account == [Entry("A", "- a\n  *Support: 3*", "both", "changed", "merged")]


def test_other_numbers_of_a_list_are_no_change():
    texts, _, outcome = merged(section("1. a"), section("2. a"), section("3. a"))
    assert (texts, outcome.overlaps) == (["2. a"], [])


def test_no_more_copies_than_one_side_has():
    assert merged(NONE, section("- a", "- a"), section("- a"))[0] == ["- a", "- a"]
    assert merged(section("- a"), section("- a", "- a"), section("- b"))[0] == ["- b"]


def test_a_removed_statement_does_not_return_in_other_words():
    _, _, outcome = merged(section("- a"), section(), section("- a", "", "- a", "  - x"))
    assert outcome.is_refused
    assert outcome.overlaps == [Overlap("A", ("- a",), (), ("- a\n  - x",))]
