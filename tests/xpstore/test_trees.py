from __future__ import annotations

import subprocess
from typing import TYPE_CHECKING

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tests.builders import git
from xpstore.errors import RefusedError
from xpstore.objects import Entry, make, parse_tree
from xpstore.trees import find, splice

if TYPE_CHECKING:
    from pathlib import Path

PART = st.text("ab.é-0 ", min_size=1, max_size=3).filter(lambda p: p.strip(".") and p.lower() != ".git")
PATHS = st.dictionaries(PART, st.binary(max_size=3), max_size=6)


class Memory(dict[str, list[Entry]]):
    def splice(self, root: str | None, changes: dict[str, bytes | None]) -> str:
        done = splice(self.__getitem__, root, changes)
        self.update({o.id: parse_tree(o.data) for o in done.objects if o.kind == "tree"})
        return done.tree

    def paths(self, root: str, where: str = "") -> dict[str, str]:
        found: dict[str, str] = {}
        for entry in self[root]:
            below = f"{where}{entry.name}"
            found |= self.paths(entry.id, f"{below}/") if entry.is_tree else {below: entry.id}
        return found


@settings(max_examples=50, deadline=None)
@given(PATHS, PATHS)
def test_files_are_added_changed_and_removed(first: dict[str, bytes], second: dict[str, bytes]) -> None:
    store = Memory()
    flat = {f"d/{k}": v for k, v in first.items()} | {f"t{k}": v for k, v in second.items()}
    root = store.splice(None, dict(flat))
    assert store.paths(root) == {k: make("blob", v).id for k, v in flat.items()}
    assert store.splice(root, {f"d/{k}": None for k in first}) == store.splice(
        None, {f"t{k}": v for k, v in second.items()}
    )


def test_git_makes_the_same_tree(tmp_path: Path) -> None:
    files = {"a": b"1", "a.b": b"2", "a-b/c": b"3", "a0": b"4", "ab/c/d": b"5", "é": b"6"}
    git(tmp_path, "init", "-q")
    for path, data in files.items():
        (tmp_path / path).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / path).write_bytes(data)
    git(tmp_path, "add", ".")
    assert splice(lambda _: [], None, files).tree == git(tmp_path, "write-tree")


def test_other_entries_stay_byte_for_byte(tmp_path: Path) -> None:
    git(tmp_path, "init", "-q")
    (tmp_path / "run").write_text("x")
    (tmp_path / "run").chmod(0o755)
    (tmp_path / "link").symlink_to("run")
    (tmp_path / "latin\udcff").write_text("x")
    git(tmp_path, "add", ".")
    root = git(tmp_path, "write-tree")
    raw = subprocess.run(
        ["git", "cat-file", "tree", root], cwd=tmp_path, capture_output=True, check=True
    ).stdout
    store = Memory({root: parse_tree(raw)})
    assert store.splice(store.splice(root, {"x/y": b"1"}), {"x/y": None}) == root
    changed = store[store.splice(root, {"run": b"new"})]
    assert next(e.mode for e in changed if e.name == "run") == 0o100755
    for path in ("link", "run/x", "link/x"):
        with pytest.raises(RefusedError):
            store.splice(root, {path: b"1"})


@pytest.mark.parametrize(
    "path", ["", "/a", "a/", "a//b", "../a", "a/./b", ".git/x", "a/.GIT", "a\0b", "a\\b"]
)
def test_paths_that_git_would_not_check_out(path: str) -> None:
    with pytest.raises(RefusedError):
        splice(lambda _: [], None, {path: b""})


def test_find() -> None:
    store = Memory()
    root = store.splice(None, {"a/b": b"1"})
    assert find(store.__getitem__, root, "a/b") == Entry("b", 0o100644, make("blob", b"1").id)
    assert find(store.__getitem__, root, "").is_tree
    for path in ("c", "a/c", "a/b/c"):
        assert find(store.__getitem__, root, path) is None
    assert find(store.__getitem__, None, "a") is None
