from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, identify
from xpstore import tracking
from xpstore.errors import UsageError
from xpstore.git import Repo

if TYPE_CHECKING:
    from pathlib import Path

MAIN = "refs/heads/main"


@pytest.fixture
def clone(tmp_path: Path) -> Repo:
    """A clone without a branch of its own: of `hub`, which has one commit."""
    git(tmp_path, "init", "-q", "-b", "main", "hub")
    identify(tmp_path / "hub")
    git(tmp_path / "hub", "commit", "-q", "--allow-empty", "-m", "one")
    git(tmp_path, "init", "-q", "-b", "other", "c")
    git(tmp_path / "c", "remote", "add", "origin", str(tmp_path / "hub"))
    git(tmp_path / "c", "fetch", "-q", "origin")
    repo = Repo.discover(tmp_path / "c")
    assert repo is not None
    return repo


def second_remote(clone: Repo, name: str) -> None:
    git(clone.place, "remote", "add", name, str(clone.place.parent / "hub"))
    git(clone.place, "fetch", "-q", name)


def commit_in_hub(clone: Repo) -> str:
    hub = clone.place.parent / "hub"
    git(hub, "commit", "-q", "--allow-empty", "-m", "more")
    return git(hub, "rev-parse", "main")


def test_a_branch_that_one_remote_has(clone: Repo) -> None:
    there = clone.ref("refs/remotes/origin/main")
    assert there
    assert clone.ref(MAIN) is None
    assert tracking.tip(clone, MAIN) == there
    assert tracking.tip(clone, "refs/heads/none") is None
    assert tracking.tip(clone, "refs/notes/main") is None


def test_the_local_branch_comes_first(clone: Repo) -> None:
    git(clone.place, "branch", "main", "origin/main")
    commit_in_hub(clone)
    git(clone.place, "fetch", "-q", "origin")
    assert tracking.tip(clone, MAIN) == clone.ref(MAIN) != clone.ref("refs/remotes/origin/main")


def test_remotes_that_agree_and_remotes_that_do_not(clone: Repo) -> None:
    second_remote(clone, "team/ann")
    assert list(tracking.copies(clone, MAIN)) == ["refs/remotes/origin/main", "refs/remotes/team/ann/main"]
    assert tracking.tip(clone, MAIN) == clone.ref("refs/remotes/origin/main")
    commit_in_hub(clone)
    git(clone.place, "fetch", "-q", "origin")
    with pytest.raises(UsageError, match="origin/main, team/ann/main") as caught:
        tracking.tip(clone, MAIN)
    assert caught.value.hint == "choose one: git branch main origin/main"


def test_a_folder_of_branches_is_no_remote(clone: Repo) -> None:
    git(clone.place, "update-ref", "refs/remotes/origin/topic/main", "origin/main")
    assert list(tracking.copies(clone, MAIN)) == ["refs/remotes/origin/main"]
    assert list(tracking.below(clone, "refs/heads/topic/")) == ["refs/remotes/origin/topic/main"]


def test_what_no_remote_had_is_unpublished(clone: Repo) -> None:
    assert tracking.unpublished(clone, [MAIN, "refs/heads/none"]) == ()  # there is no such branch here
    git(clone.place, "branch", "-q", "main", "origin/main")
    assert tracking.unpublished(clone, [MAIN]) == ()
    commit_in_hub(clone)
    git(clone.place, "fetch", "-q", "origin")
    assert tracking.unpublished(clone, [MAIN]) == ()
    identify(clone.place)
    git(clone.place, "switch", "-q", "main")
    git(clone.place, "commit", "-q", "--allow-empty", "-m", "mine")
    assert tracking.unpublished(clone, [MAIN]) == (MAIN,)
