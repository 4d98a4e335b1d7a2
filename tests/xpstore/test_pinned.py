import pytest

from tests.builders import git, make_store
from xpstore import pinned
from xpstore.errors import RepositoryError


@pytest.fixture
def store(tmp_path):
    git(tmp_path, "init", "-q", "--bare", "shared.git")
    location = make_store(tmp_path / "s")
    git(location.repo.place, "remote", "add", "origin", str(tmp_path / "shared.git"))
    return location


def refs(tmp_path):
    return git(tmp_path / "shared.git", "for-each-ref", "--format=%(refname) %(objectname)")


def test_a_commit_is_held_fetched_and_let_go(store, tmp_path):
    commit, repo = store.resolve("main"), store.repo
    for _ in range(2):  # two programs may hold the same one
        pinned.hold(repo, "origin", commit)
    assert refs(tmp_path) == f"{pinned.REFS}{commit} {commit}"
    url = pinned.address(repo, "origin")
    assert url == str(tmp_path / "shared.git")
    for _ in range(2):
        assert pinned.fetched(tmp_path / "worker", url, commit).has(commit)
    for _ in range(2):
        pinned.release(repo, "origin", commit)
    assert refs(tmp_path) == ""


def test_the_repository_itself_can_be_fetched_from(store, tmp_path):
    commit = store.resolve("main")
    assert pinned.fetched(tmp_path / "worker", str(store.repo.place), commit).has(commit)


def test_what_cannot_be_had_is_an_error(store, tmp_path):
    with pytest.raises(RepositoryError):
        pinned.fetched(tmp_path / "worker", str(tmp_path / "nowhere"), "1" * 40)
    git(store.repo.place, "remote", "set-url", "origin", str(tmp_path / "nowhere"))
    with pytest.raises(RepositoryError):
        pinned.hold(store.repo, "origin", store.resolve("main"))
