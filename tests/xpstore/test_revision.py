from __future__ import annotations

from typing import TYPE_CHECKING

import pytest

from tests.builders import git, identify
from xpstore.errors import RepositoryError
from xpstore.revision import computed, is_ancestor, ref_names, start

if TYPE_CHECKING:
    from pathlib import Path


@pytest.fixture
def place(tmp_path: Path) -> Path:
    git(tmp_path, "init", "-q", "-b", "main")
    identify(tmp_path)
    for subject in ("one", "two", "three"):
        git(tmp_path, "commit", "-q", "--allow-empty", "-m", subject)
    return tmp_path


def test_names_of_branches_come_before_those_of_tags() -> None:
    assert ref_names("a/b") == [
        "refs/heads/a/b",
        "refs/a/b",
        "refs/tags/a/b",
        "refs/remotes/a/b",
        "refs/remotes/a/b/HEAD",
    ]
    assert ref_names("HEAD")[0] == "HEAD"
    assert ref_names("refs/heads/x")[0] == "refs/heads/x"
    assert [ref_names(f"{kind}/x")[0] for kind in ("heads", "tags")] == ["refs/heads/x", "refs/tags/x"]


def test_an_expression_starts_from_the_branch_and_not_from_a_tag_of_its_name(place: Path) -> None:
    two = git(place, "rev-parse", "HEAD~1")
    git(place, "tag", "main", "HEAD~2")
    assert [computed(place, spec) for spec in ("main~1", "main^{commit}~1", "heads/main~1")] == [two] * 3
    assert computed(place, "tags/main^{commit}") == git(place, "rev-parse", "HEAD~2")


def test_abbreviations_and_expressions(place: Path) -> None:
    two = git(place, "rev-parse", "HEAD~1")
    for spec in (two[:7], "HEAD~1", "main^", ":/two"):
        assert computed(place, spec) == two


@pytest.mark.parametrize(
    "spec", ["", "nothing", "a b", "a\0b", "..", "main..HEAD", "-x", "--all", "^main", "0"]
)
def test_what_names_nothing(place: Path, spec: str) -> None:
    assert computed(place, spec) is None


@pytest.mark.parametrize("data", [None, b"", b"\0" * 40])
def test_damage_on_the_way_is_not_nothing(place: Path, data: bytes | None) -> None:
    one, two = git(place, "rev-parse", "HEAD~2"), git(place, "rev-parse", "HEAD~1")
    file = place / ".git" / "objects" / two[:2] / two[2:]
    file.unlink()
    if data is not None:
        file.write_bytes(data)
    with pytest.raises(RepositoryError, match=r"HEAD~2|compare") as caught:
        computed(place, "HEAD~2")
    assert "fsck" in caught.value.hint
    with pytest.raises(RepositoryError, match="compare commits"):
        is_ancestor(place, one, "main")


def test_ancestors(place: Path) -> None:
    assert is_ancestor(place, "main~2", "main")
    assert not is_ancestor(place, "main", "main~2")


def test_where_an_expression_starts() -> None:
    starts = {"HEAD~1": "HEAD", "a/b^{tree}": "a/b", "main:x": "main", "@{1}": "HEAD", ":/text": "HEAD"}
    assert {spec: start(spec) for spec in starts} == starts
