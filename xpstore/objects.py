"""Git objects as bytes: ids, trees and commits, written and read without a repository."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence

ObjectKind = Literal["commit", "tree", "blob"]
FILE_MODE = 0o100644
TREE_MODE = 0o040000


@dataclass(frozen=True, slots=True)
class GitObject:
    """One object that is not in the repository yet."""

    kind: ObjectKind
    data: bytes
    id: str


def make(kind: ObjectKind, data: bytes) -> GitObject:
    """Return an object with its id (SHA-1, forty hex digits)."""
    digest = hashlib.sha1(b"%s %d\0" % (kind.encode(), len(data)), usedforsecurity=False)
    digest.update(data)
    return GitObject(kind, data, digest.hexdigest())


@dataclass(frozen=True, slots=True)
class Entry:
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


def parse_tree(data: bytes) -> list[Entry]:
    """Return the entries of a raw tree in its order."""
    entries = []
    at = 0
    while at < len(data):
        space = data.index(b" ", at)
        end = data.index(b"\0", space)
        name = data[space + 1 : end].decode("utf-8", "surrogateescape")
        entries.append(Entry(name, int(data[at:space], 8), data[end + 1 : end + 21].hex()))
        at = end + 21
    return entries


def make_tree(entries: Iterable[Entry]) -> GitObject:
    """Return the tree of these entries, sorted as git sorts them (a directory as if it ended in /)."""
    lines = []
    for entry in entries:
        name = entry.name.encode("utf-8", "surrogateescape")
        line = b"%o %s\0%s" % (entry.mode, name, bytes.fromhex(entry.id))
        lines.append((name + b"/" if entry.is_tree else name, line))
    return make("tree", b"".join(line for _, line in sorted(lines)))


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


def _plain(text: str) -> str:
    kept = "".join(" " if c in "<>\n\r\0" else c for c in text).strip(" .,:;\"'")
    return " ".join(kept.split()) or "unknown"


def make_commit(
    tree: str, parents: Sequence[str], author: Person, committer: Person, message: str
) -> GitObject:
    """Return the commit; the message is stored as UTF-8."""
    head = [f"tree {tree}", *(f"parent {p}" for p in parents)]
    head += [f"author {author.line()}", f"committer {committer.line()}", "", message]
    return make("commit", "\n".join(head).encode("utf-8", "replace"))
