"""Git objects as bytes: ids, trees and commits, written and read without a repository."""

from __future__ import annotations

import hashlib
import re
from bisect import insort
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import TYPE_CHECKING, Literal, NamedTuple, TypeAlias

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

ObjectKind = Literal["commit", "tree", "blob"]
Sign: TypeAlias = "Callable[[bytes], str]"
"""Returns the armoured signature of some bytes."""
FILE_MODE = 0o100644
TREE_MODE = 0o040000
EMPTY_TREE = "4b825dc642cb6eb9a060e54bf8d69288fbee4904"
"""The tree without entries; git knows it, written or not."""


class GitObject(NamedTuple):
    """One object that is not in the repository yet."""

    kind: ObjectKind
    data: bytes
    id: str
    tree: Tree | None = None
    """What the bytes of a tree say, where it is known."""
    commit: Commit | None = None
    """What the bytes of a commit say, where it is known."""


_HEADS = {"commit": b"commit %d\0", "tree": b"tree %d\0", "blob": b"blob %d\0"}


def object_id(kind: ObjectKind, data: bytes) -> str:
    """Return the id of an object (SHA-1, forty hex digits)."""
    return hashlib.sha1(_HEADS[kind] % len(data) + data, usedforsecurity=False).hexdigest()


def make(kind: ObjectKind, data: bytes) -> GitObject:
    """Return an object with its id."""
    return GitObject(kind, data, object_id(kind, data))


class Entry(NamedTuple):
    """One line of a tree. Names that are no UTF-8 keep their bytes as lone surrogates."""

    name: str
    mode: int
    id: str

    @property
    def is_tree(self) -> bool:
        """Whether the entry is a directory."""
        return self.mode == TREE_MODE

    @property
    def is_file(self) -> bool:
        """Whether the entry is an ordinary file, executable or not; no link, no submodule."""
        return self.mode & 0o170000 == 0o100000


class Tree:
    """A directory: its lines by name, in git's order. A line is decoded only when it is asked for.

    A folder of ten thousand files is half a megabyte, and a plan looks at four lines of it: they are found,
    and exchanged, as bytes.
    """

    __slots__ = ("_lines",)

    def __init__(self, lines: dict[bytes, bytes]) -> None:
        self._lines = lines

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Tree) and self._lines == other._lines

    __hash__ = None  # type: ignore[assignment]

    def __len__(self) -> int:
        return len(self._lines)

    def __iter__(self) -> Iterator[Entry]:
        return map(_entry, self._lines.values())

    def get(self, name: str) -> Entry | None:
        """Return the entry of this name, or None."""
        line = self._lines.get(_raw(name))
        return _entry(line) if line else None

    def names(self) -> list[str]:
        """Return the names of all entries."""
        return b"\0".join(self._lines).decode(*UTF8).split("\0") if self._lines else []

    def files(self) -> dict[str, str]:
        """Return name → blob id of the ordinary files, executable or not, in git's order."""
        lines = self._lines
        if not all(line[:3] == b"100" for line in lines.values()):
            lines = {name: line for name, line in lines.items() if line[:3] == b"100"}
        ids = b"".join([line[-20:] for line in lines.values()]).hex()
        names = b"\0".join(lines).decode(*UTF8).split("\0") if lines else []
        return dict(zip(names, [ids[at : at + 40] for at in range(0, len(ids), 40)], strict=True))

    def changes(self, new: Tree) -> dict[str, tuple[Entry | None, Entry | None]]:
        """Return name → entries in this tree and in the new one, of those that differ, in git's order."""
        differing = sorted({name for name, _ in self._lines.items() ^ new._lines.items()})
        names = b"\0".join(differing).decode(*UTF8).split("\0") if differing else []
        return {name: (self.get(name), new.get(name)) for name in names}

    def changed(self, changes: Mapping[str, Entry | None]) -> Tree:
        """Return the tree with other entries under these names; None removes one."""
        return self.with_lines(
            {_raw(name): _line(entry) if entry else b"" for name, entry in changes.items()}
        )

    def line(self, name: bytes) -> bytes:
        """Return the line of an entry as it stands in the object; empty where there is none."""
        return self._lines.get(name, b"")

    def with_lines(self, changes: Mapping[bytes, bytes]) -> Tree:
        """Return the tree with other lines for these names; an empty one removes the entry."""
        lines = self._lines.copy()
        added: list[bytes] = []
        for name, line in changes.items():
            old = lines.get(name, b"")
            if old and (not line or (old[:1] == b"4") != (line[:1] == b"4")):
                del lines[name]  # it is gone, or has another place now
                old = b""
            if line:
                lines[name] = line
                if not old:
                    added.append(name)
        return Tree(_ordered(lines, added) if added else lines)

    def to_object(self) -> GitObject:
        """Return the object that git keeps."""
        data = b"".join(self._lines.values())
        return GitObject("tree", data, object_id("tree", data), self)


