from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import fsck, git, identify
from xpstore import publish
from xpstore.config import parse_config
from xpstore.errors import RefusedError, RepositoryError, UsageError
from xpstore.init import init
from xpstore.location import Location
from xpstore.source import Source, read_source

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def code(tmp_path: Path) -> Path:
    path = tmp_path / "code"
    git(tmp_path, "init", "-q", "-b", "trunk", str(path))
    identify(path)
    (path / "app.py").write_text("print()\n")
    git(path, "add", ".")
    git(path, "commit", "-qm", "code")
    return path


def test_new_repository(tmp_path: Path) -> None:
    loc = init(tmp_path / "deep" / "er")
    here = tmp_path / "deep" / "er"
    assert (loc.prefix, loc.main_ref, loc.evidence_ref) == ("", "refs/heads/main", "refs/heads/xp/evidence")
    assert git(here, "ls-files") == "xp.toml"
    assert git(here, "status", "--short", "--branch") == "## main"
    assert len(loc.config.id) == 20
    assert init(tmp_path / "two", main="lessons").main_ref == "refs/heads/lessons"
    fsck(here)


def test_directory_with_files_becomes_a_repository_that_does_not_track_them(tmp_path: Path) -> None:
    (tmp_path / "mine.txt").write_text("x")
    init(tmp_path)
    assert git(tmp_path, "status", "--short") == "?? mine.txt"


def test_dirty_repository_keeps_its_state(code: Path) -> None:
    (code / "app.py").write_text("print(1)\n")
    (code / "staged.py").write_text("staged\n")
    (code / "both.py").write_text("staged\n")
    git(code, "add", "staged.py", "both.py")
    (code / "both.py").write_text("changed\n")
    (code / "new.py").write_text("new\n")
    before = git(code, "status", "--short")
    loc = init(code)
    assert git(code, "status", "--short") == before
    assert git(code, "show", "--format=", "--name-status") == "A\txp.toml"
    assert loc.config.main == "trunk"
    assert (code / "xp.toml").is_file()


def test_folder_of_a_repository(code: Path) -> None:
    loc = init(code / "agents" / "退款")
    assert loc.prefix == "agents/退款"
    assert git(code, "-c", "core.quotePath=off", "show", "--format=", "--name-only") == "agents/退款/xp.toml"
    assert Location.find(code).config == loc.config
    assert git(code, "status", "--short") == ""


