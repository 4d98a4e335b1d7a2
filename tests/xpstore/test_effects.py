from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore import effects, events
from xpstore.commit import commit
from xpstore.effects import Effect
from xpstore.errors import FormatError, NotFoundError

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.events import Entry
    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    return make_store(tmp_path / "s")


def effect(before: str | None, after: str | None, name: str = "a") -> Effect:
    return Effect(name, frozenset({name}), before, after)


def tip_of(loc: Location) -> Entry:
    return events.entry_of(loc, git(loc.repo.place, "rev-parse", "main"))


ONE, TWO = page("a", "One."), page("a", "One.", "Two.")
FIGURES = page("a", "One.", "Two.\n  *Support: 1 of 2.*")


@pytest.mark.parametrize(
    ("later", "touches", "carries_on"),
    [
        (effect(TWO, FIGURES), True, True),
        (effect(TWO, ONE), True, False),
        (effect(TWO, page("a", "Other.", "Two.")), False, False),
        (effect(TWO, page("a", "One.", "Two.", "Three.")), False, False),
        (effect(TWO, TWO.replace("When", "Always when")), False, False),
        (effect(TWO, FIGURES, "b"), False, False),
    ],
)
def test_a_later_effect_builds_on_what_it_changes(later: Effect, *, touches: bool, carries_on: bool):
    assert effect(ONE, TWO).is_touched_by(later) is touches
    assert effect(ONE, TWO).is_carried_on_by(later) is carries_on


def test_whatever_changes_a_page_touches_what_made_it():
    assert effect(None, ONE).is_touched_by(effect(ONE, TWO))
    assert not effect(None, ONE).is_carried_on_by(effect(ONE, TWO))
    broken = "---\nname: [\n---\n\n- One.\n"
    assert effect(broken, broken + "- Two.\n").is_touched_by(effect(broken + "- Two.\n", broken))


def test_an_effect_goes_by_the_name_of_today(loc: Location):
    plan = make_plan(loc, upsert("a", ONE))
    sha = commit(loc, [plan], "main")[0].commit
    git(loc.repo.place, "mv", "experiences/a.md", "experiences/b.md")
    git(loc.repo.place, "commit", "-qm", "Rename")
    done = effects.of_plans(loc, events.entry_of(loc, sha), [plan.plan_id])
    (found,) = [effects.followed(e, [tip_of(loc)]) for e in done]
    assert found == Effect("b", frozenset("ab"), None, ONE)


def test_one_plan_of_a_squash_is_read_from_its_record(loc: Location):
    place = loc.repo.place
    plans = [make_plan(loc, upsert("a", ONE)), make_plan(loc, upsert("a", TWO, ONE))]
    commit(loc, plans, "train/1")
    git(place, "merge", "-q", "--squash", "train/1")
    git(place, "commit", "-qm", "Land\n\n" + git(place, "log", "--format=%B", "main..train/1"))
    entry = tip_of(loc)
    ids = [plan.plan_id for plan in plans]
    assert list(effects.of_plans(loc, entry, ids[1:])) == [effect(ONE, TWO)]
    assert list(effects.of_plans(loc, entry, ids)) == [effect(None, TWO)]
    git(place, "update-ref", "-d", loc.evidence_ref)
    with pytest.raises(NotFoundError, match="no record"):
        list(effects.of_plans(loc, entry, ids[1:]))


def test_what_is_not_utf8_is_an_error(loc: Location):
    (loc.repo.place / "x").write_bytes(b"\xff")
    blob = git(loc.repo.place, "hash-object", "-w", "x")
    with pytest.raises(FormatError):
        effects.text_of(loc, blob)
    assert effects.text_of(loc, "") is effects.text_of(loc, effects.NOTHING) is None
