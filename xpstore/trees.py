"""Change some files of a tree and leave every other entry as it is, byte for byte."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore.errors import RefusedError
from xpstore.objects import FILE_MODE, TREE_MODE, Entry, GitObject, Tree, make

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

EMPTY = Tree({})


@dataclass(frozen=True, slots=True)
class Spliced:
    """The new root and every object on the way to it, none of which need be in the repository."""

    tree: str
    objects: tuple[GitObject, ...]


def splice(
    read_tree: Callable[[str], Tree],
    root: str | None,
    changes: Mapping[str, bytes | None],
    *,
    stays: Callable[[str, str, str], bool] | None = None,
) -> Spliced:
    """Write (bytes) or delete (None) the files of `changes`; a directory that runs empty goes too.

    `root` None is the empty tree. Deleting what is not there changes nothing. A path through or onto
    something that is no ordinary file or directory, or that git would not check out, is refused.
    `stays`, called with the path of a file that is there, its blob and the blob to write, says whether the
    file is left as it is.
    """
    for path in changes:
        if _BAD.search(path):
            raise RefusedError(f"{path!r} is not a path that git can check out")
    splicer = _Splicer(read_tree, stays)
    tree = splicer.folder(root, changes, "")
    return Spliced(tree, tuple(splicer.objects))


class _Splicer:
    def __init__(
        self, read_tree: Callable[[str], Tree], stays: Callable[[str, str, str], bool] | None
    ) -> None:
        self._read_tree = read_tree
        self._stays = stays
        self.objects: list[GitObject] = []

    def folder(self, root: str | None, changes: Mapping[str, bytes | None], where: str) -> str:
        """Return the id of a changed folder; "" where nothing is left in it and it is not the root."""
        old = self._read_tree(root) if root else EMPTY
        new: dict[str, Entry | None] = {}
        below: dict[str, dict[str, bytes | None]] = {}
        for path, data in changes.items():
            name, _, rest = path.partition("/")
            if rest:
                below.setdefault(name, {})[rest] = data
            else:
                self._file(old.get(name), new, where, name, data)
        for name, inner in below.items():
            there = new[name] if name in new else old.get(name)
            if there and not there.is_tree:
                raise RefusedError(f"{where}{name} is a file, not a folder", hint="move it out of the way")
            tree = self.folder(there.id if there else None, inner, f"{where}{name}/")
            if there is None or there.id != tree:
                new[name] = Entry(name, TREE_MODE, tree) if tree else None
        if root and not new:
            return root
        changed = old.changed(new)
        if where and not len(changed):
            return ""
        made = changed.to_object()
        self.objects.append(made)
        return made.id

    def _file(
        self, old: Entry | None, new: dict[str, Entry | None], where: str, name: str, data: bytes | None
    ) -> None:
        if old and not old.is_file:
            raise RefusedError(f"{where}{name} is no ordinary file", hint="move it out of the way")
        if data is None:
            new[name] = None
            return
        blob = make("blob", data)
        if old and self._stays and self._stays(where + name, old.id, blob.id):
            return
        self.objects.append(blob)
        new[name] = Entry(name, old.mode if old else FILE_MODE, blob.id)


_BAD = re.compile(r"(?:^|/)(?:\.{0,2}|\.git)(?:/|\Z)|[\0\\]", re.IGNORECASE)
"""Parts of a path that are empty, `.`, `..` or git's own, and characters that git or Windows takes amiss."""


def find(read_tree: Callable[[str], Tree], root: str | None, path: str) -> Entry | None:
    """Return what is at `path` below a tree; None where nothing is. "" is the tree itself."""
    at = Entry("", TREE_MODE, root) if root else None
    for part in path.split("/") if path else ():
        if at is None or not at.is_tree:
            return None
        at = read_tree(at.id).get(part)
    return at