def test_unborn_branch_with_staged_files(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q", "-b", "trunk")
    (tmp_path / "a.py").write_text("a")
    git(tmp_path, "add", ".")
    init(tmp_path / "store")
    assert git(tmp_path, "status", "--short") == "A  a.py"
    assert git(tmp_path, "ls-tree", "-r", "--name-only", "HEAD") == "store/xp.toml"


def test_second_store_is_named_after_its_directory(code: Path) -> None:
    first, second = init(code / "a" / "desk"), init(code / "b" / "desk2")
    assert (first.config.name, second.config.name) == ("", "desk2")
    assert second.evidence_ref == "refs/heads/xp/desk2/evidence"
    assert second.candidate_prefix == "train/desk2/"
    assert init(code / "c", name="third").config.name == "third"
    assert [Location.find(code / p).config.name for p in ("a/desk", "b/desk2", "c")] == ["", "desk2", "third"]


@pytest.mark.parametrize(
    ("place", "options", "words"),
    [
        ("a", {}, "already"),
        ("a/below", {}, "inside the store"),
        (".", {}, "in each other"),
        ("b", {"name": "evidence"}, "cannot have the name"),
        ("b", {"name": "not/a name"}, ""),
        ("b", {"main": "other"}, "trunk is checked out"),
        ("c", {"name": "second"}, "has a store 'second'"),
        (".git/x", {}, "not in the working tree"),
        ("app.py", {}, "is a file"),
    ],
)
def test_refused_and_nothing_written(code: Path, place: str, options: dict[str, str], words: str) -> None:
    init(code / "a")
    init(code / "second")
    before = git(code, "for-each-ref"), sorted(p for p in code.iterdir() if p.name != ".git")
    with pytest.raises(UsageError, match=words or "name"):
        init(code / place, **options)
    assert (git(code, "for-each-ref"), sorted(p for p in code.iterdir() if p.name != ".git")) == before


def test_store_that_is_committed_but_deleted_by_hand_is_still_one(code: Path) -> None:
    init(code / "a")
    (code / "a" / "xp.toml").unlink()
    with pytest.raises(UsageError, match="already"):
        init(code / "a")


def test_detached_head_and_bare_repository_are_refused_with_a_hint(code: Path, tmp_path: Path) -> None:
    git(code, "checkout", "-q", "--detach")
    with pytest.raises(UsageError, match="no branch is checked out"):
        init(code)
    git(tmp_path, "init", "-q", "--bare", "bare.git")
    with pytest.raises(UsageError) as caught:
        init(tmp_path / "bare.git")
    assert "clone" in caught.value.hint


def test_unmerged_index_stops_it(code: Path) -> None:
    git(code, "switch", "-qc", "side")
    (code / "app.py").write_text("side\n")
    git(code, "commit", "-qam", "side")
    git(code, "switch", "-q", "trunk")
    (code / "app.py").write_text("trunk\n")
    git(code, "commit", "-qam", "trunk")
    with pytest.raises(AssertionError):
        git(code, "merge", "side")
    before = git(code, "rev-parse", "HEAD")
    with pytest.raises((RefusedError, RepositoryError)):
        init(code / "a")
    assert git(code, "rev-parse", "HEAD") == before
    assert not (code / "a").exists()


# -- from a folder of plain files -----------------------------------------------------------------------


@pytest.fixture
def source(tmp_path: Path) -> Source:
    path = tmp_path / "sample"
    (path / "experiences").mkdir(parents=True)
    (path / "cases").mkdir()
    (path / "experiences" / "退款.md").write_text("# 退款\n\n- 先查询订单。\n")
    (path / "cases" / "gate.jsonl").write_text('{"name": "one"}\n')
    (path / "README.md").write_text("# Sample\n")
    (path / "xp.toml").write_text("# Eight: noisy.\n[evaluation]\ntrials = 8\n")
    return read_source(path)


FILES = "README.md\ncases/gate.jsonl\nexperiences/退款.md\nxp.toml"


def test_the_first_commit_has_all_of_the_source(tmp_path: Path, source: Source) -> None:
    one, two = (init(tmp_path / name, source=source) for name in ("one", "two"))
    here = tmp_path / "one"
    assert git(here, "-c", "core.quotePath=off", "ls-files") == FILES
    assert git(here, "rev-list", "--count", "HEAD") == "1"
    assert git(here, "status", "--short") == ""
    assert (here / "README.md").read_text() == "# Sample\n"
    assert one.config.id != two.config.id
    assert one.config.evaluation.trials == 8
    assert parse_config((here / "xp.toml").read_text(), "xp.toml") == one.config
    assert "# Eight: noisy." in (here / "xp.toml").read_text()
    fsck(here)


def test_a_source_in_a_folder_of_a_repository(code: Path, source: Source) -> None:
    (code / "app.py").write_text("print(1)\n")
    loc = init(code / "agent", source=source)
    assert (loc.prefix, loc.config.main) == ("agent", "trunk")
    assert git(code, "status", "--porcelain") == " M app.py"
    listed = git(code, "-c", "core.quotePath=off", "ls-files", "agent").splitlines()
    assert listed == [f"agent/{file}" for file in FILES.splitlines()]
    second = init(code / "other", source=source)
    assert second.config.name == "other"
    assert Location.find(code / "other").config == second.config


def listing(path: Path) -> list[str]:
    return sorted(str(p.relative_to(path)) for p in path.rglob("*") if ".git" not in p.parts)


@pytest.mark.parametrize("part", ["README.md", "experiences/退款.md", "cases", "xp.toml"])
def test_nothing_is_overwritten_and_nothing_half_made(tmp_path: Path, source: Source, part: str) -> None:
    here = tmp_path / "mine"
    (here / part).parent.mkdir(parents=True)
    (here / part).write_text("mine")
    before = listing(here)
    with pytest.raises((UsageError, RefusedError)):
        init(here, source=source)
    assert listing(here) == before
    assert not (here / ".git").exists()


def test_a_committed_file_that_is_deleted_is_not_overwritten_either(code: Path, source: Source) -> None:
    (code / "README.md").write_text("mine")
    git(code, "add", ".")
    git(code, "commit", "-qm", "Readme")
    (code / "README.md").unlink()
    with pytest.raises(UsageError, match=r"README\.md is there already"):
        init(code, source=source)
    assert git(code, "status", "--porcelain") == " D README.md"


@pytest.mark.parametrize("stop", [KeyboardInterrupt, OSError])
def test_a_new_repository_goes_where_it_has_no_commit(
    tmp_path: Path, source: Source, monkeypatch: pytest.MonkeyPatch, stop: type[BaseException]
) -> None:
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "keep.txt").write_text("keep")

    def stopped(*_: object) -> bool:
        raise stop

    monkeypatch.setattr(publish, "publish", stopped)
    for path in (tmp_path / "mine", tmp_path / "new" / "deep"):
        with pytest.raises(stop):
            init(path, source=source)
    assert listing(tmp_path / "mine") == ["keep.txt"]
    assert not (tmp_path / "mine" / ".git").exists()
    assert not (tmp_path / "new").exists()
