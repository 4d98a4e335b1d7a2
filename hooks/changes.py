"""What differs between two trees, or between a tree and an index, as git's raw format says it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from xpstore import gitcli
from xpstore.objects import Entry

if TYPE_CHECKING:
    from xpstore.git import Repo

OPTIONS = ("-r", "-z", "--raw", "--no-renames", "--abbrev=40", "--ignore-submodules=none")


@dataclass(frozen=True, slots=True)
class Change:
    """One path. Names that are no UTF-8 keep their bytes as lone surrogates."""

    path: str
    before: Entry | None
    after: Entry | None


def between(repo: Repo, old: str, new: str, folder: str = "") -> list[Change]:
    """Return what differs between two trees; `folder` is where they lie, and comes before every path."""
    return parsed(gitcli.run(repo.place, ["diff-tree", *OPTIONS, old, new]), folder)


def parsed(out: bytes, folder: str = "") -> list[Change]:
    """Return the changes in git's output, in its order; a renamed file is two."""
    tokens = gitcli.records(out)
    above = f"{folder}/" if folder else ""
    return [_change(meta, f"{above}{path}") for meta, path in zip(tokens[::2], tokens[1::2], strict=True)]


def _change(meta: str, path: str) -> Change:
    old_mode, new_mode, old, new, _ = meta.removeprefix(":").split(" ")
    return Change(path, _entry(path, old_mode, old), _entry(path, new_mode, new))


def _entry(path: str, mode: str, object_id: str) -> Entry | None:
    number = int(mode, 8)
    return Entry(path.rpartition("/")[2], number, object_id) if number else None
