from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, make_plan, make_store, page, upsert
from tests.e2e.bad import loose, unpack
from xpstore import refill
from xpstore.commit import commit
from xpstore.location import Location

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def loc(tmp_path: Path) -> Location:
    made = make_store(tmp_path / "s")
    commit(made, [make_plan(made, upsert("a", page("a")), rollouts=())], "main")
    (tmp_path / "s" / "deep" / "er").mkdir(parents=True)
    (tmp_path / "s" / "deep" / "er" / "crlf.txt").write_bytes(b"one\r\ntwo\r\n")
    git(tmp_path / "s", "-c", "core.autocrlf=input", "add", ".")
    git(tmp_path / "s", "commit", "-qm", "By hand")
    unpack(tmp_path / "s")
    return Location.find(tmp_path / "s")


def without(loc: Location, *specs: str) -> tuple[Location, dict[str, str]]:
    """Lose these objects; return the store, opened anew, and what is lost."""
    for file, _ in [loose(loc.repo.place, spec) for spec in specs]:
        file.unlink()
    fresh = Location.find(loc.repo.place)
    return fresh, refill.lost(fresh.repo)


def test_what_is_lost_is_named_with_its_kind(loc: Location) -> None:
    assert refill.lost(loc.repo) == {}
    tree, blob = (git(loc.repo.place, "rev-parse", s) for s in ("HEAD:deep/er", "HEAD:xp.toml"))
    assert without(loc, "HEAD:deep/er", "HEAD:xp.toml")[1] == {tree: "tree", blob: "blob"}


def test_files_and_folders_of_a_working_tree(loc: Location) -> None:
    specs = ("HEAD^{tree}", "HEAD:deep", "HEAD:deep/er", "HEAD:deep/er/crlf.txt", "HEAD:xp.toml")
    wanted = {git(loc.repo.place, "rev-parse", spec): spec for spec in specs}
    fresh, _ = without(loc, *specs)
    found = dict(refill.from_working_trees(fresh.repo, dict.fromkeys(wanted, "unknown")))
    assert {wanted[object_id]: source for object_id, source in found.items()} == {
        "HEAD^{tree}": "the index",
        "HEAD:deep": "the index",
        "HEAD:deep/er": "the index",
        "HEAD:deep/er/crlf.txt": "deep/er/crlf.txt",
        "HEAD:xp.toml": "xp.toml",
    }
    assert refill.lost(fresh.repo) == {}


def test_a_file_that_somebody_changed_gives_nothing(loc: Location) -> None:
    with (loc.repo.place / "xp.toml").open("a") as out:
        out.write("# mine\n")
    fresh, wanted = without(loc, "HEAD:xp.toml")
    assert list(refill.from_working_trees(fresh.repo, wanted)) == []


def test_the_folders_of_a_plan_from_the_commit_before_and_from_the_one_after(loc: Location) -> None:
    plan = git(loc.repo.place, "rev-parse", "HEAD~1")
    for spec in (f"{plan}^{{tree}}", f"{plan}~1^{{tree}}"):
        fresh, wanted = without(loc, spec)
        ((object_id, source),) = refill.from_records(
            fresh, wanted, [git(loc.repo.place, "rev-parse", "HEAD")]
        )
        assert (object_id, source.startswith("the record of plan ")) == (next(iter(wanted)), True)
        assert refill.lost(fresh.repo) == {}


def test_a_plan_without_patches_has_no_page_to_give(loc: Location) -> None:
    fresh, wanted = without(loc, "HEAD:experiences/a.md")
    assert list(refill.from_patches(fresh, wanted)) == []
    assert list(refill.from_records(fresh, wanted, ["HEAD"])) == []
