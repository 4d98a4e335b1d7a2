from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, identify
from xpstore.errors import NotFoundError, RepositoryError, UsageError
from xpstore.git import Busy, Move, Repo
from xpstore.objects import EMPTY_TREE

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def repo(tmp_path: Path) -> Repo:
    path = tmp_path / "r"
    git(tmp_path, "init", "-q", "-b", "main", str(path))
    identify(path)
    (path / "a").mkdir()
    (path / "a" / "b.txt").write_text("ü\n")
    git(path, "add", ".")
    git(path, "commit", "-qm", "one\n\nbody")
    git(path, "commit", "-q", "--allow-empty", "-m", "two")
    found = Repo.discover(path / "a")
    assert found is not None
    return found


def test_refs_and_commits(repo: Repo) -> None:
    one, two = repo.resolve("main~1"), repo.resolve("main")
    assert repo.head_ref() == "refs/heads/main"
    assert repo.ref("refs/heads/main") == two == repo.resolve(two[:8])
    assert repo.ref("refs/heads/nothing") is None
    assert repo.refs("refs/heads/") == {"refs/heads/main": two}
    assert [c.id for c in repo.first_parents(two)] == [two, one]
    assert (repo.is_ancestor(one, two), repo.is_ancestor(two, one), repo.is_ancestor("1" * 40, two)) == (
        True,
        False,
        False,
    )
    commit = repo.commit(one)
    assert (commit.parents, commit.message, commit.author.name) == ((), "one\n\nbody\n", "Pat")
    assert repo.has(one)
    assert not repo.has("1" * 40)
    git(repo.place, "checkout", "-q", "--detach")
    assert repo.head_ref() is None


def test_files(repo: Repo) -> None:
    tree = repo.commit(repo.resolve("main")).tree
    assert [e.name for e in repo.children(tree, "a")] == ["b.txt"]
    assert repo.children(tree, "a/b.txt") == repo.children(tree, "none") == []
    ((path, blob),) = repo.files(tree)
    assert (path, repo.blob(blob)) == ("a/b.txt", "ü\n".encode())
    with pytest.raises(RepositoryError, match="no blob"):
        repo.blob(tree)


@pytest.mark.parametrize("spec", ["nothing", "a b", "", "..", "main:a", "1" * 40, "-x"])
def test_unknown_commits(repo: Repo, spec: str) -> None:
    with pytest.raises(NotFoundError):
        repo.resolve(spec)


def test_names_of_refs(repo: Repo) -> None:
    repo.check_ref("refs/heads/train/x")
    for name in ("refs/heads/a..b", "refs/heads/ a", "refs/heads/x.lock", "nothing"):
        with pytest.raises(UsageError):
            repo.check_ref(name)


def test_swap_is_all_or_nothing(repo: Repo) -> None:
    one, two = repo.resolve("main~1"), repo.resolve("main")
    seen = []
    wrong = [Move("refs/heads/x", None, one, "x"), Move("refs/heads/main", one, two, "m")]
    assert not repo.swap(wrong, lambda: seen.append(1))
    assert (repo.refs("refs/heads/"), seen) == ({"refs/heads/main": two}, [])
    right = [Move("refs/heads/x", None, one, "x"), Move("refs/heads/main", two, one, "m")]
    assert repo.swap(right, lambda: seen.append(1))
    assert (repo.refs("refs/heads/"), seen) == ({"refs/heads/main": one, "refs/heads/x": one}, [1])
    assert repo.swap([Move("refs/heads/x", one, None, "gone")])
    assert repo.ref("refs/heads/x") is None
    assert git(repo.place, "reflog", "-1", "--format=%gs %gn", "main") == "m Pat"


def test_swap_stopped_by_what_runs_before_it(repo: Repo) -> None:
    def stop() -> None:
        raise UsageError("stop")

    two = repo.resolve("main")
    with pytest.raises(UsageError):
        repo.swap([Move("refs/heads/x", None, two, "x")], stop)
    assert repo.ref("refs/heads/x") is None
    assert not list(repo.common_dir.glob("refs/**/*.lock"))


