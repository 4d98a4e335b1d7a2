"""Change some files of a tree and leave every other entry as it is, byte for byte."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore.errors import RefusedError
from xpstore.objects import TREE_MODE, Entry, GitObject, Tree, make

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
    top: _Folder = {}
    for path, data in changes.items():
        if _BAD.search(path):
            raise RefusedError(f"{path!r} is not a path that git can check out")
        *folders, name = path.encode("utf-8", "surrogateescape").split(b"/")
        at = top
        for folder in folders:
            below = at.setdefault(folder, {})
            if not isinstance(below, dict):
                raise _no_folder(path)
            at = below
        if isinstance(at.get(name), dict):
            raise _no_folder(path)
        at[name] = data
    splicer = _Splicer(read_tree, stays)
    return Spliced(splicer.folder(root, top, b""), tuple(splicer.objects))


_Folder = dict[bytes, "bytes | _Folder | None"]
"""Name → the bytes to write, None to delete, or what is to be done in the folder of this name."""


class _Splicer:
    def __init__(
        self, read_tree: Callable[[str], Tree], stays: Callable[[str, str, str], bool] | None
    ) -> None:
        self._read_tree = read_tree
        self._stays = stays
        self.objects: list[GitObject] = []

    def folder(self, root: str | None, changes: _Folder, where: bytes) -> str:
        """Return the id of a changed folder; "" where nothing is left in it and it is not the root."""
        old = self._read_tree(root) if root else EMPTY
        new: dict[bytes, bytes] = {}
        for name, change in changes.items():
            line = old.line(name)
            if isinstance(change, dict):
                if line and not line.startswith(TREE):
                    raise _no_folder((where + name).decode("utf-8", "replace"))
                tree = self.folder(line[-20:].hex() if line else None, change, where + name + b"/")
                changed = b"%s%s\0%s" % (TREE, name, bytes.fromhex(tree)) if tree else b""
            else:
                changed = self._file(line, where, name, change)
            if changed != line:
                new[name] = changed
        if root and not new:
            return root
        made = old.with_lines(new)
        if where and not len(made):
            return ""
        self.objects.append(made.to_object())
        return self.objects[-1].id

    def _file(self, line: bytes, where: bytes, name: bytes, data: bytes | None) -> bytes:
        if line and not line.startswith(ORDINARY):
            path = (where + name).decode("utf-8", "replace")
            raise RefusedError(f"{path} is no ordinary file", hint="move it out of the way")
        if data is None:
            return b""
        blob = make("blob", data)
        if line and self._stays:
            path = (where + name).decode("utf-8", "surrogateescape")
            if self._stays(path, line[-20:].hex(), blob.id):
                return line
        self.objects.append(blob)
        mode = line.partition(b" ")[0] or b"100644"
        return b"%s %s\0%s" % (mode, name, bytes.fromhex(blob.id))


def _no_folder(path: str) -> RefusedError:
    return RefusedError(f"{path} is a file, not a folder", hint="move it out of the way")


TREE = b"40000 "
"""How the line of a folder starts."""
ORDINARY = b"100"
"""How the line of an ordinary file starts, executable or not: no link, no submodule."""
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
