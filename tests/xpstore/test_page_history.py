from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore.commit import commit
from xpstore.page_history import PageHistory, placed

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def land(loc: Location, before: tuple[str, ...] | None, *after: str, branch: str = "main") -> str:
    old = None if before is None else page("a", *before)
    return commit(loc, [make_plan(loc, upsert("a", page("a", *after), old), branch=branch)], branch)[0].commit


def wordings(loc: Location, number: int = -1, name: str = "a") -> list[tuple[str, str]]:
    """Return commit and text of all who wrote a statement of main's page."""
    tip = loc.repo.ref(loc.main_ref)
    text = git(loc.repo.place, "show", f"main:experiences/{name}.md")
    statement = placed(f"{text}\n")[number].statement
    return [(e.commit, text) for e, text in PageHistory.read(loc, tip, name).wordings(statement)]


@pytest.mark.parametrize("head", ["", "---\nname: x\n---\n", "---\nname: [x\n---\n\nIntro\nof two.\n"])
@pytest.mark.parametrize("newline", ["\n", "\r\n"])
def test_statements_have_the_lines_that_they_stand_on(head: str, newline: str):
    body = "\n## One\n\n- First.\n  *Support: 1 of 2.*\n- Second.\n\n\n"
    more = "Two\n---\n```\ncode\n\nmore\n```\n\nLast one\n"
    text = (head + body + more).replace("\n", newline)
    lines = text.replace("\r\n", "\n").split("\n")
    found = [p for p in placed(text) if p.statement.section]
    assert [p.statement.key for p in found] == ["First.", "Second.", "``` code more ```", "Last one"]
    assert all("\n".join(lines[p.first - 1 : p.last]) == p.statement.text for p in found)


def test_new_figures_go_on_with_a_statement(loc: Location):
    first = land(loc, None, "One.", "Look.\n  *Support: 1 of 2.*")
    land(loc, ("One.", "Look.\n  *Support: 1 of 2.*"), "Other.", "Look.\n  *Support: 1 of 2.*")
    third = land(loc, ("Other.", "Look.\n  *Support: 1 of 2.*"), "Other.", "Look.\n  *Support: 2 of 4.*")
    assert [sha for sha, _ in wordings(loc)] == [third, first]


def test_other_words_go_on_with_it_another_statement_does_not(loc: Location):
    old, new = "Ask for the order number first.", "Ask for the order number and the name first."
    first = land(loc, None, old)
    second = land(loc, (old,), new)
    assert wordings(loc) == [(second, f"- {new}"), (first, f"- {old}")]
    third = land(loc, (new,), "Never refund cash.")
    assert wordings(loc) == [(third, "- Never refund cash.")]


def test_words_of_scripts_without_spaces_are_compared_too(loc: Location):
    first = land(loc, None, "先查询订单,再办理退款。")
    second = land(loc, ("先查询订单,再办理退款。",), "先查询订单状态,再办理退款。")
    assert [sha for sha, _ in wordings(loc)] == [second, first]


def test_renames_and_merged_branches_are_followed(loc: Location):
    place = loc.repo.place
    first = land(loc, None, "One lesson here.", "Two lessons here.")
    second = land(
        loc,
        ("One lesson here.", "Two lessons here."),
        "One lesson here.",
        "Two lessons stay here.",
        branch="t",
    )
    (place / "x.txt").write_text("x")
    git(place, "add", "-A")
    git(place, "commit", "-qm", "Else")
    git(place, "merge", "-q", "--no-ff", "-m", "Merge", "t")
    git(place, "mv", "experiences/a.md", "experiences/b.md")
    git(place, "commit", "-qm", "Rename")
    assert [sha for sha, _ in wordings(loc, name="b")] == [second, first]


def test_undoing_writes_nothing(loc: Location):
    place = loc.repo.place
    first = land(loc, None, "One.")
    second = land(loc, ("One.",), "One.", "Two.")
    git(place, "revert", "--no-edit", second)
    git(place, "revert", "--no-edit", "HEAD")
    assert [sha for sha, _ in wordings(loc)] == [second]
    history = PageHistory.read(loc, loc.repo.ref(loc.main_ref), "a")
    undoing = history.entries[0]
    assert history.writer("- Two.", undoing).commit == second
    assert history.writer("- One.", undoing).commit == first
    assert history.writer("", undoing).commit == first
    assert history.writer("- Never.", undoing) is undoing
