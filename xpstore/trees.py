"""Change some files of a tree and leave every other entry as it is, byte for byte."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore.errors import RefusedError
from xpstore.objects import FILE_MODE, TREE_MODE, Entry, GitObject, make, make_tree

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


@dataclass(frozen=True, slots=True)
class Spliced:
    """The new root and every object on the way to it, none of which need be in the repository."""

    tree: str
    objects: tuple[GitObject, ...]


def splice(
    read_tree: Callable[[str], list[Entry]], root: str | None, changes: Mapping[str, bytes | None]
) -> Spliced:
    """Write (bytes) or delete (None) the files of `changes`; a directory that runs empty goes too.

    `root` None is the empty tree. Deleting what is not there changes nothing. A path through or onto
    something that is no ordinary file or directory, or that git would not check out, is refused.
    """
    for path in changes:
        _check(path)
    objects: list[GitObject] = []
    tree = _splice(read_tree, root, changes, "", objects)
    return Spliced(tree.id, (*objects, tree))


def _splice(
    read_tree: Callable[[str], list[Entry]],
    root: str | None,
    changes: Mapping[str, bytes | None],
    where: str,
    objects: list[GitObject],
) -> GitObject:
    entries = {e.name: e for e in read_tree(root)} if root else {}
    below: dict[str, dict[str, bytes | None]] = {}
    for path, data in changes.items():
        name, _, rest = path.partition("/")
        if rest:
            below.setdefault(name, {})[rest] = data
        else:
            _replace(entries, name, data, where, objects)
    for name, inner in below.items():
        old = entries.get(name)
        if old and not old.is_tree:
            raise RefusedError(f"{where}{name} is a file, not a folder", hint="move it out of the way")
        tree = _splice(read_tree, old.id if old else None, inner, f"{where}{name}/", objects)
        if tree.data:
            entries[name] = Entry(name, TREE_MODE, tree.id)
            objects.append(tree)
        else:
            entries.pop(name, None)
    return make_tree(entries.values())


def _replace(
    entries: dict[str, Entry], name: str, data: bytes | None, where: str, objects: list[GitObject]
) -> None:
    old = entries.get(name)
    if old and not old.is_file:
        raise RefusedError(f"{where}{name} is no ordinary file", hint="move it out of the way")
    if data is None:
        entries.pop(name, None)
        return
    blob = make("blob", data)
    objects.append(blob)
    entries[name] = Entry(name, old.mode if old else FILE_MODE, blob.id)


def _check(path: str) -> None:
    for part in path.split("/"):
        if part in {"", ".", ".."} or part.lower() == ".git" or "\0" in part or "\\" in part:
            raise RefusedError(f"{path!r} is not a path that git can check out")


def find(read_tree: Callable[[str], list[Entry]], root: str | None, path: str) -> Entry | None:
    """Return what is at `path` below a tree; None where nothing is. "" is the tree itself."""
    at = Entry("", TREE_MODE, root) if root else None
    for part in path.split("/") if path else ():
        if at is None or not at.is_tree:
            return None
        at = next((e for e in read_tree(at.id) if e.name == part), None)
    return at