UTF8 = ("utf-8", "surrogateescape")
_LINE = re.compile(rb"([0-7]+ ([^\0]+)\0[\s\S]{20})")


def parse_tree(data: bytes) -> Tree:
    """Return the tree of an object's bytes. Raises ValueError where they are none."""
    lines = {name: line for line, name in _LINE.findall(data)}
    if sum(map(len, lines.values())) != len(data):
        raise ValueError("a broken tree")
    return Tree(lines)


def make_tree(entries: Iterable[Entry]) -> GitObject:
    """Return the object of a tree with these entries, sorted as git sorts them."""
    return Tree({}).changed({entry.name: entry for entry in entries}).to_object()


def _raw(name: str) -> bytes:
    return name.encode(*UTF8)


def _entry(line: bytes) -> Entry:
    head, tail = line[:-21], line[-20:]
    mode, _, name = head.partition(b" ")
    return Entry(name.decode(*UTF8), int(mode, 8), tail.hex())


def _line(entry: Entry) -> bytes:
    return b"%o %s\0%s" % (entry.mode, _raw(entry.name), bytes.fromhex(entry.id))


def _order(name: bytes, line: bytes) -> bytes:
    return name + b"/" if line.startswith(b"4") else name  # git sorts a directory as if it ended in /


def _ordered(lines: dict[bytes, bytes], added: Sequence[bytes]) -> dict[bytes, bytes]:
    """Return lines in git's order, all of which are in order already but for the last ones: `added`."""
    names = list(lines)
    if 16 * len(added) > len(names):
        names.sort(key=lambda name: _order(name, lines[name]))
    else:
        del names[-len(added) :]
        for name in added:
            insort(names, name, key=lambda name: _order(name, lines[name]))
    return {name: lines[name] for name in names}


@dataclass(frozen=True, slots=True)
class Person:
    """Who, and when: seconds since 1970 and the offset from UTC in minutes."""

    name: str
    email: str
    time: int
    offset: int

    def line(self) -> str:
        """Return the form that a commit object has; what git forbids in a name is dropped."""
        sign = "-" if self.offset < 0 else "+"
        hours, minutes = divmod(abs(self.offset), 60)
        return f"{_plain(self.name)} <{_plain(self.email)}> {self.time} {sign}{hours:02}{minutes:02}"

    def cleaned(self) -> Person:
        """Return the person as a commit object names it."""
        name, email = _plain(self.name), _plain(self.email)
        return self if (name, email) == (self.name, self.email) else replace(self, name=name, email=email)


@lru_cache(64)
def _plain(text: str) -> str:
    kept = "".join(" " if c in "<>\n\r\0" else c for c in text).strip(" .,:;\"'")
    return " ".join(kept.split()).encode("utf-8", "replace").decode() or "unknown"


@dataclass(frozen=True, slots=True)
class Commit:
    """One commit as it stands in the repository."""

    id: str
    tree: str
    parents: tuple[str, ...]
    author: Person
    committer: Person
    message: str


def make_commit(  # noqa: PLR0913  # what a commit has
    tree: str,
    parents: Sequence[str],
    author: Person,
    committer: Person,
    message: str,
    *,
    sign: Sign | None = None,
) -> GitObject:
    """Return the commit, signed as git does it; the message is stored as UTF-8. Raises what `sign` raises."""
    head = [f"tree {tree}", *(f"parent {p}" for p in parents)]
    head += [f"author {author.line()}", f"committer {committer.line()}"]
    text = message.encode("utf-8", "replace")
    data = _commit_data(head, text)
    if sign:
        signature = sign(data).rstrip("\n").replace("\n", "\n ")
        data = _commit_data([*head, f"gpgsig {signature}"], text)
    made = object_id("commit", data)
    who = author.cleaned(), committer.cleaned()
    return GitObject("commit", data, made, commit=Commit(made, tree, tuple(parents), *who, text.decode()))


def _commit_data(head: Sequence[str], text: bytes) -> bytes:
    return "\n".join([*head, "", ""]).encode("utf-8", "replace") + text


_SIGNATURE = re.compile(rb"^gpgsig(?:-sha256)? .*\n(?: .*\n)*", re.MULTILINE)


def unsigned(data: bytes) -> tuple[bytes, str]:
    """Return what was signed of a commit's bytes, and the signature of it; "" where there is none."""
    head, gap, text = data.partition(b"\n\n")
    found = [block for block in _SIGNATURE.findall(head + b"\n") if block.startswith(b"gpgsig ")]
    payload = _SIGNATURE.sub(b"", head + b"\n")[:-1]
    signature = found[0].removeprefix(b"gpgsig ").replace(b"\n ", b"\n") if found else b""
    return payload + gap + text, signature.decode("ascii", "replace")
