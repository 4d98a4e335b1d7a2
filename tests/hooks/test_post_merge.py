from __future__ import annotations

import pytest

from hooks import post_merge
from tests.builders import git, make_store
from tests.hooking import picture, plain_repository, write_page


@pytest.fixture
def loc(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main", "repo")
    loc = make_store(tmp_path / "repo" / "desk")
    write_page(loc.repo.place, "gone", folder="desk/experiences")
    git(loc.repo.place, "commit", "-q", "-m", "Begin")
    return loc


def merged(loc, *names, folder="desk/experiences"):
    place = loc.repo.place
    git(place, "checkout", "-q", "-b", "side")
    for name in names:
        write_page(place, name, folder=folder)
    git(place, "commit", "-q", "--allow-empty", "-m", "Side")
    git(place, "checkout", "-q", "main")
    git(place, "merge", "-q", "--no-ff", "side")


def test_it_tells_what_changed_and_writes_nothing(loc):
    place = loc.repo.place
    git(place, "rm", "-q", "desk/experiences/gone.md")
    git(place, "commit", "-q", "-m", "Remove")
    git(place, "branch", "side-base")
    merged(loc, "a", "退款")
    before = picture(place)
    assert post_merge.changed(loc.repo) == "2 experiences changed: a, 退款"
    assert picture(place) == before


def test_a_merge_of_code_says_nothing(loc):
    merged(loc, "a", folder="src/experiences")  # no store there
    assert post_merge.changed(loc.repo) == ""


def test_one_page_that_went_and_a_name_that_would_move_the_cursor(loc):
    merged(loc, "x\x1b[2J")
    assert post_merge.changed(loc.repo) == "1 experience changed: x<U+001B>[2J"


def test_before_the_first_merge_there_is_nothing_to_tell(tmp_path):
    assert post_merge.changed(plain_repository(tmp_path / "repo")) == ""
