from __future__ import annotations

import shlex
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, texts, upsert
from xpstore import history
from xpstore.commit import commit
from xpstore.errors import DocumentError, NotFoundError, RefusedError, UsageError
from xpstore.revert import revert
from xpstore.snapshot import snapshot
from xpstore.status import set_status

if TYPE_CHECKING:
    from pathlib import Path

    from xpstore.location import Location

HUMAN = "---\r\nname: a   # mine\r\nstatus: draft\r\ntags: [x]\r\n---\r\n\r\n- One.\r\n"


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    loc = make_store(tmp_path / "s")
    commit(loc, [make_plan(loc, upsert("a", HUMAN), upsert("b", page("b")))], "main")
    return loc


def test_only_the_status_changes(loc: Location):
    result = set_status(loc, ["a"], "production", "main")
    assert texts(loc, "main")["a"] == HUMAN.replace("draft", "production")
    newest = next(history.log(loc, "main"))
    assert (newest.commit, newest.subject, newest.stamps[0].learner) == (result.commit, "Promote a", "person")
    assert git(loc.repo.place, "status", "--porcelain") == ""


def test_those_that_have_it_already_are_named(loc: Location):
    result = set_status(loc, ["a", "b", "a"], "production", "main")
    assert result.already == ("b",)
    with pytest.raises(RefusedError, match="already production: a, b"):
        set_status(loc, ["a", "b"], "production", "main")


def test_a_dry_run_writes_nothing(loc: Location):
    before = git(loc.repo.place, "rev-parse", "--all")
    assert set_status(loc, ["b"], "archived", "main", dry_run=True).commit == ""
    assert git(loc.repo.place, "rev-parse", "--all") == before


def test_the_same_decision_twice_is_two_plans(loc: Location):
    set_status(loc, ["b"], "deprecated", "main")
    set_status(loc, ["b"], "production", "main")  # from here on the page says its status
    first = set_status(loc, ["b"], "deprecated", "main")
    set_status(loc, ["b"], "production", "main")
    second = set_status(loc, ["b"], "deprecated", "main")
    assert (first.plan.items, first.plan.again) == (second.plan.items, 0)
    assert second.plan.again == 1
    assert first.plan.plan_id != second.plan.plan_id
    revert(loc, second.plan.plan_id, "main")
    assert snapshot(loc, "main").by_name["b"].status == "production"


def test_what_is_not_there_or_no_status_is_refused(loc: Location):
    with pytest.raises(NotFoundError, match="no experience 'bb'") as caught:
        set_status(loc, ["a", "bb"], "archived", "main")
    assert "'b'" in caught.value.hint
    with pytest.raises(NotFoundError, match="no experience 'unlike'") as caught:
        set_status(loc, ["unlike"], "archived", "main")
    command, _, rest = caught.value.hint.rpartition(" lists them")
    assert rest == ""
    assert git(loc.repo.place, *shlex.split(command)[1:]).split() == ["a.md", "b.md"]
    with pytest.raises(UsageError):
        set_status(loc, ["a"], "great", "main")  # type: ignore[arg-type]
    file = loc.repo.place / "experiences" / "b.md"
    file.write_text("---\nname: [\n---\n- One.\n")
    git(loc.repo.place, "commit", "-qam", "Break it")
    with pytest.raises(DocumentError):
        set_status(loc, ["b"], "archived", "main")