def test_held_lock_is_busy_and_a_clash_of_names_is_an_error(repo: Repo) -> None:
    two = repo.resolve("main")
    (repo.common_dir / "refs/heads/x.lock").touch()
    with pytest.raises(Busy, match=r"x\.lock"):
        repo.swap([Move("refs/heads/x", None, two, "x")])
    with pytest.raises(RepositoryError, match="main/below"):
        repo.swap([Move("refs/heads/main/below", None, two, "x")])


def test_linked_working_tree_shares_the_common_directory(repo: Repo, tmp_path: Path) -> None:
    git(repo.place, "worktree", "add", "-q", str(tmp_path / "linked"))
    linked = Repo.discover(tmp_path / "linked")
    assert linked is not None
    assert linked.common_dir.samefile(repo.common_dir)
    assert linked.head_ref() == "refs/heads/linked"
    assert linked.workdir == tmp_path / "linked"


def test_repositories_that_are_not_supported_say_so(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "--object-format=sha256", "new")
    with pytest.raises(RepositoryError) as caught:
        Repo.discover(tmp_path / "new")
    assert "SHA-256" in caught.value.hint
    git(tmp_path, "init", "-q", "table")
    git(tmp_path / "table", "config", "core.repositoryformatversion", "1")
    git(tmp_path / "table", "config", "extensions.refStorage", "reftable")
    with pytest.raises(RepositoryError) as caught:
        Repo.discover(tmp_path / "table")
    assert "reftable" in caught.value.hint


