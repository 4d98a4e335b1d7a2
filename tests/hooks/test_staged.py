from __future__ import annotations

import pytest

from hooks.staged import Index, homes
from tests.builders import git, make_store, page
from tests.hooking import attempt, opened, write_page
from xpstore.errors import FormatError


def test_what_is_staged_counts_and_not_what_lies_in_the_working_tree(tmp_path):
    loc = make_store(tmp_path / "store")
    path = write_page(loc.repo.place, "a", "Staged.")
    (loc.repo.place / path).write_text(page("a", "Only in the working tree."))
    (change,) = Index(loc.repo, None).changes()
    assert (change.path, change.before) == ("experiences/a.md", None)
    assert loc.repo.blob(change.after.id) == page("a", "Staged.").encode()


def test_the_index_that_git_names_is_read(tmp_path):
    loc = make_store(tmp_path / "store")
    write_page(loc.repo.place, "a")
    other = tmp_path / "other"
    other.write_bytes((loc.repo.git_dir / "index").read_bytes())
    write_page(loc.repo.place, "b")
    assert [c.path for c in Index(loc.repo, other).changes()] == ["experiences/a.md"]
    assert len(Index(loc.repo, None).changes()) == 2


def test_the_first_commit_of_all_is_compared_with_nothing(tmp_path):
    git(tmp_path, "init", "-q", "repo")
    (tmp_path / "repo" / "xp.toml").write_text('format = 1\nid = "1"\n')
    git(tmp_path / "repo", "add", ".")
    index = Index(opened(tmp_path / "repo"), None)
    assert [c.path for c in index.changes()] == ["xp.toml"]
    assert index.stores(["xp.toml"])[""].id == "1"


def test_a_bare_repository_with_linked_working_trees_has_an_index_for_each(tmp_path):
    loc = make_store(tmp_path / "store")
    git(tmp_path, "clone", "-q", "--bare", str(loc.repo.place), "bare.git")
    git(tmp_path / "bare.git", "worktree", "add", "-q", str(tmp_path / "linked"), "main")
    write_page(tmp_path / "linked", "a")
    index = Index(opened(tmp_path / "linked"), None)
    assert [c.path for c in index.changes()] == ["experiences/a.md"]
    assert index.entries(["experiences"]).keys() == {"experiences/a.md"}


def test_the_store_of_a_path_is_the_folder_with_an_xp_toml(tmp_path):
    git(tmp_path, "init", "-q", "-b", "main", "repo")
    loc = make_store(tmp_path / "repo" / "agents" / "desk")
    index = Index(loc.repo, None)
    paths = ["agents/desk/experiences/a.md", "experiences/b.md", "agents/experiences/c.md", "code.py"]
    assert index.stores(paths).keys() == {"agents/desk"}
    assert index.stores([]) == {}
    (loc.repo.place / "agents/desk/xp.toml").write_text("format = 99\n")
    git(loc.repo.place, "add", ".")
    with pytest.raises(FormatError):
        index.stores(paths)


def test_folders_that_a_path_may_have_its_store_in():
    assert homes("experiences/a.md") == [""]
    assert homes("x/experiences/experiences/a.md") == ["x", "x/experiences"]
    assert homes("x/xp.toml") == ["x"]
    assert homes("x/experiences") == ["x"]  # a file or a link in its place
    assert homes("src/a.py") == []


def test_sides_of_a_conflict_are_nothing_that_is_committed(tmp_path):
    loc = make_store(tmp_path / "store")
    blob = loc.repo.entry(loc.repo.commit(loc.repo.resolve("HEAD")).tree, "xp.toml").id
    lines = "".join(f"100644 {blob} {stage}\texperiences/a.md\n" for stage in (1, 2, 3))
    assert attempt(loc.repo.place, "update-index", "--index-info", stdin=lines) == (0, "")
    assert Index(loc.repo, None).entries(["experiences"]) == {}
