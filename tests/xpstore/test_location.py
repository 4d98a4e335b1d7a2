from __future__ import annotations

import subprocess
import sys
from typing import TYPE_CHECKING

import pytest

from tests.builders import git, identify, make_store
from xpstore.errors import FormatError, NotAStoreError, NotFoundError, UsageError
from xpstore.init import init
from xpstore.location import Location, stores

if TYPE_CHECKING:
    from pathlib import Path


def test_from_any_directory_inside(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    deep = tmp_path / "experiences" / "deep"
    deep.mkdir(parents=True)
    for path in (tmp_path, deep, deep / ".."):
        found = Location.find(path)
        assert (found.prefix, found.config) == ("", loc.config)
    assert loc.in_tree("experiences/a.md") == "experiences/a.md"


def test_no_store_and_no_repository(tmp_path: Path) -> None:
    with pytest.raises(NotAStoreError, match="no git repository"):
        Location.find(tmp_path)
    git(tmp_path, "init", "-q")
    with pytest.raises(NotAStoreError) as caught:
        Location.find(tmp_path)
    assert "xp init" in caught.value.hint


def test_prefix_in_worktree_bare_clone_and_other_branch(tmp_path: Path) -> None:
    code = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "trunk", str(code))
    identify(code)
    loc = init(code / "a" / "b")
    assert loc.in_tree("experiences/x.md") == "a/b/experiences/x.md"
    git(tmp_path, "clone", "-q", "--bare", str(code), "bare.git")
    git(code, "worktree", "add", "-q", "-b", "side", str(tmp_path / "linked"))
    git(code, "switch", "-q", "--orphan", "pages")
    for place in (code, tmp_path / "linked", tmp_path / "linked" / "a", tmp_path / "bare.git"):
        found = Location.find(place)
        assert (found.prefix, found.config) == ("a/b", loc.config)


def test_detached_head(tmp_path: Path) -> None:
    loc = init(tmp_path / "r" / "s") if git(tmp_path, "init", "-q", "r") == "" else None
    assert loc is not None
    git(tmp_path / "r", "checkout", "-q", "--detach")
    assert Location.find(tmp_path / "r").config == loc.config