def test_environment_and_missing_directories(
    repo: Repo, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GIT_DIR", str(repo.git_dir))
    assert Repo.discover(tmp_path) is None
    assert Repo.discover(tmp_path / "nothing") is None


def test_corrupt_object_is_an_error_with_a_hint(repo: Repo) -> None:
    commit = repo.commit(repo.resolve("main"))
    file = repo.common_dir / "objects" / commit.tree[:2] / commit.tree[2:]
    file.chmod(0o644)
    file.write_bytes(b"")
    fresh = Repo.discover(repo.place)
    assert fresh is not None
    with pytest.raises(RepositoryError) as caught:
        fresh.read_tree(commit.tree)
    assert commit.tree in caught.value.message
    assert caught.value.hint


@pytest.fixture
def fresh(repo: Repo) -> Repo:
    """Return the repository as another process sees it."""
    found = Repo.discover(repo.place)
    assert found is not None
    return found


@pytest.mark.parametrize("cut", [0, 3, -8])
def test_a_loose_commit_that_is_cut_off_is_an_error_and_not_an_endless_loop(fresh: Repo, cut: int) -> None:
    two = git(fresh.place, "rev-parse", "main")
    file = fresh.common_dir / "objects" / two[:2] / two[2:]
    file.chmod(0o644)
    file.write_bytes(file.read_bytes()[:cut])
    for read in (lambda: fresh.resolve("main"), lambda: fresh.resolve("HEAD"), lambda: fresh.commit(two)):
        with pytest.raises(RepositoryError, match=two):
            read()


def test_a_missing_parent_is_no_end_of_history(fresh: Repo) -> None:
    one, two = git(fresh.place, "rev-parse", "main~1"), git(fresh.place, "rev-parse", "main")
    (fresh.common_dir / "objects" / one[:2] / one[2:]).unlink()
    with pytest.raises(RepositoryError, match=f"{one} .*missing"):
        list(fresh.first_parents(two))
    with pytest.raises(RepositoryError, match=f"{one} .*missing"):
        fresh.resolve("HEAD~1")
    with pytest.raises(NotFoundError):
        fresh.resolve(one)


@pytest.mark.parametrize("data", [b"", b"\0" * 41, b"1" * 40 + b"\n", b"short\n"])
def test_a_damaged_ref_is_never_taken_for_an_absent_one(fresh: Repo, data: bytes) -> None:
    (fresh.common_dir / "refs/heads/train").mkdir()
    (fresh.common_dir / "refs/heads/train/x").write_bytes(data)
    for read in (fresh.ref, fresh.refs, fresh.resolve):
        with pytest.raises(RepositoryError, match="refs/heads/train/x") as caught:
            read("refs/heads/train/x")
        assert "reflog" in caught.value.hint


def test_a_branch_that_is_gone_and_has_a_reflog_was_lost(fresh: Repo) -> None:
    branch = fresh.head_ref()
    assert branch is not None
    (fresh.common_dir / branch).unlink()
    for name in ("HEAD", branch):
        with pytest.raises(RepositoryError, match=f"{branch} in .* is gone, its reflog is not"):
            fresh.ref(name)
    git(fresh.place, "symbolic-ref", "HEAD", "refs/heads/unborn")
    assert fresh.ref("HEAD") is None


def test_clones_that_left_something_out_say_how_to_get_it(repo: Repo, tmp_path: Path) -> None:
    git(repo.place, "config", "uploadpack.allowFilter", "true")
    url = f"file://{repo.place}"
    git(tmp_path, "clone", "-q", "--no-checkout", "--filter=blob:none", url, "partial")
    git(tmp_path, "clone", "-q", "--depth=1", url, "shallow")
    partial, shallow = Repo.discover(tmp_path / "partial"), Repo.discover(tmp_path / "shallow")
    assert partial is not None
    assert shallow is not None
    ((_, blob),) = partial.files(partial.commit(partial.resolve("main")).tree)
    with pytest.raises(RepositoryError) as caught:
        partial.blob(blob)
    assert "git fetch --refetch" in caught.value.hint
    one, two = repo.resolve("main~1"), repo.resolve("main")
    assert [c.id for c in shallow.first_parents(two)] == [two]
    with pytest.raises(RepositoryError) as caught:
        shallow.commit(one)
    assert "--unshallow" in caught.value.hint


def test_tags_and_remote_branches_name_commits(repo: Repo, tmp_path: Path) -> None:
    one = repo.resolve("main~1")
    git(repo.place, "tag", "-am", "first", "v1", one)
    git(repo.place, "tag", "-am", "of a tag", "v2", "v1")
    git(repo.place, "tag", "tree", f"{one}^{{tree}}")
    assert repo.resolve("v1") == repo.resolve("v2") == repo.resolve("tags/v1") == one
    with pytest.raises(NotFoundError):
        repo.resolve("tree")
    git(tmp_path, "clone", "-q", str(repo.place), "copy")
    copy = Repo.discover(tmp_path / "copy")
    assert copy is not None
    assert copy.resolve("origin/main") == copy.resolve("origin") == repo.resolve("main")


def test_person_is_the_user_of_git_or_neutral(repo: Repo) -> None:
    assert (repo.person().name, repo.person().email) == ("Pat", "pat@example.org")
    git(repo.place, "config", "--unset", "user.name")
    assert repo.person().email == "pat@example.org"  # a process keeps what it has found
    again = Repo.discover(repo.place)
    assert again
    assert again.person().email == "xpstore@xpstore.invalid"
    git(repo.place, "config", "user.name", "Sam")
    assert again.person().name == "Sam"


def test_the_empty_tree_needs_no_object(repo: Repo) -> None:
    empty = git(repo.place, "commit-tree", "-m", "nothing", EMPTY_TREE).strip()
    assert list(repo.files(repo.commit(empty).tree)) == []
    assert repo.entry(repo.commit(empty).tree, "xp.toml") is None


def test_objects_that_are_lent_are_read_by_this_value_only(repo: Repo, tmp_path: Path) -> None:
    other = tmp_path / "other: repository"
    git(tmp_path, "init", "-q", str(other))
    (other / "file").write_text("lent")
    blob = git(other, "hash-object", "-w", "file")
    assert not repo.has(blob)
    repo.lend(other / ".git" / "objects")
    assert repo.blob(blob) == b"lent"
    again = Repo.discover(repo.place)
    assert again is not None
    assert not again.has(blob)
