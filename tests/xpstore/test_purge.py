from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest

from tests.builders import fsck, git, identify
from xpstore import derived, purge
from xpstore.errors import RefusedError, RepositoryError
from xpstore.git import Repo
from xpstore.salvage import FOLDER, Attic

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main", "r")
    identify(tmp_path / "r")
    return tmp_path / "r"


def commit(place: Path, name: str, text: str) -> tuple[str, str]:
    (place / name).write_text(text)
    git(place, "add", ".")
    git(place, "commit", "-qm", name)
    return git(place, "rev-parse", "HEAD"), git(place, "rev-parse", f"HEAD:{name}")


def repo(place: Path) -> Repo:
    found = Repo.discover(place)
    assert found
    return found


@pytest.mark.parametrize("packed", [True, False])
def test_what_leads_to_a_doomed_blob_goes_and_the_rest_stays(place: Path, *, packed: bool):
    commit(place, "a", "kept\n")
    lost, _ = commit(place, "b", "lost but mine\n")
    git(place, "reset", "-q", "--hard", "HEAD~1")
    doomed, blob = commit(place, "c", "doomed\n")
    git(place, "tag", "-m", "about it", "t")
    later, _ = commit(place, "d", "on top\n")
    git(place, "tag", "-d", "t")
    git(place, "reset", "-q", "--hard", "HEAD~2")
    purge.forget_reflogs(repo(place), {doomed, later})
    if packed:
        subprocess.run(
            ["git", "pack-objects", "-q", ".git/objects/pack/pack"],
            cwd=place,
            check=True,
            capture_output=True,
            input=git(place, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").encode()
            + b"\n",
        )
        git(place, "prune-packed")
    assert purge.purge(repo(place), {blob}, set()) == 6  # blob, two trees, two commits, the tag
    fsck(place)
    kept = git(place, "cat-file", "--batch-all-objects", "--batch-check=%(objectname)").split()
    assert lost in kept
    assert not {doomed, later, blob} & set(kept)
    assert lost[:7] in git(place, "reflog")
    assert purge.purge(repo(place), {blob}, set()) == 0


def test_what_is_reachable_is_refused_or_left(place: Path):
    _, blob = commit(place, "a", "held\n")
    with pytest.raises(RefusedError, match="still reachable: a"):
        purge.purge(repo(place), {blob}, set())
    assert purge.purge(repo(place), set(), {blob}) == 0
    assert git(place, "cat-file", "-p", blob) == "held"


def test_a_lent_object_is_named(place: Path, tmp_path: Path):
    _, blob = commit(place, "a", "lent\n")
    git(tmp_path, "init", "-q", "borrower")
    alternates = tmp_path / "borrower" / ".git" / "objects" / "info" / "alternates"
    alternates.write_text(f"{place}/.git/objects\n")
    with pytest.raises(RepositoryError, match="still there"):
        purge.purge(repo(tmp_path / "borrower"), {blob}, set())


def test_a_split_commit_graph_is_written_anew(place: Path):
    commit(place, "a", "kept\n")
    doomed, blob = commit(place, "b", "doomed\n")
    git(place, "commit-graph", "write", "--reachable", "--split")
    git(place, "reset", "-q", "--hard", "HEAD~1")
    purge.forget_reflogs(repo(place), {doomed})
    purge.purge(repo(place), {blob}, set())
    git(place, "commit-graph", "verify")
    fsck(place)


def test_reflogs_have_no_gaps_where_entries_went(place: Path):
    first, _ = commit(place, "a", "a\n")
    doomed, _ = commit(place, "b", "b\n")
    git(place, "reset", "-q", "--hard", first)
    last, _ = commit(place, "c", "c\n")
    purge.forget_reflogs(repo(place), {doomed})
    rows = [row.split()[:2] for row in (place / ".git" / "logs" / "HEAD").read_text().splitlines()]
    assert rows == [["0" * 40, first], [first, last]]


def test_what_was_derived_goes_with_it(place: Path):
    commit(place, "a", "kept\n")
    derived.write(repo(place), "x", {}, [b"text of a page"])
    Attic(repo(place).common_dir).rewrite(repo(place).common_dir / "HEAD", b"ref: refs/heads/main\n")
    assert purge.purge(repo(place), {"0" * 40}, set()) == 0
    assert derived.read(repo(place), "x", {}) is None
    assert not (repo(place).common_dir / FOLDER).exists()
