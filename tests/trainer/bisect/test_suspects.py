from __future__ import annotations

import pytest

from tests.builders import git, make_plan, page, upsert
from tests.trainer.bisect.broken import SUSPECTS, add_plan
from trainer.bisect.suspects import between
from xpstore.commit import commit
from xpstore.errors import NotFoundError, RepositoryError, UsageError
from xpstore.location import Location
from xpstore.revert import revert


def test_every_update_is_a_suspect_oldest_first(broken):
    span = between(broken, "good", "main")
    assert [entry.subject for entry in span.suspects] == [f"Update {n}" for n in range(1, SUSPECTS + 1)]
    assert len({state.tree for state in span.states}) == SUSPECTS + 1
    assert span.states[3].commit == span.suspect(3).commit
    plan = span.suspect(6).plan_ids[0]
    assert len(between(broken, "good", plan).suspects) == 6


def test_commits_that_change_no_experience_are_none(broken):
    where = broken.repo.place
    (where / "code.py").write_text("1\n")
    git(where, "add", "code.py")
    git(where, "commit", "-qm", "Write code")
    span = between(Location.find(where), "good", "main")
    assert len(span.suspects) == SUSPECTS


def test_what_was_undone_again_is_left_out(broken):
    start = between(broken, "good", "main").states[-1]
    for number in (21, 22):
        add_plan(broken, number)
    revert(broken, "main", "main")
    revert(broken, "main~2", "main")
    assert between(broken, "good", "main").undone == 4
    add_plan(broken, 23)
    span = between(broken, "good", "main")
    assert [e.subject for e in span.suspects[-2:]] == [f"Update {SUSPECTS}", "Update 23"]
    assert span.states[-2] == start


def test_what_was_undone_with_others_in_between_is_not_to_blame(broken):
    for number in (21, 22, 23):
        add_plan(broken, number)
    revert(broken, "main~1", "main")
    span = between(broken, "good", "main")
    last = SUSPECTS + 4
    assert (len(span.suspects), span.undone) == (last, 0)
    assert span.harmless == {SUSPECTS + 2, last}
    assert span.passing == {SUSPECTS + 2, SUSPECTS + 3}
    revert(broken, "main", "main")  # it is back, and the undoing is undone
    span = between(broken, "good", "main")
    assert span.harmless == set()


def test_a_merge_is_one_suspect_and_what_came_through_one_is_no_end(broken):
    where = broken.repo.place
    git(where, "switch", "-qc", "side", "good")
    commit(broken, [make_plan(broken, upsert("side", page("side")), branch="side")], "side")
    git(where, "switch", "-q", "main")
    git(where, "merge", "-q", "--no-ff", "-m", "Merge side", "side")
    span = between(broken, "good", "main")
    assert span.suspects[-1].subject == "Merge side"
    assert len(span.suspects) == SUSPECTS + 1
    with pytest.raises(UsageError, match="through a merge"):
        between(broken, "side", "main")


def test_ends_that_are_none(broken):
    with pytest.raises(UsageError, match="one commit"):
        between(broken, "main", "HEAD")
    with pytest.raises(UsageError, match="no ancestor") as error:
        between(broken, "main", "good")
    assert "other way round" in error.value.hint
    with pytest.raises(NotFoundError):
        between(broken, "good", "nowhere")
    revert(broken, "main", "main")
    with pytest.raises(NotFoundError, match="same experiences"):
        between(broken, "main~2", "main")


def test_a_shallow_clone_is_refused(broken, tmp_path):
    git(tmp_path, "clone", "-q", "--depth", "3", broken.repo.place.as_uri(), "shallow")
    with pytest.raises(RepositoryError, match="shallow"):
        between(Location.find(tmp_path / "shallow"), "main~1", "main")
