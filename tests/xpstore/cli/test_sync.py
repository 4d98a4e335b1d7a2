from __future__ import annotations

import json
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from xpstore.cli.main import run
from xpstore.commit import commit

if TYPE_CHECKING:
    from xpstore.location import Location

BRANCH = "train/x"


@pytest.fixture
def loc(tmp_path) -> Location:
    git(tmp_path, "init", "-q", "--bare", "-b", "main", "shared.git")
    found = make_store(tmp_path / "s")
    commit(found, [make_plan(found, upsert("a", page("a")), branch=BRANCH)], BRANCH)
    return found


def test_what_is_shared_and_what_is_only_local(loc, tmp_path, capsys):
    where = ["-C", str(loc.repo.place)]
    assert run([*where, "sync"]) == 1
    err = capsys.readouterr().err
    assert "all of it is only here" in err
    assert "git remote add" in err
    git(loc.repo.place, "remote", "add", "origin", str(tmp_path / "shared.git"))
    assert run([*where, "sync"]) == 0
    assert capsys.readouterr().out.splitlines() == [
        "Published main, xp/evidence (origin)",
        "Only local: train/x (xp publish shares it)",
    ]
    assert run([*where, "sync", "origin", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {
        "remote": "origin",
        "received": [],
        "published": [],
        "only_local": [f"refs/heads/{BRANCH}"],
        "forgotten": [],
    }
