from __future__ import annotations

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore import kept
from xpstore.by_hand import TakeSide
from xpstore.commit import commit
from xpstore.errors import ConflictError
from xpstore.landing import land

FIRST = page("a", "Be short.")


@pytest.fixture
def store(tmp_path):
    """A store, and a plan that its main has outrun."""
    loc = make_store(tmp_path / "s")
    commit(loc, [make_plan(loc, upsert("a", FIRST))], "main")
    plan = make_plan(loc, upsert("a", page("a", "Be short.", "Never ask."), before=FIRST))
    commit(loc, [make_plan(loc, upsert("a", page("a", "Be short.", "Always ask."), before=FIRST))], "main")
    with pytest.raises(ConflictError):
        commit(loc, [plan], "main")
    return loc, plan


def test_a_refused_plan_is_kept_where_it_applies(store):
    """What lost must be kept and findable."""
    loc, plan = store
    main = git(loc.repo.place, "rev-parse", "main")
    (branch,) = kept.keep_all(loc, [plan])
    assert branch == f"xp/conflict/{plan.plan_id}"
    assert "- Never ask." in git(loc.repo.place, "show", f"{branch}:experiences/a.md")
    assert kept.waiting(loc) == (branch,)
    assert git(loc.repo.place, "rev-parse", "main") == main
    tip = git(loc.repo.place, "rev-parse", branch)
    assert kept.keep_all(loc, [plan]) == (branch,)
    assert git(loc.repo.place, "rev-parse", branch) == tip


def test_it_waits_until_somebody_has_decided(store):
    loc, plan = store
    (branch,) = kept.keep_all(loc, [plan])
    with pytest.raises(ConflictError):
        land(loc, branch)
    assert kept.waiting(loc) == (branch,)
    result = land(loc, branch, merge_page=TakeSide("theirs"))
    assert result.candidate.plan_ids == (plan.plan_id,)
    assert "- Never ask." in git(loc.repo.place, "show", "main:experiences/a.md")
    assert kept.waiting(loc) == ()