def test_several_stores_need_a_choice(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    one, two = init(tmp_path / "one"), init(tmp_path / "two")
    with pytest.raises(UsageError, match="2 stores"):
        Location.find(tmp_path)
    assert Location.find(tmp_path / "one").config == one.config
    for choice in ("two", two.config.id):
        assert Location.find(tmp_path / "one", choice).config == two.config
    assert Location.find(tmp_path, "one").config == one.config
    with pytest.raises(NotAStoreError, match="three"):
        Location.find(tmp_path, "three")


def test_foreign_xp_toml_is_no_store_and_a_newer_one_says_so(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    identify(tmp_path)
    (tmp_path / "tool").mkdir()
    (tmp_path / "tool" / "xp.toml").write_text("other = 1\n")
    git(tmp_path, "add", ".")
    git(tmp_path, "commit", "-qm", "tool")
    with pytest.raises(FormatError):
        Location.find(tmp_path)
    loc = init(tmp_path / "s")
    assert Location.find(tmp_path).config == loc.config
    (tmp_path / "s" / "xp.toml").write_text("format = 99\n")
    with pytest.raises(FormatError):
        Location.find(tmp_path / "s")


def test_store_follows_its_moved_folder(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "main")
    identify(tmp_path)
    init(tmp_path / "old")
    git(tmp_path, "mv", "old", "new")
    git(tmp_path, "commit", "-qm", "move")
    loc = Location.find(tmp_path)
    assert loc.prefix == "new"
    assert loc.at(loc.repo.resolve("main~1")).prefix == "old"
    assert loc.at(loc.repo.resolve("main")) is loc


def test_refs_of_candidates_do_not_hide_main(tmp_path: Path) -> None:
    loc = make_store(tmp_path)
    git(tmp_path, "branch", "a-first")
    assert [s.config for s in stores(loc.repo)] == [loc.config]
    assert loc.branch_ref("train/x") == loc.branch_ref("refs/heads/train/x") == "refs/heads/train/x"
    assert loc.notes_ref == "refs/notes/xp-eval"


BRANCHES = ["HEAD", "-x", "--force", "", "a..b", "a b", "x.lock", "a//b", "/a", "a/", "@{-1}", "a~1", "a\n"]


@pytest.mark.parametrize("branch", [*BRANCHES, "a/HEAD", "train/-x", "FETCH_HEAD", "退款"])
def test_branches_have_the_names_that_git_allows(tmp_path: Path, branch: str) -> None:
    loc = make_store(tmp_path)
    command = ["git", "check-ref-format", "--branch", branch]
    is_fine = subprocess.run(command, cwd=tmp_path, capture_output=True, check=False).returncode == 0
    assert is_fine == (branch not in BRANCHES)
    for name in (branch, f"refs/heads/{branch}"):
        if is_fine:
            assert loc.branch_ref(name) == f"refs/heads/{branch}"
        else:
            with pytest.raises(UsageError, match="is no name for a branch") as caught:
                loc.branch_ref(name)
            assert caught.value.hint


@pytest.mark.parametrize("branch", ["@", "heads/main", "refs/main", "refs/tags/v1", "refs/heads/heads/main"])
def test_what_git_takes_for_another_branch_is_no_name(tmp_path: Path, branch: str) -> None:
    with pytest.raises(UsageError, match="is no name for a branch"):
        make_store(tmp_path).branch_ref(branch)


def test_a_name_that_is_not_utf8_is_none_for_a_branch(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="is no name for a branch"):
        make_store(tmp_path).branch_ref("a\udcff")


def test_location_needs_no_pydantic() -> None:
    code = "import sys, xpstore.location, xpstore.evidence; sys.exit('pydantic' in sys.modules)"
    subprocess.run([sys.executable, "-c", code], check=True)


@pytest.mark.parametrize(
    ("data", "words"), [(b"\xff", "not UTF-8"), (b"a = " + b"[" * 5000, "deeply nested")]
)
def test_an_xp_toml_that_cannot_be_read(tmp_path: Path, data: bytes, words: str) -> None:
    make_store(tmp_path)
    (tmp_path / "xp.toml").write_bytes(data)
    with pytest.raises(FormatError, match=words):
        Location.find(tmp_path)


def test_an_xp_toml_that_is_a_link_is_not_followed(tmp_path: Path) -> None:
    make_store(tmp_path / "s")
    (tmp_path / "s" / "xp.toml").rename(tmp_path / "elsewhere.toml")
    (tmp_path / "s" / "xp.toml").symlink_to(tmp_path / "elsewhere.toml")
    with pytest.raises(FormatError, match="symbolic link"):
        Location.find(tmp_path / "s")


def test_a_clone_of_another_branch_has_main_from_its_remote(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    main = loc.repo.resolve("main")
    git(tmp_path / "s", "branch", "train/x")
    git(tmp_path, "clone", "-q", "-b", "train/x", "s", "c")
    clone = Location.find(tmp_path / "c")
    assert clone.repo.ref(clone.main_ref) is None
    assert clone.tip_of("main") == clone.resolve("main") == clone.resolve(clone.main_ref) == main
    for spec in ("main~7", "none", "", "a..b"):
        with pytest.raises(NotFoundError):
            clone.resolve(spec)


def test_a_tag_takes_the_place_of_no_branch_not_of_a_remotes_either(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    main = loc.repo.resolve("main")
    other = git(tmp_path / "s", "commit-tree", "-m", "Other", "main^{tree}")
    git(tmp_path / "s", "branch", "train/x")
    git(tmp_path / "s", "tag", "main", other)
    git(tmp_path, "clone", "-q", "-b", "train/x", "s", "c")
    for here in (loc, Location.find(tmp_path / "c")):
        assert [here.resolve(spec) for spec in ("main", "tags/main")] == [main, other]


def test_a_store_is_found_that_only_the_remote_has(tmp_path: Path) -> None:
    loc = make_store(tmp_path / "s")
    git(tmp_path / "s", "switch", "-q", "--orphan", "pages")
    git(tmp_path / "s", "commit", "-q", "--allow-empty", "-m", "pages")
    git(tmp_path, "clone", "-q", "-b", "pages", "s", "c")
    assert Location.find(tmp_path / "c").config == loc.config
