from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore import left_out
from xpstore.commit import commit
from xpstore.errors import NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    made = make_store(tmp_path / "s", name="")
    commit(made, [make_plan(made, upsert("a", page("a", "Always ask.")))], "main")
    commit(made, [make_plan(made, upsert("b", page("b", "Never ask.")), branch="train/x")], "train/x")
    return made


def subjects(loc: Location, text: str, spec: str = "") -> list[str]:
    return [entry.subject for entry in left_out.saying(loc, text, spec)]


def test_a_text_is_found_on_every_branch_or_on_the_one_that_is_named(loc: Location) -> None:
    assert subjects(loc, "ask.") == ["Teach b", "Teach a"]
    assert subjects(loc, "Never ask.", "main") == []
    assert subjects(loc, "-- never said") == []
    with pytest.raises(NotFoundError):
        subjects(loc, "x", "gone")


def test_what_no_branch_has_any_more_is_found_where_it_was_kept(loc: Location) -> None:
    tip = git(loc.repo.place, "rev-parse", "train/x")
    ref = left_out.keep(loc, tip)
    assert left_out.keep(loc, tip) == ref == f"refs/xpstore/left-out/{tip}"
    git(loc.repo.place, "branch", "-qD", "train/x")
    git(loc.repo.place, "reflog", "expire", "--all", "--expire=now")
    git(loc.repo.place, "gc", "-q", "--prune=now")
    assert subjects(loc, "Never ask.") == ["Teach b"]


def test_who_took_a_line_away_is_found_too(loc: Location) -> None:
    git(loc.repo.place, "rm", "-q", "experiences/a.md")
    git(loc.repo.place, "commit", "-qm", "Drop it")
    assert subjects(loc, "Always ask.") == ["Drop it", "Teach a"]
