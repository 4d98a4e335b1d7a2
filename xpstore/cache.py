"""Trees and commits that were read or just written: walks of history meet the same ones again and again."""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Iterable

    from xpstore.objects import Commit, GitObject, Tree

TREE_LINES = 200_000
"""How many lines of trees are remembered, about 40 MB."""
COMMITS = 4096
"""How many commits are remembered."""


class ObjectCache:
    """Objects by id. Forgets everything at once where it grows too large: most are not asked for again."""

    def __init__(self) -> None:
        self.trees: dict[str, Tree] = {}
        self.commits: dict[str, Commit] = {}
        self._lines = 0

    def add_tree(self, tree_id: str, tree: Tree) -> None:
        """Remember a tree."""
        if self._lines > TREE_LINES:
            self.trees.clear()
            self._lines = 0
        self.trees[tree_id] = tree
        self._lines += len(tree)

    def add_commit(self, commit: Commit) -> None:
        """Remember a commit."""
        if len(self.commits) >= COMMITS:
            self.commits.clear()
        self.commits[commit.id] = commit

    def add_written(self, objects: Iterable[GitObject]) -> None:
        """Remember the trees and commits among objects of the store's own making."""
        for item in objects:
            if item.tree is not None:
                self.add_tree(item.id, item.tree)
            elif item.commit is not None:
                self.add_commit(item.commit)
