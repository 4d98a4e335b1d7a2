from __future__ import annotations

from itertools import pairwise
from typing import TYPE_CHECKING

import pytest

from tests.builders import make_plan, make_store, page, texts, upsert
from xpstore import timeline
from xpstore.commit import commit
from xpstore.unwinding import Unwinding

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    """A page in four plans; the third gives the second's statement figures."""
    loc = make_store(tmp_path / "s")
    figures = "Two.\n  *Support: 1 of 2.*"
    versions = [("One.",), ("One.", "Two."), ("One.", figures), ("One.", figures, "Four.")]
    before = None
    for lines in versions:
        after = page("a", *lines)
        commit(loc, [make_plan(loc, upsert("a", after, before))], "main")
        before = after
    return loc


@pytest.fixture
def unwinding(loc: Location) -> Unwinding:
    tip = loc.repo.ref(loc.main_ref)
    return Unwinding(loc, timeline.build(loc, tip), tip)


def chosen(unwinding: Unwinding, *places: int) -> dict[int, tuple[str, ...]]:
    return {at: unwinding.line.moments[at].plans for at in places}


def test_each_step_starts_where_the_one_before_it_ended(loc: Location, unwinding: Unwinding):
    found = unwinding.unwind(chosen(unwinding, 1, 2, 3))
    assert ([step.at for step in found.steps], found.conflicts) == ([3, 2, 1], ())
    items = [item for step in found.steps for item in step.items]
    assert items[0].before_content == texts(loc, "main")["a"]
    assert all(a.after_content == b.before_content for a, b in pairwise(items))
    assert items[-1].after_content == page("a", "One.")


def test_who_gave_a_statement_new_figures_builds_on_it(unwinding: Unwinding):
    events = chosen(unwinding, 1)
    found = unwinding.unwind(events)
    assert (found.conflicts, list(unwinding.building_on(found, events))) == ((), [2])
    events = chosen(unwinding, 1, 2)
    assert unwinding.building_on(unwinding.unwind(events), events) == {}


def test_what_is_in_the_way_is_named_with_who_builds_on_it(unwinding: Unwinding):
    events = chosen(unwinding, 0, 3)
    found = unwinding.unwind(events)
    assert (found.blocked, [step.at for step in found.steps]) == (0, [3])
    assert [c.name for c in found.conflicts] == ["a"]
    more = unwinding.building_on(found, events)
    assert list(more) == [1, 2]
    assert unwinding.unwind(events | more).conflicts == ()


def test_nothing_is_written(loc: Location, unwinding: Unwinding):
    before = loc.repo.refs("refs/")
    unwinding.unwind(chosen(unwinding, 0, 1, 2, 3))
    assert loc.repo.refs("refs/") == before
