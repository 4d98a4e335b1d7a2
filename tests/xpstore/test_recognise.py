from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore import history, recognise, timeline
from xpstore.commit import commit
from xpstore.undone import undone_statements

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def squashed(tmp_path: Path) -> tuple[Location, list[str]]:
    """A store whose main has three plans as one commit with a title only, and their ids."""
    loc = make_store(tmp_path / "s")
    place = loc.repo.place
    first = make_plan(loc, upsert("a", page("a", "One.")))
    second = make_plan(loc, upsert("a", page("a", "One.", "Two."), page("a", "One.")))
    third = make_plan(loc, upsert("b", page("b")))
    commit(loc, [first, second, third], "train/1")
    git(place, "merge", "-q", "--squash", "train/1")
    git(place, "commit", "-qm", "Train (#3)")
    git(place, "branch", "-qD", "train/1")
    return loc, [first.plan_id, second.plan_id, third.plan_id]


def test_a_title_is_known_by_its_results(squashed: tuple[Location, list[str]]):
    loc, ids = squashed
    assert history.reachable_plan_ids(loc, ["main"]) == set(ids)
    (entry,) = history.log(loc, "main")
    assert set(entry.plan_ids) == set(ids)
    assert history.find_commit(loc, ids[0]) == entry.commit
    git(loc.repo.place, "revert", "--no-edit", "HEAD")
    assert not any(timeline.build(loc, "main").is_active(i) for i in ids)
    assert {(u.experience, u.key) for u in undone_statements(loc, "main")} >= {("a", "One."), ("a", "Two.")}


def test_one_other_byte_is_a_persons_commit(squashed: tuple[Location, list[str]]):
    loc, _ = squashed
    file = loc.repo.place / "experiences" / "b.md"
    file.write_text(file.read_text() + "- Mine.\n")
    git(loc.repo.place, "commit", "-qa", "--amend", "--no-edit")
    assert history.reachable_plan_ids(loc, ["main"]) == frozenset()


def test_records_of_plans_that_the_history_names_are_not_read(
    squashed: tuple[Location, list[str]], monkeypatch: pytest.MonkeyPatch
):
    loc, ids = squashed
    (landed,) = commit(loc, [make_plan(loc, upsert("c", page("c")))], "main")
    (loc.repo.place / "experiences" / "d.md").write_text("Mine.\n")
    git(loc.repo.place, "add", "-A")
    git(loc.repo.place, "commit", "-qm", "By hand")
    asked: list[str] = []
    original = recognise.recorded
    monkeypatch.setattr(recognise, "recorded", lambda at, i: asked.append(i) or original(at, i))
    monkeypatch.setattr(recognise, "MANY", 0)
    assert [e.plan_ids for e in history.log(loc, "main", limit=1)] == [()]
    assert sorted(asked) == sorted(ids)
    assert landed.plan_id not in ids
    assert [len(e.plan_ids) for e in history.log(loc, "main", limit=3)] == [0, 1, 3]


def test_gits_own_squash_message_names_the_plans(tmp_path: Path):
    loc = make_store(tmp_path / "s")
    plans = [make_plan(loc, upsert(n, page(n))) for n in "ab"]
    commit(loc, plans, "train/1")
    git(loc.repo.place, "merge", "-q", "--squash", "train/1")
    git(loc.repo.place, "commit", "-q", "--no-edit")
    assert history.reachable_plan_ids(loc, ["main"]) == {p.plan_id for p in plans}
    assert history.find_commit(loc, plans[0].plan_id, within="main") == git(
        loc.repo.place, "rev-parse", "main"
    )


def test_a_record_of_any_shape_is_read():
    odd = recognise.of_record(
        {"plan_id": "aa", "items": [1, {"target_experience_name": "x"}], "reverts": None}
    )
    assert (odd.stamp.plan_id, odd.effects) == ("aa", {"x": ("None", "None")})
