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
    held = [pinned.hold(repo, "origin", commit) for _ in range(2)]  # two programs may hold the same one
    assert refs(tmp_path).split("\n") == [f"{ref} {commit}" for ref in sorted(held)]
    assert all(ref.startswith(f"{pinned.REFS}{commit}-") for ref in held)
    url = pinned.address(repo, "origin")
    assert url == str(tmp_path / "shared.git")
    for _ in range(2):
        assert pinned.fetched(tmp_path / "worker", url, commit).has(commit)
    pinned.release(repo, "origin", held[0], commit)
    assert refs(tmp_path) == f"{held[1]} {commit}"  # what the other one holds stays
    for _ in range(2):
        pinned.release(repo, "origin", held[1], commit)
    assert refs(tmp_path) == ""


@pytest.mark.parametrize(
    "url", ["https://h/x.git", "ssh://h/x", "git@h:x.git", "/srv/x.git", "file:///srv/x", "C:/x"]
)
def test_a_url_is_the_same_from_everywhere(store, url):
    git(store.repo.place, "remote", "set-url", "origin", url)
    assert pinned.address(store.repo, "origin") == url


@pytest.mark.parametrize("url", ["../shared.git", "./../shared.git"])
def test_a_path_is_meant_from_the_repository(store, tmp_path, url):
    git(store.repo.place, "remote", "set-url", "origin", url)
    assert pinned.address(store.repo, "origin") == str(tmp_path / "shared.git")


def test_a_password_in_a_url_is_in_no_message(tmp_path):
    with pytest.raises(RepositoryError) as caught:
        pinned.fetched(tmp_path / "worker", "http://me:hunter2@127.0.0.1:1/x.git", "1" * 40)
    assert "hunter2" not in f"{caught.value.message} {caught.value.hint}"


def test_the_repository_itself_can_be_fetched_from(store, tmp_path):
    commit = store.resolve("main")
    assert pinned.fetched(tmp_path / "worker", str(store.repo.place), commit).has(commit)


def test_what_cannot_be_had_is_an_error(store, tmp_path):
    with pytest.raises(RepositoryError):
        pinned.fetched(tmp_path / "worker", str(tmp_path / "nowhere"), "1" * 40)
    git(store.repo.place, "remote", "set-url", "origin", str(tmp_path / "nowhere"))
    with pytest.raises(RepositoryError):
        pinned.hold(store.repo, "origin", store.resolve("main"))
