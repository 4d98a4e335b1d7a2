from __future__ import annotations

import pytest

from hooks import ref_rules
from tests.builders import git
from xpstore.errors import RepositoryError

MAIN = "refs/heads/main"


def test_a_symbolic_ref_stands_for_another_one(desk):
    repo = desk.loc.repo
    git(desk.root, "symbolic-ref", "refs/heads/one", MAIN)
    git(desk.root, "symbolic-ref", "refs/heads/two", "refs/heads/one")
    git(desk.root, "symbolic-ref", "refs/tags/soon", "refs/heads/none/yet")
    (repo.common_dir / "refs/heads/link").symlink_to(MAIN)
    names = ["refs/heads/one", "refs/heads/two", "refs/heads/link", MAIN, "refs/heads/none"]
    assert [ref_rules.target(repo, name) for name in names] == [MAIN] * 4 + ["refs/heads/none"]
    assert ref_rules.target(repo, "refs/tags/soon") == "refs/heads/none/yet"


def test_one_that_leads_nowhere_stops_the_push(desk):
    for name, other in (("one", "two"), ("two", "one")):
        (desk.loc.repo.common_dir / "refs/heads" / name).write_text(f"ref: refs/heads/{other}\n")
    with pytest.raises(RepositoryError, match="cannot tell what refs/heads/one stands for"):
        ref_rules.target(desk.loc.repo, "refs/heads/one")


def test_a_branch_is_at_a_commit(desk):
    git(desk.root, "tag", "-a", "-m", "x", "v1")
    found = {
        what: ref_rules.not_a_commit(desk.loc.repo, git(desk.root, "rev-parse", what))
        for what in ("main", "main^{tree}", "main:xp.toml", "v1")
    }
    assert [what for what, remark in found.items() if remark is None] == ["main"]


@pytest.mark.parametrize(
    ("ref", "branch"),
    [
        ("refs/tags/main", "main"),
        ("refs/main", "main"),
        ("refs/tags/xp/evidence", "xp/evidence"),
        ("refs/heads/refs/heads/main", "main"),
        ("refs/tags/heads/main", "main"),
        ("refs/remotes/origin/main", "remotes/origin/main"),
        (MAIN, None),
        ("refs/heads/feature/x", None),
        ("refs/tags/\udcff", None),
    ],
)
def test_the_branch_that_a_name_could_be_taken_for(ref, branch):
    assert ref_rules.branch_in_place_of(ref) == (branch and f"refs/heads/{branch}")
