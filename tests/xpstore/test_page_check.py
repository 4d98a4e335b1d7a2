from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_store, page
from xpstore.overview import overview
from xpstore.page_check import check, has_conflict

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    loc = make_store(tmp_path / "s")
    (loc.repo.place / "experiences").mkdir()
    (loc.repo.place / "experiences" / "fine.md").write_text(page("fine", "👨‍👩‍👧 می‌خواهم 🏴󠁧󠁢󠁥󠁮󠁧󠁿"))
    return loc


def write(loc: Location, name: str, data: bytes = b"x\n") -> None:
    (loc.repo.place / "experiences" / name).write_bytes(data)


def found(loc: Location) -> tuple[list[str], list[str]]:
    git(loc.repo.place, "add", ".")
    git(loc.repo.place, "commit", "-qm", "By hand")
    pages = check(loc, loc.repo.resolve("main"))
    return pages.problems, pages.notes


def test_what_the_store_would_write_is_fine(loc: Location) -> None:
    write(loc, "note.txt", b"\xff")
    assert found(loc) == ([], [])


def test_no_experiences_are_fine(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    assert check(loc, loc.repo.resolve("main")).problems == []


@pytest.mark.parametrize(
    ("name", "data", "words"),
    [
        ("a b.md", b"x", "is not allowed"),
        ("-rf.md", b"x", "must begin with"),
        ("nul.md", b"x", "device"),
        ("x\u202ey.md", b"x", "invisible"),
        ("cafe\u0301.md", b"x", "not NFC"),
        ("FINE.md", b"x", "twin of"),
        ("a.md", b"\xff", "not UTF-8"),
        ("a.md", b"a\0b", "line 1: invisible text (control, U+0000)"),
        ("a.md", b"x\ny\xe2\x80\xae", "line 2: invisible text (bidi, U+202E)"),
        ("a.md", b"---\na: [\n---\n", "front matter"),
    ],
)
def test_names_and_texts(loc: Location, name: str, data: bytes, words: str) -> None:
    write(loc, name, data)
    problems, notes = found(loc)
    assert (len(problems), notes) == (1, [])
    assert problems[0].startswith("experiences/")
    assert words in problems[0]


@pytest.mark.parametrize("data", [b"x" * 70_000, b"x\n" * 1_001])
def test_limits(loc: Location, data: bytes) -> None:
    write(loc, "a.md", data)
    problems, notes = found(loc)
    assert (problems, len(notes)) == ([], 1)
    assert "the limit is" in notes[0]


def test_links_and_submodules_are_not_followed(loc: Location) -> None:
    secret = loc.repo.place.parent / "secret"
    secret.write_text("x")
    (loc.repo.place / "experiences" / "link.md").symlink_to(secret)
    git(loc.repo.place, "update-index", "--add", "--cacheinfo", f"160000,{'1' * 40},experiences/sub.md")
    git(loc.repo.place, "add", "experiences/link.md")
    git(loc.repo.place, "commit", "-qm", "By hand")
    problems = check(loc, loc.repo.resolve("main")).problems
    assert [p.partition(":")[0] for p in problems] == ["experiences/link.md", "experiences/sub.md"]


def test_a_link_in_the_place_of_all_experiences(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    (tmp_path / "elsewhere").mkdir()
    (loc.repo.place / "experiences").symlink_to(tmp_path / "elsewhere")
    problems, _ = found(loc)
    assert problems == ["experiences: it is a symbolic link or a submodule, and neither is followed"]


def test_conflict_markers_in_front_matter_are_a_problem_and_not_a_page_less(loc: Location) -> None:
    """A page that was committed with markers must not just be skipped."""
    text = page("marked", "x").replace(
        "name: marked", "<<<<<<< HEAD\nname: marked\n=======\nname: m\n>>>>>>> x"
    )
    write(loc, "marked.md", text.encode())
    problems, _ = found(loc)
    assert len(problems) == 1
    assert "experiences/marked.md" in problems[0]
    assert "marked" in overview(loc).unreadable


CONFLICT = "<<<<<<< ours\n- One.\n=======\n- Two.\n>>>>>>> theirs\n"


@pytest.mark.parametrize(
    ("text", "is_left"),
    [
        (CONFLICT, True),
        (f"Text\n\n{CONFLICT}\nmore\n", True),
        (CONFLICT.replace("=======", "||||||| base\n- Zero.\n======="), True),
        (f"```\n{CONFLICT}```\n", False),
        (f"~~~ diff\n{CONFLICT}~~~\n", False),
        (f"```\nx\n```\n{CONFLICT}", True),
        ("Title\n=======\n\nWrite `<<<<<<< HEAD` and `>>>>>>> x`.\n", False),
        ("<<<<<<< HEAD marks ours,\n>>>>>>> x theirs.\n\nTitle\n=======\n", False),
    ],
)
def test_a_merge_that_was_left_undecided_is_told_from_a_quotation(text: str, is_left: bool) -> None:  # noqa: FBT001
    assert has_conflict(text) == is_left


def test_markers_that_people_left_in_the_text_of_a_page_are_a_problem(loc: Location) -> None:
    write(loc, "left.md", page("left", "x").encode() + CONFLICT.encode())
    write(loc, "quoted.md", page("quoted", "x").encode() + f"```\n{CONFLICT}```\n".encode())
    assert found(loc)[0] == ["experiences/left.md: conflict markers are left in it"]
