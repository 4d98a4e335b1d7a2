"""Two mains that meet in a repository of agents' code, where people commit code to main too."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.builders import fsck, git, identify, make_plan, page, texts, upsert
from xpstore.commit import commit
from xpstore.errors import RefusedError
from xpstore.init import init
from xpstore.location import Location
from xpstore.sync import sync
from xpstore.verify import verify

if TYPE_CHECKING:
    from collections.abc import Callable


@pytest.fixture(scope="module")
def world(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A store in a folder of code, published to a bare repository, and a clone of it."""
    top = tmp_path_factory.mktemp("world")
    git(top, "init", "-q", "--bare", "-b", "main", "shared.git")
    git(top, "init", "-q", "-b", "main", "one")
    identify(top / "one")
    code(top / "one", "app.py")
    git(top / "one", "remote", "add", "origin", "../shared.git")
    loc = init(top / "one" / "memory")
    teach(loc, *(f"page-{number}" for number in range(6)))
    sync(loc)
    git(top, "clone", "-q", "shared.git", "two")
    identify(top / "two")
    git(top / "two", "remote", "set-url", "origin", "../shared.git")
    return top


@pytest.fixture
def one(world: Path, tmp_path: Path) -> Location:
    shutil.copytree(world, tmp_path, dirs_exist_ok=True)
    return Location.find(tmp_path / "one" / "memory")


@pytest.fixture
def two(one: Location) -> Location:
    return Location.find(one.repo.place.parent / "two" / "memory")


def code(where: Path, name: str) -> None:
    (where / name).write_text(f"# {name}\n")
    git(where, "add", name)
    git(where, "commit", "-qm", f"Add {name}")


def teach(loc: Location, *names: str) -> None:
    plans = [make_plan(loc, upsert(name, page(name)), rollouts=(), run_id=name) for name in names]
    commit(loc, plans, "main")


def main(*locs: Location | Path) -> set[str]:
    return {git(at if isinstance(at, Path) else at.repo.place, "rev-parse", "main") for at in locs}


def test_code_and_merges_are_published_and_taken_in_like_anything_else(
    one: Location, two: Location, tmp_path: Path
) -> None:
    place = one.repo.place
    git(place, "switch", "-qc", "side")
    code(place, "side.py")
    git(place, "switch", "-q", "main")
    code(place, "main.py")
    git(place, "merge", "-q", "--no-edit", "side")
    teach(one, "a")
    assert "refs/heads/main" in sync(one).published
    assert "refs/heads/main" in sync(two).received
    assert len(main(one, two, tmp_path / "shared.git")) == 1
    assert (two.repo.place / "side.py").is_file()
    assert git(two.repo.place, "status", "--short") == ""


def test_plans_go_on_top_of_code_that_others_published(one: Location, two: Location) -> None:
    code(one.repo.place, "more.py")
    sync(one)
    teach(two, "b")
    sync(two)
    assert git(two.repo.place, "log", "-2", "--format=%s") == "Teach b\nAdd more.py"
    assert {finding.state for finding in verify(two, "main")} == {"intact", "carried"}


def test_code_here_and_news_there_are_for_git_to_bring_together(one: Location, two: Location) -> None:
    teach(one, "a")
    sync(one)
    code(two.repo.place, "mine.py")
    teach(two, "b")
    before, refs = main(two), git(two.repo.place, "for-each-ref", "refs/heads")
    with pytest.raises(
        RefusedError, match=r"both moved, and \w{9} here changes mine.py \(Add mine.py\)"
    ) as no:
        sync(two)
    assert (main(two), git(two.repo.place, "for-each-ref", "refs/heads")) == (before, refs)
    assert "`git pull --rebase origin main`" in no.value.hint
    git(two.repo.place, "pull", "-q", "--rebase", "origin", "main")
    sync(two)
    sync(one)
    assert len(main(one, two)) == 1
    assert {"a", "b"} <= texts(one, "main").keys()
    assert [finding.problems for finding in verify(one, "main") if finding.problems] == []


def test_a_merge_made_by_git_pull_is_published(one: Location, two: Location) -> None:
    teach(one, "a")
    sync(one)
    code(two.repo.place, "mine.py")
    teach(two, "b")
    git(two.repo.place, "pull", "-q", "--no-rebase", "--no-edit", "origin", "main")
    sync(two)
    sync(one)
    assert len(main(one, two)) == 1
    assert [finding.problems for finding in verify(one, "main") if finding.problems] == []
    teach(one, "c")
    sync(one)
    git(two.repo.place, "commit", "-q", "--allow-empty", "-m", "Nothing")
    git(two.repo.place, "merge", "-q", "--no-ff", "--no-edit", "HEAD~1")
    sync(two)
    fsck(two.repo.place)


def replace_by_few(place: Path) -> None:
    """Push another root with two of the pages, as a server did that lost its history."""
    git(place, "switch", "-q", "--orphan", "new")
    git(place, "checkout", "main", "--", "memory/xp.toml", "memory/experiences/page-0.md")
    git(place, "commit", "-qm", "Start over")
    git(place, "push", "-q", "--force", "origin", "HEAD:main")


def delete_most(place: Path) -> None:
    git(place, "switch", "-qc", "new")
    git(place, "rm", "-q", *(f"memory/experiences/page-{number}.md" for number in range(1, 6)))
    git(place, "commit", "-qm", "Tidy up")
    git(place, "push", "-q", "--force", "origin", "HEAD:main")


@pytest.mark.parametrize(
    ("spoil", "words"),
    [
        (replace_by_few, "no history in common with main; of 6 pages here it has 1, without page-1"),
        (delete_most, r"origin/main would take from main 5 of 6 pages \(page-1, page-2"),
    ],
)
def test_a_main_elsewhere_that_lost_its_pages_takes_none_here(
    one: Location, two: Location, spoil: Callable[[Path], None], words: str
) -> None:
    spoil(one.repo.place)
    before = git(two.repo.place, "for-each-ref", "refs/heads")
    with pytest.raises(RefusedError, match=words):
        sync(two)
    assert git(two.repo.place, "for-each-ref", "refs/heads") == before
    assert len(texts(two, "main")) == 6


def test_a_main_here_that_lost_its_pages_is_not_published(one: Location, tmp_path: Path) -> None:
    before = main(tmp_path / "shared.git")
    delete_most_here = [f"memory/experiences/page-{number}.md" for number in range(1, 6)]
    git(one.repo.place, "rm", "-q", *delete_most_here)
    git(one.repo.place, "commit", "-qm", "Tidy up")
    with pytest.raises(RefusedError, match="main would take from origin/main 5 of 6 pages") as no:
        sync(one)
    assert main(tmp_path / "shared.git") == before
    assert "git push origin main" in no.value.hint
    git(one.repo.place, "push", "-q", "origin", "main")
    assert sync(one).published == ()
