"""What can be read of trees, whoever has them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING

from xpstore.trees import EMPTY, find

if TYPE_CHECKING:
    from collections.abc import Iterator

    from xpstore.objects import Entry, Tree


class TreeReader(ABC):
    """Finds things below a tree, given how to read one."""

    @abstractmethod
    def read_tree(self, tree_id: str) -> Tree:
        """Return one tree."""

    def entry(self, tree_id: str, path: str) -> Entry | None:
        """Return what is at `path` below a tree; None where nothing is. "" is the tree itself."""
        return find(self.read_tree, tree_id, path)

    def children(self, tree_id: str, path: str) -> list[Entry]:
        """Return the entries of the folder `path` below a tree; none where it is no folder."""
        return list(self.folder(tree_id, path))

    def folder(self, tree_id: str, path: str) -> Tree:
        """Return the folder `path` below a tree; an empty one where it is no folder."""
        found = self.entry(tree_id, path)
        return self.read_tree(found.id) if found and found.is_tree else EMPTY

    def files(self, tree_id: str, path: str = "") -> Iterator[tuple[str, str]]:
        """Yield path and blob id of every ordinary file below the folder `path`, in tree order."""
        for entry in self.children(tree_id, path):
            below = f"{path}/{entry.name}" if path else entry.name
            if entry.is_tree:
                yield from self.files(tree_id, below)
            elif entry.is_file:
                yield below, entry.id
